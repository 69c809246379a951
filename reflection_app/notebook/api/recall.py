"""Recall: what the notebook has on a text, with the reason why, as text ready for a prompt as well."""

from secrets import SystemRandom
from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.http import Http404
from django.utils.translation import gettext as _
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from rest_framework.utils.urls import replace_query_param

from judgement.recall import Way
from notebook_app.entry_filter import EntryFilter
from notebook_app.exposures import earlier_draws, record_exposures, withhold
from notebook_app.kinds import EntryKind, EntryState
from notebook_app.lift_list import exposures_of, lift_of_all
from notebook_app.public import name_of
from notebook_app.recall import Recalled, RecalledEntry, recall
from notebook_app.rules_prompt import bounded, new_boundary, rules_prompt, told_of
from reflection_app.adapters.llm.question_vectors import query_vector
from reflection_app.api.actions import change, read
from reflection_app.api.reading import Answer
from reflection_app.api.view import DeskView
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.storable import Text
from reflection_app.notebook.answers import ExposurePageAnswer, LiftPageAnswer, exposure_answer, lift_answer
from reflection_app.notebook.proposing import LONGEST_SUBJECT, OutcomeInput, report_outcome
from reflection_app.runs.lessons import can_still_count
from reflection_app.runs.models import Run

LONGEST_ASKED = 2_000
LONGEST_OBJECTIVE = 20_000


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


class RecallParameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: int = Field(default=5, ge=1, le=20, description="maximum number of entries; fewer if fewer match")
    kind: EntryKind | None = Field(default=None, description="only entries of this kind")
    category: Text = Field(default="", max_length=120)
    agent: Text = Field(
        default="",
        max_length=120,
        description="only entries that apply to this agent, and those that apply to all agents",
    )
    tag: Text = Field(default="", max_length=60)


Subject = Annotated[
    Text,
    Field(
        alias="for",
        max_length=LONGEST_SUBJECT,
        description="ID of a run, or the agent's own name for its work. If given, a share of the entries is held "
        "out at random, always the same for the same name. This measures the effect of lessons",
    ),
]


class RecallQuery(RecallParameters):
    q: Annotated[Text, AfterValidator(_not_blank)] = Field(min_length=1, max_length=LONGEST_ASKED)
    subject: Subject = ""


class RecallInput(RecallParameters):
    q: Annotated[Text, AfterValidator(_not_blank)] = Field(min_length=1, max_length=LONGEST_OBJECTIVE)
    subject: Subject = ""


class RecalledAnswer(Answer):
    """An entry and the reason it was retrieved."""

    id: UUID
    version: int
    kind: EntryKind
    name: str
    description: str
    content: str
    category: str
    tags: list[str]
    occurrences: int
    score: float = Field(description="confidence that the entry concerns the query, 0 to 1")
    words: list[str] = Field(description="words of the query that the entry contains")
    likeness: float | None = Field(description="semantic similarity; comparable only within one embedding model")


class RecallAnswer(Answer):
    entries: list[RecalledAnswer] = Field(description="best first")
    withheld: int = Field(description="number of entries held out at random, to measure the effect of lessons")
    used_meaning: bool
    decided_by: Way = Field(
        description="source of the ranking: `meaning`, a model of meaning trained for this server; `likeness`, "
        "vectors of another model; or `words`"
    )
    nothing_fits: str = Field(description="reason no entry is returned; empty if any is returned or held out")
    why_not_meaning: str = Field(description="reason only words were searched; empty if meaning was searched too")
    text: str = Field(description="entries as text for a prompt, inside a boundary that none of them can close")


class Recall(DeskView):
    @read("recall", "Retrieve entries for a text, best first", may=Permission.RECALL)
    def recall(self, query: RecallQuery) -> RecallAnswer:
        return recall_answer(self.project, query)

    @change(
        "recall_for_text",
        "Retrieve entries for a long text",
        may=Permission.RECALL,
        what="question",
        examples={"Before a booking": {"q": "Change the flights of reservation EHGLP3.", "for": "booking-agent/771"}},
    )
    def recall_for_text(self, body: RecallInput) -> RecallAnswer:
        return recall_answer(self.project, body)


