"""An outside agent's attempt: taken when the run waits for it, refused with the reason when it does not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Self
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    ModelWrapValidatorHandler,
    PrivateAttr,
    model_validator,
)

from reflection_app.adapters.live import ring
from reflection_app.attachments.keeping import MOST_FILES, attach, has_same_files
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import AttemptConflict, InvalidInput, MakesItsOwn, NotItsTurn, RunFinished
from reflection_app.core.json_sizes import at_most
from reflection_app.loops.attempt_effects import AwaitAttempt, HandedIn, HandedInRepair
from reflection_app.loops.content_parts import MediaPart, media_of_parts, text_of_parts
from reflection_app.loops.effects import IssueTicket, RecordStage
from reflection_app.loops.protocol.stages import StageRecord, Submitted
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import Execution
from reflection_app.loops.tickets import Ticket
from reflection_app.loops.values import Message, Value
from reflection_app.reviews.own_work import note_hand_in
from reflection_app.runs.agent_leases import check_hold
from reflection_app.runs.models import Attempt, Run, RunState, Step, StepState, Verdict
from reflection_app.runs.resuming import resume_run

LARGEST_ARTIFACT = 64_000
LARGEST_SELF_CHECK = 16_384
LONGEST_NAME = 200
MOST_PARTS = 200
LOOK_AGAIN_AFTER_S = 2


class ArtifactInput(Value):
    """An additional artifact: its text, or its location."""

    name: str = Field(min_length=1, max_length=200)
    media_type: str = Field(default="", max_length=120)
    content: str | None = Field(default=None, max_length=LARGEST_ARTIFACT)
    uri: str | None = Field(default=None, max_length=2_000)


class AttemptUsage(Value):
    """What the agent spent on this attempt, if known. It counts against the run's limits."""

    prompt_tokens: int = Field(default=0, ge=0, le=1_000_000_000)
    completion_tokens: int = Field(default=0, ge=0, le=1_000_000_000)
    cost_usd: Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=8)] | None = None
    model: str = Field(default="", max_length=200, description="model that produced the attempt, shown with the step")


type Parts = Annotated[list[str | dict[str, JsonValue]], Field(min_length=1, max_length=MOST_PARTS)]


