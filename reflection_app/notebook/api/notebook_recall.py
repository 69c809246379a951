"""Recall: what the notebook has on a text, with the reason why, as text ready for a prompt as well."""

from secrets import SystemRandom
from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model
from rest_framework.request import Request
from rest_framework.response import Response

from notebook_app.public import (
    EntryFilter,
    EntryKind,
    Recalled,
    RecalledEntry,
    bounded,
    earlier_draws,
    new_boundary,
    recall,
    record_exposures,
    told_of,
    withhold,
)
from reflection_app.adapters.llm.query_vectors import query_vector
from reflection_app.api.answer import Answer
from reflection_app.api.desk_view import DeskView
from reflection_app.api.idempotency import idempotent
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import Text
from reflection_app.notebook.notebook_outcome import LONGEST_SUBJECT
from reflection_app.runs.lessons import can_still_count
from reflection_app.runs.models import Run

LONGEST_ASKED = 2_000
LONGEST_OBJECTIVE = 20_000


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: int = Field(default=5, ge=1, le=20, description="at most so many entries; fewer where fewer fit")
    kind: EntryKind | None = Field(default=None, description="of this kind alone")
    category: Text = Field(default="", max_length=120)
    agent: Text = Field(default="", max_length=120, description="what holds for this agent, and what holds for all")
    tag: Text = Field(default="", max_length=60)


# `for` cannot be written as the name of a field in a class.
SUBJECT = (
    Text,
    Field(
        default="",
        max_length=LONGEST_SUBJECT,
        description="a run's id, or the agent's own name for its work: a share of the entries is withheld at random "
        "then, the same whenever the same name is given, so that the notebook learns what its lessons are worth",
    ),
)
RecallQuery = create_model(
    "RecallQuery",
    __base__=Asked,
    q=(Annotated[Text, AfterValidator(_not_blank)], Field(min_length=1, max_length=LONGEST_ASKED)),
    **{"for": SUBJECT},  # type: ignore[call-overload]
)
RecallInput = create_model(
    "RecallInput",
    __base__=Asked,
    q=(Annotated[Text, AfterValidator(_not_blank)], Field(min_length=1, max_length=LONGEST_OBJECTIVE)),
    **{"for": SUBJECT},  # type: ignore[call-overload]
)


class RecalledAnswer(Answer):
    """An entry and why it was recalled."""

    id: UUID
    version: int
    kind: EntryKind
    name: str
    description: str
    content: str
    category: str
    tags: list[str]
    occurrences: int
    score: float = Field(description="comparable within one answer only")
    words: list[str] = Field(description="words of the question that the entry has")
    likeness: float | None = Field(description="how alike the meanings are; comparable within one model only")


class RecallAnswer(Answer):
    entries: list[RecalledAnswer] = Field(description="the best first")
    withheld: int = Field(description="entries held out by chance, for the measurement of what lessons are worth")
    used_meaning: bool
    why_not_meaning: str = Field(description="why words alone were looked for; empty where meaning was asked")
    text: str = Field(description="the entries ready for a prompt, inside a boundary that none of them can close")


class Recall(DeskView):
    permissions = needs(get=Permission.RECALL, post=Permission.RECALL)

    @described_get(
        "recall", summary="What the notebook has on a text, best first", query=RecallQuery, answer=RecallAnswer
    )
    def get(self, request: Request) -> Response:
        return _answered(self.project, read_query(request, RecallQuery))

    @described_post(
        "recall_for_text",
        summary="What the notebook has on a long text, such as a whole objective",
        body=RecallInput,
        answers={200: RecallAnswer},
        examples={"Before a booking": {"q": "Change the flights of reservation EHGLP3.", "for": "booking-agent/771"}},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        return _answered(self.project, read_input(request, RecallInput, what="question"))


def _answered(project: Project, asked: Asked) -> Response:
    given = asked.model_dump()
    vector = query_vector(given["q"])
    among = EntryFilter(
        kinds=(asked.kind,) if asked.kind else (),
        category=asked.category,
        agent=asked.agent,
        tags=(asked.tag,) if asked.tag else (),
    )
    found = recall(project.pk, given["q"], vector=vector, among=among, limit=asked.limit)
    told = _told(project, found, subject=given["for"].strip())
    why = "" if found.used_meaning else _why_not(is_asked=vector is not None)
    answer = RecallAnswer(
        entries=[_entry_answer(one) for one in told],
        withheld=len(found.entries) - len(told),
        used_meaning=found.used_meaning,
        why_not_meaning=why,
        text=bounded([told_of(one.entry) for one in told], boundary=new_boundary()),
    )
    return Response(answer.model_dump(mode="json"))


@transaction.atomic
def _told(project: Project, found: Recalled, *, subject: str) -> list[RecalledEntry]:
    """What is given to the subject: all but what is withheld from it, now or when it asked before."""
    if not subject:
        return list(found.entries)
    ids = [one.entry.id for one in found.entries]
    run = _run_named(project, subject)
    if run is not None:
        subject = str(run.pk)
        if run.get_spec().lessons is not None:
            # The desk tells this run itself, and draws for it then. A draw of somebody else's would stand before that.
            return _not_withheld(project, found, subject=subject)
    drawn = withhold(found.entries, share=project.get_notebook().holdout_share, chance=SystemRandom().random)
    record_exposures(project.pk, subject=subject, drawn=drawn, is_counted=run is None or can_still_count(run))
    # Of two that ask at once, the first draw stands for both.
    draws = earlier_draws(project.pk, subject, ids)
    return [one for one in found.entries if one.entry.id in draws and not draws[one.entry.id].is_withheld]


def _run_named(project: Project, subject: str) -> Run | None:
    run_id = id_from(subject)
    return Run.objects.filter(project=project, pk=run_id).first() if run_id else None


def _not_withheld(project: Project, found: Recalled, *, subject: str) -> list[RecalledEntry]:
    draws = earlier_draws(project.pk, subject, [one.entry.id for one in found.entries])
    return [one for one in found.entries if one.entry.id not in draws or not draws[one.entry.id].is_withheld]


def _why_not(*, is_asked: bool) -> str:
    if is_asked:
        return _("The entries are just being embedded by another model; this was found by its words.")
    return _("No vector of the question could be had in time, or the desk has no embedding model; found by its words.")


def _entry_answer(one: RecalledEntry) -> RecalledAnswer:
    entry = one.entry
    return RecalledAnswer(
        id=entry.id,
        version=entry.version,
        kind=entry.kind,
        name=entry.name,
        description=entry.description,
        content=entry.content,
        category=entry.category,
        tags=list(entry.tags),
        occurrences=entry.occurrences,
        score=one.score,
        words=list(one.words),
        likeness=one.likeness,
    )