def recall_answer(project: Project, query: RecallQuery | RecallInput) -> RecallAnswer:
    vector = query_vector(query.q)
    among = EntryFilter(
        kinds=(query.kind,) if query.kind else (),
        category=query.category,
        agent=query.agent,
        tags=(query.tag,) if query.tag else (),
    )
    found = recall(project.pk, query.q, vector=vector, among=among, limit=query.limit)
    delivered = _not_withheld(project, found, subject=query.subject.strip())
    if found.used_meaning:
        why = ""
    elif vector is not None:
        why = _("Entries are being re-embedded with another model; only text search was used.")
    else:
        why = _("No query vector in time, or no embedding model is configured; only text search was used.")
    return RecallAnswer(
        entries=[
            RecalledAnswer.from_row(one.entry, score=one.score, words=one.words, likeness=one.likeness)
            for one in delivered
        ],
        withheld=len(found.entries) - len(delivered),
        used_meaning=found.used_meaning,
        decided_by=found.decided_by,
        nothing_fits="" if found.entries else _why_nothing(found),
        why_not_meaning=why,
        text=bounded([told_of(one.entry) for one in delivered], boundary=new_boundary()),
    )


def _why_nothing(found: Recalled) -> str:
    if not found.looked_at:
        return _("No approved entry is related to it.")
    return _(
        "No match: of %(entries)d entries checked, the best has %(sure)d %% confidence; the threshold is %(least)d %%."
    ) % {
        "entries": found.looked_at,
        "sure": round(100 * found.surest),
        "least": round(100 * found.least_sure),
    }


@transaction.atomic
def _not_withheld(project: Project, found: Recalled, *, subject: str) -> list[RecalledEntry]:
    """All that was found but what is withheld from the subject, now or when it asked before."""
    if not subject:
        return list(found.entries)
    ids = [one.entry.id for one in found.entries]
    run_id = id_from(subject)
    run = Run.objects.filter(project=project, pk=run_id).first() if run_id else None
    if run is not None:
        subject = str(run.pk)
        if run.get_spec().lessons is not None:
            # The desk tells this run itself, and draws for it then. A draw of somebody else's would stand before that.
            draws = earlier_draws(project.pk, subject, ids)
            return [one for one in found.entries if one.entry.id not in draws or not draws[one.entry.id].is_withheld]
    drawn = withhold(found.entries, share=project.get_notebook().holdout_share, chance=SystemRandom().random)
    record_exposures(project.pk, subject=subject, drawn=drawn, is_counted=run is None or can_still_count(run))
    # Of two that ask at once, the first draw stands for both.
    draws = earlier_draws(project.pk, subject, ids)
    return [one for one in found.entries if one.entry.id in draws and not draws[one.entry.id].is_withheld]


# The rules prompt: what the notebook says most often, as text for a system prompt.