def _as_text(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    if not all(isinstance(part, str | dict) for part in content) or len(content) > MOST_PARTS:
        raise ValueError(
            f"must be a text, or a list of at most {MOST_PARTS} parts, each a text or an object with a type"
        )
    files = [media for media in media_of_parts(content) if not media.url]
    if len(files) > MOST_FILES:
        raise ValueError(f"has {len(files)} files; an attempt holds at most {MOST_FILES}")
    return text_of_parts(content)


def _some_content(content: str) -> str:
    if not content.strip():
        raise ValueError("is empty: that is no attempt, and nothing was handed in. The run goes on waiting for one.")
    return content


class AttemptInput(Value):
    """An attempt submitted by an agent. With `attempt`, it is accepted only under that number, and only once."""

    content: Annotated[
        str, BeforeValidator(_as_text, json_schema_input_type=str | Parts), AfterValidator(_some_content)
    ] = Field(
        max_length=500_000,
        description="Must not be blank. A list of parts in the format of OpenAI, Anthropic or Gemini is stored as "
        "its texts, with a placeholder for each other part. Images, audio and files with Base64 data "
        'are stored as attachments, as are earlier uploads: `{"type": "attachment", "id": "…"}`. Links '
        "are stored, but never followed.",
    )
    attempt: int | None = Field(default=None, ge=1, le=1_000)
    lease_token: UUID | None = Field(default=None, description="required if the run was claimed: the holder's token")
    artifacts: Annotated[tuple[ArtifactInput, ...], Field(max_length=20)] = ()
    usage: AttemptUsage | None = None
    self_check: Annotated[dict[str, JsonValue], at_most(LARGEST_SELF_CHECK)] | None = None
    repairs: Annotated[tuple[HandedInRepair, ...], Field(max_length=50), at_most(LARGEST_ARTIFACT)] = ()

    # The files among the parts, which are no part of the journal.
    _media: tuple[MediaPart, ...] = PrivateAttr(default=())

    @model_validator(mode="wrap")
    @classmethod
    def keep_media(cls, given: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        made = read(given)
        content = given.get("content") if isinstance(given, Mapping) else None
        if isinstance(content, list):
            made._media = media_of_parts(content)  # noqa: SLF001 - its own
        return made

    @property
    def media(self) -> tuple[MediaPart, ...]:
        return self._media

    def handed_in(self) -> HandedIn:
        """The attempt as loops and the journal know it."""
        artifacts = tuple(artifact.model_dump(mode="json", exclude_none=True) for artifact in self.artifacts)
        names = [one.name or one.uploaded or f"file {one.number + 1}" for one in self.media if not one.url]
        names += [one.name for one in self.artifacts if one.content is not None]
        return HandedIn(
            content=self.content,
            artifacts=artifacts,
            self_check=self.self_check,
            repairs=self.repairs,
            files=tuple(storable(name)[:LONGEST_NAME] for name in names),
        )


@dataclass(frozen=True)
class Taken:
    """The attempt's number, and whether it had been handed in before."""

    run_id: UUID
    number: int
    is_repeated: bool = False


@transaction.atomic
def hand_in_attempt(run: Run, data: AttemptInput, *, actor: Actor) -> Taken:
    """The attempt is kept and the run queued; the same attempt handed in again changes nothing.

    Raises MakesItsOwn, AttemptConflict, RunFinished or NotItsTurn, each saying what the run does instead; HeldByAgent
    where another agent makes this attempt; InvalidInput where the run keeps a budget of money and is not told what the
    attempt cost, and where a file cannot be kept. Of two agents at once one wins.
    """
    locked = Run.objects.select_for_update(of=("self",)).get(pk=run.pk)
    spec = locked.get_spec()
    if spec.execution is not Execution.EXTERNAL:
        raise MakesItsOwn(_("This run creates its own attempts (execution: managed). Nothing was submitted."))
    known = Attempt.objects.filter(run=locked, number=data.attempt).first() if data.attempt is not None else None
    if known is not None:
        handed_in = data.handed_in()
        recorded = (known.content, known.artifacts, known.self_check)
        is_same = recorded == (handed_in.content, list(handed_in.artifacts), handed_in.self_check)
        if not is_same or not has_same_files(known, data.media):
            raise AttemptConflict(
                _(
                    "Attempt %(number)s was already submitted with different content. The earlier submission is "
                    "unchanged."
                )
                % {"number": known.number}
            )
        return Taken(run_id=known.run_id, number=known.number, is_repeated=True)
    if locked.is_finished:
        raise RunFinished(
            _("The run has already ended (%(outcome)s). The attempt was not saved.") % {"outcome": locked.outcome}
        )
    if locked.state == RunState.WAITING_REVIEW:
        raise NotItsTurn(_("The run is waiting for a human review; it requests the next attempt afterwards."))
    if locked.state != RunState.WAITING_AGENT:
        what = "is waiting for a worker" if locked.state == RunState.QUEUED else "is judging what it has"
        doing = f"The run {what} ({locked.attempts_made} attempts so far); look again in a moment."
        raise NotItsTurn(doing, retry_after_s=LOOK_AGAIN_AFTER_S)
    step = Step.objects.filter(run=locked, state=StepState.WAITING, kind=AwaitAttempt.kind).last()
    if step is None:
        raise NotItsTurn(
            _("The run is waiting for something else (%(waiting_for)s), not for an attempt.")
            % {"waiting_for": locked.waiting_for}
        )
    if data.attempt not in {None, step.attempt_number}:
        raise AttemptConflict(
            _("The run is waiting for attempt %(attempt_number)s, not attempt %(attempt)s.")
            % {"attempt_number": step.attempt_number, "attempt": data.attempt}
        )
    if spec.limits.cost_budget_usd is not None and (data.usage is None or data.usage.cost_usd is None):
        raise InvalidInput(
            _("This run has a cost budget, so the cost of the attempt is required. Nothing was submitted."),
            errors=[{"field": "usage.cost_usd", "message": _("required here; 0 is valid")}],
        )
    check_hold(locked, token=data.lease_token)
    note_hand_in(locked, actor=actor)
    number = _keep(locked, step, data)
    audit(locked.project_id, actor, "attempt.handed_in", target=locked, after={"attempt": number})
    transaction.on_commit(lambda: ring(locked.pk, project_id=locked.project_id))
    return Taken(run_id=locked.pk, number=number)


def _keep(run: Run, step: Step, data: AttemptInput) -> int:
    """Writes the step's result, the attempt and the event; the attempt's number."""
    handed_in, usage = data.handed_in(), data.usage or AttemptUsage()
    assert step.attempt_number is not None
    step.prompt_tokens, step.completion_tokens = usage.prompt_tokens, usage.completion_tokens
    step.model = usage.model
    step.cost_usd, step.cost_known = usage.cost_usd or Decimal(0), usage.cost_usd is not None
    attempt = Attempt.from_handed_in(handed_in, run=run, step=step)
    attempt.save()
    attach(attempt, data.media, project_id=run.project_id)
    run.attempts_made += 1
    run.best_attempt_id = run.best_attempt_id or attempt.pk
    run.prompt_tokens += usage.prompt_tokens
    run.completion_tokens += usage.completion_tokens
    run.cost_usd += step.cost_usd
    run.unpriced_calls += not step.cost_known
    run.unmetered_calls += data.usage is None
    result = handed_in.model_dump(mode="json")
    resume_run(run, step, result, step_fields=_STEP_FIELDS, run_fields=_RUN_FIELDS, attempt=attempt.number)
    return attempt.number


_STEP_FIELDS: Sequence[str] = ("model", "prompt_tokens", "completion_tokens", "cost_usd", "cost_known")
_RUN_FIELDS: Sequence[str] = (
    *("attempts_made", "best_attempt", "prompt_tokens", "completion_tokens", "cost_usd"),
    *("unpriced_calls", "unmetered_calls", "handed_in_by"),
)


# What a run asks its outside agent for, told alike by REST and by the run's page.


@dataclass(frozen=True)
class NextAttempt:
    """The attempt that is waited for, what the agent is told, what was said of the attempt before, and its ticket.

    `submitted` is how that attempt stood as a revised output, where it was one of the six steps.
    """

    number: int
    messages: tuple[Message, ...]
    verdict: Verdict | None
    ticket: Ticket | None
    submitted: Submitted | None

    @property
    def prompt(self) -> str:
        """The newest thing that the agent is told."""
        return next((message.content for message in reversed(self.messages) if message.role == "user"), "")


def next_attempt_of(run: Run) -> NextAttempt | None:
    """The attempt that the run waits for, None where it waits for none."""
    if run.state != RunState.WAITING_AGENT:
        return None
    step = Step.objects.filter(run=run, state=StepState.WAITING, kind=AwaitAttempt.kind).last()
    if step is None or step.attempt_number is None:
        return None
    before = step.attempt_number - 1
    # Of the attempt before, the verdict that counts: the strongest referee's, of two equal ones the later.
    judged = Verdict.objects.filter(attempt__run=run, attempt__number=before)
    # The ticket that sent it back, from the step that issued it: a fork has the step, too.
    issued = Step.objects.filter(run=run, kind=IssueTicket.kind, attempt_number=before, state=StepState.DONE).last()
    # How it stood when it was submitted, from the last of the six steps for the attempt before it.
    kept = Step.objects.filter(run=run, key=f"attempt-{before - 1}/submit", state=StepState.DONE).first()
    output = StageRecord.model_validate(kept.result).output if kept and kept.kind == RecordStage.kind else None
    return NextAttempt(
        number=step.attempt_number,
        messages=tuple(Message.model_validate(message) for message in step.request["messages"]),
        verdict=judged.order_by("referee", "created_at", "id").last(),
        ticket=Ticket.model_validate(issued.result) if issued else None,
        submitted=output if isinstance(output, Submitted) else None,
    )
