"""What a fork is asked to change, checked field by field, and an edited result as its step may hold it."""

from typing import Annotated, Any

from django.utils.translation import gettext as _
from pydantic import AfterValidator, ConfigDict, Field, JsonValue, ValidationError, model_validator

from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput
from reflection_app.core.json_sizes import at_most
from reflection_app.loops.attempt_effects import (
    AskReviewer,
    Decision,
    Draw,
    EditedAnswer,
    Generate,
    Generation,
    HandedIn,
    KeepAttempt,
    Pick,
    RecordVerdict,
    RequestAudit,
    ReviewDecision,
    Wait,
)
from reflection_app.loops.catalogue import LOOPS
from reflection_app.loops.effects import (
    AnyEffect,
    DrawCheck,
    IssueTicket,
    ProposeEntry,
    ProposeInstruction,
    RecordFixOutcome,
    RecordReport,
    Route,
)
from reflection_app.loops.lessons import RecallLessons
from reflection_app.loops.storable import is_storable
from reflection_app.loops.task_spec import NOT_FOR_TASKS, Execution, Mode, TaskSpec
from reflection_app.loops.tickets import Ticket
from reflection_app.loops.values import Message, Value
from reflection_app.loops.verdicts import Judgement, Referee, Verdict
from reflection_app.reviews.decisions import score_within
from reflection_app.runs.marking import with_marks_in_place
from reflection_app.runs.models import Step
from reflection_app.tasks.submission import ChosenModels, LimitsOverride, invalid_input

LONGEST_MESSAGE = 400_000
LONGEST_RESULT = 1_000_000
# A task is never routed to the choice itself, nor to what is handed in by calls of its own.
ROUTES = LOOPS.keys() - {Mode.ADAPTIVE} - NOT_FOR_TASKS
UNSTORABLE = "holds a NUL character, half a surrogate pair or an infinite number, which cannot be stored"


class EditedMessage(Message):
    """One message of a prompt, written by a person."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    content: str = Field(max_length=LONGEST_MESSAGE)


def _some(messages: tuple[EditedMessage, ...]) -> tuple[EditedMessage, ...]:
    if not messages:
        raise ValueError("a prompt has at least one message")
    return messages


class ForkInput(Value):
    """Where to fork and what to change there: the step's result, its prompt, or neither, so only chance differs."""

    from_step: int = Field(
        ge=1, le=100_000, description="the first step that differs; one past the last step copies them all"
    )
    result: Annotated[dict[str, JsonValue], at_most(LONGEST_RESULT)] | None = Field(
        default=None,
        description="corrected result of the step; omitted fields stay as recorded. An edited verdict counts as a "
        "person's unless it names another `referee`.",
    )
    messages: Annotated[tuple[EditedMessage, ...], Field(max_length=200), AfterValidator(_some)] | None = Field(
        default=None, description="prompt for executing the step again"
    )
    limits: LimitsOverride = LimitsOverride()
    models: ChosenModels = Field(
        default_factory=dict,
        description="model for each role from that step on, among those that the project lets its tasks choose; "
        "other roles use the run's models",
        examples=[{"critic": "openai/gpt-4o-mini"}],
    )
    note: str = Field(default="", max_length=10_000, description="reason for the fork, for people to read")

    @model_validator(mode="after")
    def check_one_edit(self) -> "ForkInput":
        if self.result is not None and self.messages is not None:
            raise ValueError("give either a result or messages: a step with a result is not performed")
        if not is_storable(self.model_dump(mode="json")):
            raise ValueError(UNSTORABLE)
        return self


# What they keep follows from other steps, or is nothing.
WITHOUT_RESULT = (
    KeepAttempt,
    RequestAudit,
    Wait,
    RecordReport,
    RecordFixOutcome,
    ProposeEntry,
    ProposeInstruction,
    # Its draws are chance; what the first attempt is told can be edited in its prompt.
    RecallLessons,
)


