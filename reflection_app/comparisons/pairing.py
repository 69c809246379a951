"""Which answers of a project's runs can be compared: two kept answers to the same task, by different makers.

A maker is a model with a version of the prompts. The model is the one that made the attempt; where the desk does not
know it, what the task's metadata calls `model`, else the task's agent. The prompts are what the metadata calls
`prompt`, else the desk's own at the time of the run, where the desk made the attempt.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations, islice, zip_longest
from typing import Annotated, NamedTuple
from uuid import UUID

from django.db.models import F, Q, TextField, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import MD5, Cast, Coalesce, Concat, NullIf
from django.db.models.functions import Left as FirstOf
from pydantic import Field

from reflection_app.comparisons.models import Pair
from reflection_app.core.models import Project
from reflection_app.loops.storable import AgentFilter, Text
from reflection_app.loops.task_spec import Execution
from reflection_app.loops.values import Value as Frozen
from reflection_app.runs.models import NOT_OF_THE_DESK, Attempt, Run, RunState

# Of all runs that fit, the newest are looked at.
MOST_LOOKED_AT = 20_000
# Of one task, the makers with the newest answers: else runs with a model of their own each were all put to each other.
MOST_MAKERS = 100
MOST_PAIRS = 1_000
USUAL_PAIRS = 100
LONGEST_MODEL, LONGEST_PROMPT = 200, 120
DIGITS = 8

Model = Annotated[Text, Field(max_length=LONGEST_MODEL)]
Prompt = Annotated[Text, Field(max_length=LONGEST_PROMPT)]


class PairChoice(Frozen):
    """Filter for the runs to pair. If a model or prompt is given, one of the two answers uses it."""

    kind: Annotated[Text, Field(max_length=60)] = Field(default="", description="only tasks of this type")
    agent: Annotated[AgentFilter, Field(max_length=120)] = Field(default="", description="only tasks of this agent")
    model_a: Model = Field(default="", description="model of one of the two answers")
    model_b: Model = Field(
        default="", description="model of the other answer; use the same model to compare its prompts"
    )
    prompt_a: Prompt = Field(default="", description="prompt version of one of the two answers")
    prompt_b: Prompt = Field(default="", description="prompt version of the other answer")
    scripted: bool = Field(default=False, description="use runs of the scripted model instead")
    most: int = Field(default=USUAL_PAIRS, ge=1, le=MOST_PAIRS, description="maximum number of pairs")


class Maker(NamedTuple):
    """By whom an answer is: the contestants that people choose between."""

    model: str
    prompt: str


class Kept(NamedTuple):
    """The answer that a run keeps, without its words."""

    run_id: UUID
    attempt_id: UUID
    external_id: str
    objective: str
    content: str
    maker: Maker


def find_pairs(project: Project, choice: PairChoice) -> list[Pair]:
    """The newest pairs that fit and are in no set yet, not saved: as many of each two makers as of the others."""
    kept = list(_kept_answers(project, choice))
    made = Pair.objects.filter(project=project, attempt_a__isnull=False).values_list("attempt_a", "attempt_b")
    seen = {frozenset(both) for both in made}
    by_makers: dict[frozenset[Maker], list[tuple[Kept, Kept]]] = defaultdict(list)
    for first, second in _of_same_task(kept):
        is_known = frozenset((first.attempt_id, second.attempt_id)) in seen
        if not is_known and _fits(choice, first.maker, second.maker):
            by_makers[frozenset((first.maker, second.maker))].append((first, second))
    # One of each two makers after another.
    in_turn = (pair for row in zip_longest(*by_makers.values()) for pair in row if pair is not None)
    return _unsaved(project, list(islice(in_turn, choice.most)))


def _kept_answers(project: Project, choice: PairChoice) -> Iterator[Kept]:
    """What the runs keep, newest first; texts are told by their digests."""
    none = Value("", output_field=TextField())
    runs = Run.objects.filter(
        NOT_OF_THE_DESK,
        project=project,
        state=RunState.FINISHED,
        is_scripted=choice.scripted,
        best_attempt__is_cut_off=False,
        # What a person wrote, in a review or in a fork, is no answer of the model's or the agent's.
        best_attempt__edited_from=None,
    ).exclude(Q(best_attempt__content="") | Q(best_attempt__step__edited_by_label__gt=""))
    wanted = {"task__kind": choice.kind, "task__agent": choice.agent}
    runs = runs.filter(**{name: value for name, value in wanted.items() if value})
    runs = runs.annotate(
        maker=Coalesce(
            NullIf(F("best_attempt__step__model"), none),
            NullIf(KeyTextTransform("model", "task__metadata"), none),
            NullIf(F("task__agent"), none),
            none,
            output_field=TextField(),
        ),
        told_prompt=Coalesce(KeyTextTransform("prompt", "task__metadata"), none),
        own_prompts=FirstOf(
            MD5(Concat(Cast("prompt_versions", TextField()), Cast("edited_prompts", TextField()))), DIGITS
        ),
        asked=MD5("task__objective"),
        said=MD5("best_attempt__content"),
    ).order_by("-finished_at", "-id")
    for row in runs.values_list(
        *("id", "best_attempt_id", "task__external_id", "asked", "said"),
        *("maker", "told_prompt", "own_prompts", "task__execution"),
    )[:MOST_LOOKED_AT]:
        *known, model, told, own, execution = row
        prompt = told or ("" if execution == Execution.EXTERNAL else own)
        if model:
            run_id, attempt_id, external_id, asked, said = known
            maker = Maker(model[:LONGEST_MODEL], prompt[:LONGEST_PROMPT])
            yield Kept(run_id, attempt_id, external_id or "", asked, said, maker)


def _of_same_task(kept: Iterable[Kept]) -> Iterator[tuple[Kept, Kept]]:
    """Any two different answers to tasks with the same objective or external id, of each maker the newest one."""
    groups: dict[str, str] = {}

    def root(name: str) -> str:
        while groups.setdefault(name, name) != name:
            # Each walk halves the way that the next one has to go.
            name = groups[name] = groups[groups[name]]
        return name

    answers = list(kept)
    for one in answers:
        if one.external_id:
            groups[root(f"id {one.external_id}")] = root(f"text {one.objective}")
    newest: dict[str, dict[Maker, Kept]] = defaultdict(dict)
    for one in answers:
        newest[root(f"text {one.objective}")].setdefault(one.maker, one)
    for group in newest.values():
        for first, second in combinations(islice(group.values(), MOST_MAKERS), 2):
            if first.content != second.content:
                yield first, second


def _fits(choice: PairChoice, first: Maker, second: Maker) -> bool:
    def is_by(maker: Maker, model: str, prompt: str) -> bool:
        return model in ("", maker.model) and prompt in ("", maker.prompt)

    one, other = (choice.model_a, choice.prompt_a), (choice.model_b, choice.prompt_b)
    return (is_by(first, *one) and is_by(second, *other)) or (is_by(second, *one) and is_by(first, *other))


def _unsaved(project: Project, both: list[tuple[Kept, Kept]]) -> list[Pair]:
    wanted = {one.attempt_id for pair in both for one in pair}
    rows = Attempt.objects.filter(pk__in=wanted).select_related("run__task").only(
        "content", "run__handed_in_by", "run__task__objective"
    )  # fmt: skip
    attempts = {row.pk: row for row in rows}
    pairs = []
    for first, second in both:
        a, b = attempts.get(first.attempt_id), attempts.get(second.attempt_id)
        if a is None or b is None:
            # Undone since it was found.
            continue
        other = b.run.task.objective
        pairs.append(
            Pair(
                project=project,
                objective=a.run.task.objective,
                objective_b="" if other == a.run.task.objective else other,
                answer_a=a.content,
                answer_b=b.content,
                model_a=first.maker.model,
                model_b=second.maker.model,
                prompt_a=first.maker.prompt,
                prompt_b=second.maker.prompt,
                attempt_a=a,
                attempt_b=b,
                handed_in_by=sorted({*a.run.handed_in_by, *b.run.handed_in_by}),
            )
        )
    return pairs
