"""Prints how well recall finds what answers a question, on the labelled set of tests/notebook/recall_set.json.

By text alone, by meaning alone, by both and by what is told, per language, and for either half of the questions.
recall@5: the part of the answers (of five at most) among the first five. MRR: one over the place of the first answer.

.venv/bin/python -m tests.load.quality_recall
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from tests.load.engines import django_on_own_engines

if TYPE_CHECKING:
    from tests.notebook.recall_set import Question

LOOKED_AT = 50
type Answers = Callable[["Question"], Sequence[str]]


@dataclass(frozen=True)
class Quality:
    """Means over some questions."""

    recall_at_5: float
    mrr: float


def main() -> None:
    with django_on_own_engines({}):
        from tests.notebook.recall_set import keep_set, questions, unrelated_questions

        project_id = uuid4()
        keys = keep_set(project_id)
        vectors = embed_set(project_id)
        ways = ways_to_answer(project_id, keys, vectors)
        every = questions()
        parts = {
            "tuned on": [one for one in every if not one.is_held_out],
            "held out": [one for one in every if one.is_held_out],
            "held out, English": [one for one in every if one.is_held_out and one.language == "en"],
            "held out, Chinese": [one for one in every if one.is_held_out and one.language == "zh"],
        }
        for name, part in parts.items():
            print(f"{name} ({len(part)} questions)")
            for way, answers in ways.items():
                found = quality(part, answers)
                print(f"  {way:8} recall@5 {found.recall_at_5:.2f}  MRR {found.mrr:.2f}")
        told = sum(bool(ways["told"](one)) for one in unrelated_questions())
        print(f"unrelated questions that are told anything: {told} of {len(unrelated_questions())}")


def embed_set(project_id: UUID) -> "Callable[[str], list[float]]":
    """Gives the project's entries vectors of the wheel's model; what makes a question one."""
    from notebook_app.meaning import activate_space, keep_vectors, lacking_vectors, wanted_space
    from reflection_app.adapters.llm.embedding import WHEELS_MODEL, embed

    space = wanted_space(WHEELS_MODEL, 384)
    while waiting := lacking_vectors(space, limit=100):
        vectors = embed([one.text for one in waiting], model=WHEELS_MODEL, as_query=False)
        keep_vectors(space, list(zip(waiting, vectors, strict=True)))
    activate_space(space)
    return lambda text: embed([text], model=WHEELS_MODEL, as_query=True)[0]


def ways_to_answer(
    project_id: UUID, keys: dict[UUID, str], vector: "Callable[[str], list[float]]"
) -> dict[str, Answers]:
    """What answers a question with the keys of entries, best first, by the name of the way."""
    from notebook_app.entry_filter import EntryFilter
    from notebook_app.meaning import nearest
    from notebook_app.recall import recall
    from notebook_app.search import matching

    def named(ids: Iterable[UUID]) -> list[str]:
        return [keys[entry_id] for entry_id in ids]

    every = EntryFilter()
    return {
        "text": lambda one: named(
            match.entry_id for match in matching(project_id, one.text, among=every, limit=LOOKED_AT)
        ),
        "meaning": lambda one: named(
            near.entry_id for near in nearest(project_id, vector(one.text), among=every, limit=LOOKED_AT)
        ),
        "both": lambda one: named(
            found.entry.id
            for found in recall(
                project_id, one.text, vector=vector(one.text), limit=LOOKED_AT, with_others=True
            ).entries
        ),
        "told": lambda one: named(
            found.entry.id for found in recall(project_id, one.text, vector=vector(one.text)).entries
        ),
    }


def quality(part: Sequence["Question"], answers: Answers) -> Quality:
    """How well the questions are answered."""
    recalls, reciprocals = [], []
    for one in part:
        found = answers(one)
        recalls.append(len(set(found[:5]) & one.relevant) / min(5, len(one.relevant)))
        places = [place for place, key in enumerate(found, start=1) if key in one.relevant]
        reciprocals.append(1 / places[0] if places else 0.0)
    return Quality(sum(recalls) / len(part), sum(reciprocals) / len(part))


if __name__ == "__main__":
    main()