def edited_result(
    effect: AnyEffect, given: dict[str, Any], *, step: Step, attempts: int, spec: TaskSpec, editor: Actor
) -> Any:
    """The result of `effect` as JSON, from what was given over what was recorded; `attempts` were made before it.

    Raises InvalidInput, which names each field, also where this kind of step has no result that a person could give.
    """
    if isinstance(effect, Draw | DrawCheck):
        raise wrong_result(("", "a random draw cannot be edited: the sample would be none"))
    if isinstance(effect, WITHOUT_RESULT):
        raise wrong_result(("", f"a step of the kind {effect.kind} has no result to edit"))
    # Where a model repairs by what the verdict says, another ticket would change nothing.
    is_read = spec.mode is Mode.REFLECTION_PROTOCOL or spec.execution is Execution.EXTERNAL
    if isinstance(effect, IssueTicket) and not is_read:
        raise wrong_result(("", "this loop makes the next attempt from the verdict; edit the verdict instead"))
    recorded: dict[str, Any] = {}
    if isinstance(step.result, dict):
        recorded = step.result
    # Where the step came to no result, what one needs beside what a person would write.
    elif isinstance(effect, Generate):
        recorded = {"model": step.model}
    elif isinstance(effect, RecordVerdict):
        recorded = {"attempt": effect.judgement.attempt}
    match effect:
        case RecordVerdict():
            # A person's judgement unless `given` names another referee. A critic must never be held to a verdict that
            # it did not give: without a word on it the referee is PERSON, and the confidence, the parts and the reports
            # of whoever judged before go. Where the editor names a machine all the same ("what if the critic had said
            # so"), the step is still marked as edited, and calibration leaves edited and inherited steps out.
            own = {"referee": Referee.PERSON.value} | given
            if own["referee"] == Referee.PERSON.value:
                of_machines = ("confidence", "tests", "requirements", "completeness", "correctness", "lowered")
                own = dict.fromkeys(of_machines) | {"ratings": ()} | own
            if isinstance(own["referee"], str):
                own["referee"] = {referee.label: referee.value for referee in Referee}.get(
                    own["referee"], own["referee"]
                )
            filled = recorded | _consistent(recorded, own, spec=spec)
        case AskReviewer():
            own = {"decision": Decision.OVERRULE.value} | given
            # The text that a reviewer wrote belonged to the decision that this one takes the place of.
            filled = recorded | {"edited": None} | _consistent(recorded, own, spec=spec) | {"reviewer": editor.label}
        case Generate() if "text" in given:
            # What a person wrote is an answer, whatever the model sent in its place.
            filled = recorded | {"finish_reason": "stop", "refusal": "", "tool_calls": [], "fault": ""} | given
        case _:
            filled = recorded | given
    try:
        value = effect.results.validate_python(filled)
    except ValidationError as error:
        refusal = invalid_input(error, what=_("edited result"))
        raise wrong_result(*((problem["field"], problem["message"]) for problem in refusal.errors)) from None
    _check_it_fits(value, step=step, attempts=attempts)
    value = _with_marks(value, step=step)
    dumped = effect.results.dump_python(value, mode="json")
    if not is_storable(dumped):
        raise wrong_result(("", UNSTORABLE))
    return dumped


def _with_marks(value: Any, *, step: Step) -> Any:
    """The value, each passage that its issues mark put in its place. Raises InvalidInput."""
    if not isinstance(value, Judgement | ReviewDecision | Ticket) or not any(issue.mark for issue in value.issues):
        return value
    number = (value.picked if isinstance(value, ReviewDecision) else value.attempt) or step.attempt_number
    if number is None:
        raise wrong_result(("issues", "this step is about no attempt, so no passage of one can be marked"))
    try:
        issues = with_marks_in_place(value.issues, step.run_id, attempt=number)
    except InvalidInput as problem:
        raise wrong_result(*((error["field"], error["message"]) for error in problem.errors)) from None
    return value.model_copy(update={"issues": issues})


def wrong_result(*problems: tuple[str, str]) -> InvalidInput:
    return InvalidInput(
        _("The edited result is invalid; no fork was created."),
        errors=[{"field": f"result.{field}".rstrip("."), "message": message} for field, message in problems],
    )


def _consistent(recorded: dict[str, Any], given: dict[str, Any], *, spec: TaskSpec) -> dict[str, Any]:
    """`given` with a score and issues that go with another verdict, where it names none itself."""
    name, score = given.get("verdict"), recorded.get("score", 50.0)
    if name in {verdict.value for verdict in Verdict} and name != recorded.get("verdict"):
        given = {"score": score_within(Verdict(name), score, spec.thresholds)} | given
        if name == Verdict.PASS:
            given = {"issues": []} | given
    return given


def _check_it_fits(value: Any, *, step: Step, attempts: int) -> None:
    """Raises InvalidInput where a value names another attempt or a loop that is not there."""
    match value:
        case Judgement(attempt=number) if number != step.attempt_number:
            raise wrong_result(("attempt", f"this step judges attempt {step.attempt_number}"))
        case Judgement() if (
            value.passed
            and value.referee is not Referee.PERSON
            and (value.requirements is not None and not value.requirements.all_met)
        ):
            raise wrong_result(("verdict", "only a person can pass what does not meet the minimum requirements"))
        case Generation(text=text) if not text.strip():
            raise wrong_result(("text", "is empty: that is no answer"))
        case HandedIn(content=content) if not content.strip():
            raise wrong_result(("content", "is empty: that is no attempt"))
        case ReviewDecision(picked=int(number)) if number > attempts:
            raise wrong_result(("picked", f"there is no attempt {number} before this step"))
        case ReviewDecision(edited=EditedAnswer()):
            raise wrong_result(("edited", "a text of your own is given at the review itself, or as an edited answer"))
        case Ticket(attempt=number) if number != step.attempt_number:
            raise wrong_result(("attempt", f"this ticket sends attempt {step.attempt_number} back"))
        case Pick(attempt=number) if number > attempts:
            raise wrong_result(("attempt", f"there is no attempt {number} before this step"))
        case Route(mode=mode) if mode not in ROUTES:
            raise wrong_result(("mode", "choose one of " + ", ".join(sorted(known.value for known in ROUTES))))