class RulesQuery(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    n: int | None = Field(
        default=None, ge=1, le=100, description="maximum number of entries; default: the project's setting"
    )
    min_occurrences: int | None = Field(
        default=None, ge=1, le=1_000_000, description="minimum number of occurrences; default: the project's setting"
    )
    kind: EntryKind | None = Field(default=None, description="only entries of this kind")
    agent: Text = Field(
        default="",
        max_length=120,
        description="only entries that apply to this agent, and those that apply to all agents",
    )


class RuleAnswer(Answer):
    id: UUID
    version: int
    kind: EntryKind
    name: str
    occurrences: int


class RulesPromptAnswer(Answer):
    text: str = Field(description="text to insert unchanged into the system prompt; empty if there are no entries")
    boundary: str = Field(description="token in both markers, random in every response")
    entries: list[RuleAnswer] = Field(description="entries in the text, in order")
    left_out_flagged: int = Field(
        validation_alias="flagged_count",
        description="number of approved entries excluded until a curator has reviewed them",
    )
    left_out_too_long: int = Field(validation_alias="too_long", description="number of entries that did not fit")


class Rules(DeskView):
    @read(
        "get_rules_prompt",
        "Get top entries as system prompt text",
        may=Permission.RECALL,
    )
    def retrieve(self, query: RulesQuery) -> RulesPromptAnswer:
        usual = self.project.get_notebook()
        prompt = rules_prompt(
            self.project.pk,
            most=query.n or usual.rules_most,
            least_occurrences=query.min_occurrences or usual.rules_least_occurrences,
            kinds=(query.kind,) if query.kind else (),
            agent=query.agent,
        )
        return RulesPromptAnswer.from_row(prompt)


# What lessons do to first attempts, the draws behind it, and outcomes of work that is no run of the desk.


class AfterQuery(BaseModel):
    """Pages whose cursor is the id of the last row seen."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: int = Field(default=50, ge=1, le=200, description="maximum number of items to return")
    cursor: UUID | None = Field(default=None, description="cursor from `next`")


class LiftQuery(AfterQuery):
    state: EntryState = Field(
        default=EntryState.APPROVED, description="only lessons in this state; they are compared with each other"
    )


class OutcomeAnswer(Answer):
    """`lessons` is the number of lessons for which it was recorded, given or withheld."""

    for_: str = Field(serialization_alias="for")
    succeeded: bool | None
    lessons: int


class Lift(DeskView):
    @read("get_notebook_lift", "List lesson effects on first attempts, by name", may=Permission.READ_LIFT)
    def list(self, query: LiftQuery) -> LiftPageAnswer:
        share = self.project.get_notebook().holdout_share
        lessons = lift_of_all(self.project.pk, share=share, state=query.state)
        # At the first lesson where the one of the cursor is in this state no more.
        places = (place for place, lesson in enumerate(lessons, start=1) if lesson.entry_id == query.cursor)
        begin = next(places, 0)
        page = lessons[begin : begin + query.limit]
        has_more = begin + query.limit < len(lessons)
        return LiftPageAnswer(
            holdout_share=share,
            results=[lift_answer(lesson) for lesson in page],
            next=self._next(page[-1].entry_id) if has_more and page else None,
        )

    @change(
        "report_notebook_outcome",
        "Report the outcome of a first attempt",
        may=Permission.PROPOSE_ENTRIES,
        what="outcome",
        problems=(404, 409),
    )
    def report_outcome(self, body: OutcomeInput) -> OutcomeAnswer:
        """For work that is not a run of this server; outcomes of runs are recorded automatically.

        Report all work for which lessons were retrieved, whether it succeeded or not.
        """
        lessons = report_outcome(self.project, body, actor=self.actor)
        return OutcomeAnswer(for_=body.subject, succeeded=body.succeeded, lessons=lessons)

    @read(
        "list_entry_exposures",
        "List exposures of an entry, newest first",
        may=Permission.RECALL,
    )
    def exposures(self, entry_id: UUID, query: AfterQuery) -> ExposurePageAnswer:
        if name_of(self.project.pk, entry_id=entry_id) is None:
            raise Http404("no such entry")
        page = exposures_of(self.project.pk, entry_id, limit=query.limit, after=query.cursor)
        named = {found for one in page.exposures if (found := id_from(one.subject))}
        runs = set(Run.objects.filter(project=self.project, pk__in=named).values_list("pk", flat=True))
        return ExposurePageAnswer(
            results=[exposure_answer(one, runs=runs) for one in page.exposures],
            next=self._next(page.last) if page.last else None,
        )

    def _next(self, last: UUID) -> str:
        return str(replace_query_param(self.request.build_absolute_uri(), "cursor", str(last)))
