"""Runs as REST tells them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Annotated, Any
from uuid import UUID

from django.db.models import JSONField, Q, QuerySet
from django.db.models.expressions import RawSQL
from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, JsonValue

from desk_sandbox.code_tests import TestReport
from notebook_app.public import compiled
from reflection_app.api.reading import Answer, Money, OrNull, PageAnswer, TextOrNull, Username
from reflection_app.attachments.answers import (
    AttachedAnswers,
    FaultyFileAnswer,
    FileAnswer,
    FileAnswers,
    LookedAnswer,
    faulty_file_answers,
    file_answers,
)
from reflection_app.attachments.produced import looked_at_by_check
from reflection_app.loops import verdicts
from reflection_app.loops.attempt_effects import AnswerFault, Generate
from reflection_app.loops.attempts import changed_since
from reflection_app.loops.completeness.checks import (
    CheckState,
    Completeness,
    SettingsFrom,
    SupplementsRun,
    state_after,
)
from reflection_app.loops.completeness.sampling import CheckArm, CheckLots
from reflection_app.loops.effects import DrawCheck, RecordCompleteness, RecordSecondLook, RecordSupplements
from reflection_app.loops.protocol.stages import SubmitStatus
from reflection_app.loops.questions import Choice, QuestionKind
from reflection_app.loops.requirements import Lowered, RequirementsReport
from reflection_app.loops.rubrics import Rating
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.tool_permission import Ground, PreparedCall
from reflection_app.loops.values import Message
from reflection_app.loops.verdicts import Feedback, Issue, Outcome, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.answers.reports import SentBack, sent_back_answer
from reflection_app.repairs.answers.supplements import (
    DroppedAnswer,
    SecondLookAnswer,
    SpentAnswer,
    SuppliedAnswer,
    dropped_answers,
    spent_answer,
    supplied_answers,
)
from reflection_app.runs.events import EventType
from reflection_app.runs.handing_in import next_attempt_of
from reflection_app.runs.models import VOID, Attempt, QuestionState, Run, RunState, Step, StepState, Verdict
from reflection_app.runs.permissions import Decided, permissions_of

# In its own words, since putting them together takes Django a tenth of an answer's time.
FORKS = """
ARRAY(SELECT id FROM reflection_app_run fork WHERE parent_id = reflection_app_run.id ORDER BY created_at, id)
"""
# What REST says of the best attempt's judgement, weakest referee first, without the verdicts that VOID finds.
JUDGED = """
(SELECT jsonb_agg(jsonb_build_array(score, referee, verdict, lowered) ORDER BY referee, created_at, id)
FROM reflection_app_verdict WHERE attempt_id = reflection_app_run.best_attempt_id
AND (referee = %s AND confidence = 0 AND verdict <> %s) IS NOT TRUE)
"""
# What the answers of lists show, of the run and of its best attempt.
SHOWN = (
    *("id", "task", "mode", "state", "outcome", "waiting_for", "not_before", "error", "attempts_made"),
    *("prompt_tokens", "completion_tokens", "estimated_tokens", "cached_tokens", "reasoning_tokens"),
    *("cost_usd", "llm_calls", "unpriced_calls", "unmetered_calls"),
    *("parent", "forked_from_step", "fork_note", "forked_by_label", "created_at", "started_at", "finished_at"),
    *("best_attempt__number", "best_attempt__content", "best_attempt__is_cut_off"),
    *("best_attempt__edited_from", "best_attempt__edited_by_label"),
)
# What no answer shows, and may be large.
NOT_SHOWN = (
    "edited_prompts",
    *("best_attempt__artifacts", "best_attempt__self_check", "best_attempt__repairs", "best_attempt__stored_thought"),
)


class BestAttempt(Answer):
    """The selected attempt, with its score from the highest-ranked evaluator that judged it."""

    number: int
    content: str
    cut_off: bool = Field(
        validation_alias="is_cut_off",
        description="true if the answer was cut off",
    )
    score: float | None
    referee: str | None = Field(description="evaluator that gave the score", examples=["tests"])
    passed_lowered: bool = Field(
        description="whether it passed only against a lowered expectation, even if a reviewer approved that"
    )
    edited: bool = Field(description="whether a reviewer wrote it to replace the original attempt")
    edited_from: int | None = Field(description="number of the original attempt")
    edited_by: TextOrNull = Field(validation_alias="edited_by_label")
    original: str | None = Field(description="text of the original attempt; null if not edited")


class Usage(Answer):
    """Resource usage of the run. Unknown values are null, never 0, or come with the number of calls that lack them."""

    prompt_tokens: int
    completion_tokens: int
    estimated_tokens: int = Field(
        description="prompt and completion tokens that no provider reported and the server estimated"
    )
    cached_tokens: int | None = Field(description="prompt tokens read from a cache; null if never reported")
    reasoning_tokens: int | None = Field(description="completion tokens used for reasoning; null if never reported")
    cost_usd: Money | None = Field(description="null if the cost of any call is unknown")
    known_cost_usd: Money = Field(description="known part of the cost, a lower bound")
    llm_calls: int
    unpriced_calls: int = Field(description="number of model calls and submitted attempts with unknown cost")
    unmetered_calls: int = Field(
        description="number of attempts submitted without `usage`; their tokens are not counted"
    )


class RunAnswer(Answer):
    """One execution of a loop on a task."""

    id: UUID
    task_id: UUID
    mode: Mode
    state: RunState
    outcome: Annotated[Outcome | None, OrNull] = Field(description="null until the run has finished")
    waiting_for: TextOrNull = Field(description="what the run waits for, in a waiting state, or why it is postponed")
    waits_until: AwareDatetime | None = Field(
        validation_alias="not_before", description="time when a waiting or postponed run resumes automatically"
    )
    error: TextOrNull = Field(description="why the run failed, or why its answer is unverified, if known")
    best_attempt: BestAttempt | None = Field(description="null until the run has finished")
    attempts: int = Field(validation_alias="attempts_made", description="number of attempts made so far")
    usage: Usage
    parent_id: UUID | None
    forked_from_step: int | None = Field(description="the first step that is not an unedited copy of the parent's")
    fork_note: TextOrNull = Field(
        description="reason for the fork, and the actual step if it differs from the requested one"
    )
    forked_by: TextOrNull = Field(validation_alias="forked_by_label")
    forks: list[UUID] = Field(description="forks of this run, oldest first")
    created_at: AwareDatetime
    started_at: AwareDatetime | None
    finished_at: AwareDatetime | None


class RunPage(PageAnswer):
    results: list[RunAnswer]


def runs_to_show(runs: QuerySet[Run]) -> QuerySet[Run]:
    """`runs` with what an answer needs of other tables, without what it does not show."""
    judged = RawSQL(JUDGED, (Referee.TESTS.value, VerdictName.PASS.value), JSONField())  # noqa: S611 - values of ours
    annotated = runs.annotate(fork_ids=RawSQL(FORKS, ()), judged=judged)  # noqa: S611 - no values in it
    return annotated.select_related("best_attempt").defer(*NOT_SHOWN)


@compiled
def run_by_id(project_id: UUID, run_id: UUID) -> QuerySet[Run]:
    """Return the project's run as `runs_to_show` reads it."""
    return runs_to_show(Run.objects.filter(project=project_id, pk=run_id))


@compiled
def _runs_by_id(run_ids: list[UUID]) -> QuerySet[Run]:
    return runs_to_show(Run.objects.filter(pk__any=run_ids)).defer(None).only(*SHOWN)


def listed_answers(rows: Sequence[Any]) -> list[RunAnswer]:
    """The answers about runs whose `id` was read: by what a list filters is another query each time.

    With one query more for all of them together, and another where a reviewer edited an answer.
    """
    shown = {run.pk: run for run in _runs_by_id([row.id for row in rows])}
    return run_answers([shown[row.id] for row in rows if row.id in shown])


def run_answers(runs: Sequence[Run]) -> list[RunAnswer]:
    """The answers of `runs`, with no query more where `runs_to_show` read them and no reviewer edited an answer."""
    by_attempt = {run.best_attempt_id: run for run in runs if run.best_attempt_id is not None}
    decisive = decisive_scores(pk for pk, run in by_attempt.items() if not hasattr(run, "judged"))
    for pk, run in by_attempt.items():
        if score_of := _decisive(getattr(run, "judged", None) or ()):
            decisive[pk] = score_of
    # The forks of runs that were not read by `runs_to_show`; none are looked for where a run has just begun.
    forks = defaultdict[UUID, list[UUID]](list)
    if begun := [run.pk for run in runs if not hasattr(run, "fork_ids") and run.last_event_seq > 1]:
        found = Run.objects.filter(parent__in=begun).order_by("created_at", "id")
        for parent_id, run_id in found.values_list("parent_id", "pk"):
            forks[parent_id].append(run_id)
    originals = _originals_of(runs)
    answers = []
    for run in runs:
        best = None
        if run.best_attempt is not None:
            kept = run.best_attempt
            score, referee, lowered = decisive.get(kept.pk, (None, None, False))
            best = BestAttempt.from_row(
                kept,
                score=score,
                referee=referee,
                passed_lowered=lowered,
                edited=kept.edited_from is not None,
                original=originals.get(run.pk),
            )
        cost_usd = None if run.unpriced_calls else run.cost_usd
        usage = Usage.from_row(run, cost_usd=cost_usd, known_cost_usd=run.cost_usd)
        fork_ids = getattr(run, "fork_ids", forks.get(run.pk, []))
        answers.append(RunAnswer.from_row(run, best_attempt=best, usage=usage, forks=fork_ids))
    return answers


def _originals_of(runs: Iterable[Run]) -> dict[UUID, str]:
    """By run, the text in whose place a reviewer put the answer; with no query where nobody did."""
    wanted = Q()
    for run in runs:
        if run.best_attempt is not None and run.best_attempt.edited_from is not None:
            wanted |= Q(run=run.pk, number=run.best_attempt.edited_from)
    return dict(Attempt.objects.filter(wanted).values_list("run_id", "content")) if wanted else {}


def run_answer(run: Run) -> RunAnswer:
    return run_answers([run])[0]


def decisive_scores(attempts: Iterable[UUID]) -> dict[UUID, tuple[float, str, bool]]:
    """Score and referee by attempt: the strongest referee's, of two equally strong the later one's.

    And whether it passed against a lowered expectation alone; who approves that makes it no other pass.
    """
    wanted = list(attempts)
    if not wanted:
        return {}
    judged = Verdict.objects.filter(attempt_id__in=wanted).exclude(VOID)
    weakest_first = judged.order_by("referee", "created_at", "id")
    rows: dict[UUID, list[tuple[Any, ...]]] = defaultdict(list)
    for attempt_id, *row in weakest_first.values_list("attempt_id", "score", "referee", "verdict", "lowered"):
        rows[attempt_id].append(tuple(row))
    return {attempt_id: found for attempt_id, of_one in rows.items() if (found := _decisive(of_one))}


def _decisive(weakest_first: Iterable[Sequence[Any]]) -> tuple[float, str, bool] | None:
    found, was_lowered = None, False
    for score, referee, verdict, expected in weakest_first:
        passed = verdict == VerdictName.PASS
        was_lowered = was_lowered or (passed and bool(expected))
        found = score, Referee(referee).label, passed and was_lowered
    return found


# What the last completeness check of a run found, and the run's statistics since, as REST tells them.


class ExecAnswer(Answer):
    """Steps of all plans of the run, including follow-up steps. `used` is true if a follow-up step was executed."""

    used: bool
    attempted: int
    succeeded: int
    success_rate: Annotated[float, AfterValidator(lambda share: round(share, 4))]


class RunCheckLots(Answer):
    """The random draw for the run's completeness check, recorded in its journal."""

    arm: CheckArm
    share: float = Field(description="the share of runs that is checked")


class RunCompleteness(Answer):
    state: CheckState = Field(
        description="unchecked: the check itself failed; this does not judge the work. completed_by_supplement: "
        "missing work was done after the check, and a second check, if made, found nothing else missing"
    )
    settings_from: SettingsFrom | None = Field(
        description="source of the applied settings: the task, the project or the server"
    )
    analysis: str
    missing_aspects: list[str]
    supplements_count: int
    files: list[FileAnswer] = Field(description="files inspected before the model was asked")
    faulty_files: list[FaultyFileAnswer] = Field(
        description="missing or faulty files; any of them makes the work incomplete, regardless of the model's answer"
    )
    looked: LookedAnswer | None = Field(
        description="what a model saw in the files; null if no file is required to show anything"
    )
    supplements: list[SuppliedAnswer]
    dropped: list[DroppedAnswer]
    second_look: SecondLookAnswer | None = Field(description="null if there was no second check")
    spent: SpentAnswer
    steps_ok: bool = Field(description="whether all steps succeeded, independent of missing work")
    exec: ExecAnswer | None = Field(description="null if no follow-up steps were executed")


OF_CHECKS = (DrawCheck.kind, RecordCompleteness.kind, RecordSupplements.kind, RecordSecondLook.kind)


@compiled
def steps_of_checks(run_id: UUID) -> QuerySet[Step, tuple[str, Any]]:
    """Return the kinds and results of the run's checks. A fork has its parent's, too."""
    rows = Step.objects.filter(run=run_id, kind__in=OF_CHECKS, state=StepState.DONE)
    return rows.order_by("seq").values_list("kind", "result")


def _lots_of(run: Run, steps: Sequence[tuple[str, Any]]) -> RunCheckLots | None:
    """Return the first draw among `steps`, those of `steps_of_checks`; None if nothing was drawn."""
    drawn = next((result for kind, result in steps if kind == DrawCheck.kind), None)
    if not drawn or not run.spec.get("completeness"):
        return None
    return RunCheckLots.from_row(CheckLots.model_validate(drawn))


def _completeness_of(run: Run, steps: Sequence[tuple[str, Any]]) -> RunCompleteness | None:
    """Return what the last check found, by `steps`, those of `steps_of_checks`; None if nothing was checked."""
    newest = dict(steps)
    if RecordCompleteness.kind not in newest:
        return None
    found = Completeness.model_validate(newest[RecordCompleteness.kind])
    recorded = newest.get(RecordSupplements.kind)
    done = SupplementsRun.model_validate(recorded) if recorded else None
    looked = newest.get(RecordSecondLook.kind)
    second_look = Completeness.model_validate(looked) if looked else None
    if second_look is not None and second_look.attempt != found.attempt:
        second_look = None
    return RunCompleteness.from_row(
        found,
        state=state_after(found, done, second_look=second_look),
        settings_from=run.spec.get("completeness_from"),
        supplements_count=len(found.supplements),
        files=file_answers(looked_at_by_check(run.pk, attempt=found.attempt)) if found.files else [],
        faulty_files=faulty_file_answers(found.faulty_files),
        supplements=supplied_answers(found, done),
        dropped=dropped_answers(found.dropped),
        second_look=second_look,
        spent=spent_answer(found, done, second_look),
        exec=done,
    )


# What happened inside a run, as REST tells it: steps, attempts with their verdicts, events.


class StepAnswer(Answer):
    """One effect that the run executed, and its recorded result."""

    seq: int
    key: str = Field(examples=["attempt-1/answer"])
    kind: str = Field(examples=["generate"])
    state: StepState
    role: TextOrNull = Field(description="role of the model, for a model call", examples=["actor"])
    model: TextOrNull
    attempt: int | None = Field(validation_alias="attempt_number")
    prompt_tokens: int
    completion_tokens: int
    tokens_estimated: bool = Field(
        validation_alias="is_estimated",
        description="whether the provider reported no tokens and the server estimated them",
    )
    cached_tokens: int | None = Field(description="null if the provider reported none")
    reasoning_tokens: int | None
    cost_usd: Money | None = Field(description="null if unknown")
    cost_known: bool = Field(description="false if the model's price is unknown")
    fault: AnswerFault | None = Field(description="why the model's output is not a complete answer; null if it is")
    refusal: str | None = Field(description="what the model sent in place of an answer")
    duration_s: float
    tries: int = Field(
        description="number of tries; for a model call, the requests sent, including those before a crash"
    )
    request: JsonValue
    result: JsonValue
    error: TextOrNull
    timed_out: bool
    is_inherited: bool = Field(description="whether it was copied from the parent run, which paid for it")
    edited_by: TextOrNull = Field(validation_alias="edited_by_label", description="who replaced the recorded result")
    started_at: AwareDatetime
    finished_at: AwareDatetime | None


class StepPage(PageAnswer):
    results: list[StepAnswer]


class VerdictAnswer(Answer):
    """An evaluator's judgment of an attempt."""

    referee: str = Field(
        validation_alias="referee_label",
        json_schema_extra={"enum": [referee.label for referee in verdicts.Referee]},
    )
    verdict: verdicts.Verdict
    score: float = Field(description="0 to 100")
    confidence: float | None = Field(description="0 to 1; null if the evaluator gave none")
    issues: list[Issue]
    feedback: Feedback
    tests: Annotated[TestReport | None, OrNull]
    requirements: Annotated[RequirementsReport | None, OrNull] = Field(
        description="the task's minimum requirements, as checked by code"
    )
    completeness: float | None = Field(description="components of the critic's score, 0 to 100 each")
    correctness: float | None
    lowered: Annotated[Lowered | None, OrNull] = Field(
        description="expectation used in place of the task's own; a PASS is then one against a lowered expectation"
    )
    ratings: list[Rating] = Field(
        description="ratings by the project's rubric, from which the score and the verdict follow"
    )
    given_by: Username = Field(description="the person who gave the verdict, if one did")
    created_at: AwareDatetime


class ThoughtAnswer(Answer):
    """The parts of an answer that was requested as a chain of thought."""

    steps: list[str] = Field(description="reasoning, step by step")
    answer: str = Field(
        description="the answer itself; empty if nothing marks it reliably, and then all of `content` is the answer"
    )
    parts: dict[str, str | None] = Field(
        description="the five requested parts, each null if missing; empty if there are none"
    )


class AttemptAnswer(Answer):
    """One candidate answer with every verdict on it, oldest first."""

    number: int
    content: str
    cut_off: bool = Field(
        validation_alias="is_cut_off",
        description="true if the answer was cut off",
    )
    artifacts: list[dict[str, JsonValue]] = Field(
        description="artifacts that an external agent submitted with the content"
    )
    attachments: AttachedAnswers = Field(description="images, audio, files and links submitted with the content")
    files: FileAnswers = Field(
        validation_alias="looked_at", description="files that the attempt produced, as inspected"
    )
    self_check: dict[str, JsonValue] | None = Field(description="an external agent's assessment of its own attempt")
    edited_from: int | None = Field(
        description="number of the attempt that a reviewer replaced with this one; null if not edited"
    )
    edited_by: TextOrNull = Field(validation_alias="edited_by_label")
    thought: ThoughtAnswer | None = Field(
        description="reasoning and answer, if a chain of thought was requested and the two can be separated"
    )
    verdicts: Annotated[list[VerdictAnswer], BeforeValidator(lambda verdicts: verdicts.all())]
    created_at: AwareDatetime


class AttemptPage(PageAnswer):
    results: list[AttemptAnswer]


class EventAnswer(Answer):
    seq: int
    type: EventType
    payload: dict[str, Any]
    created_at: AwareDatetime


class EventPage(PageAnswer):
    results: list[EventAnswer]


def step_answers(steps: Iterable[Step]) -> list[StepAnswer]:
    answers = []
    for step in steps:
        sent = step.result if step.kind == Generate.kind and isinstance(step.result, dict) else {}
        answer = StepAnswer.from_row(
            step,
            cost_usd=step.cost_usd if step.cost_known else None,
            fault=sent.get("fault") or None,
            refusal=str(sent.get("refusal") or "") or None,
        )
        answers.append(answer)
    return answers


# Questions to people as REST tells them.


class QuestionAnswer(Answer):
    """A question from a run to a person, with the answer. The run waits while it is open."""

    id: UUID
    run_id: UUID
    kind: QuestionKind
    text: str
    context: list[str] = Field(description="context for answering, in lines")
    choices: list[Choice] = Field(description="available choices")
    prepared: PreparedCall | None = Field(
        description="the call that `allow` executes, with exactly these arguments; null for other kinds"
    )
    state: QuestionState
    choice: Annotated[Choice | None, OrNull]
    answer: str = Field(description="text of the answer")
    answered_by: TextOrNull = Field(validation_alias="answered_by_label")
    answered_at: AwareDatetime | None
    created_at: AwareDatetime


class QuestionPage(PageAnswer):
    results: list[QuestionAnswer]


# What an outside agent is told: the run, and the attempt that the run asks for next.


class LastVerdict(Answer):
    """The verdict on the previous attempt."""

    verdict: VerdictName
    score: float
    issues: list[Issue]
    feedback: Feedback


class LastSubmission(Answer):
    """How the previous attempt, as a revised output, met the minimum requirements."""

    status: SubmitStatus
    remaining_issues: list[str]


class NextAnswer(Answer):
    """The requested attempt. `messages` is the whole conversation, `prompt` only its newest part."""

    attempt: int = Field(validation_alias="number")
    messages: list[Message]
    prompt: str
    verdict: LastVerdict | None = Field(description="null before the first attempt")
    ticket: SentBack | None = Field(description="the rewind ticket that sent the previous attempt back")
    submission: LastSubmission | None = Field(description="null if the previous attempt was not a revision")


class Versions(Answer):
    """Versions that the run started with: its loop, and each prompt by a hash of its text."""

    loop: int = Field(validation_alias="loop_version")
    prompts: dict[str, str] = Field(validation_alias="prompt_versions")
    changed: list[str] = Field(description="prompts that have changed since or no longer exist")


class ToolPermissionAnswer(Answer):
    """A call proposed by a model, and the decision whether to allow it."""

    call: PreparedCall
    state: Decided = Field(description="not_asked: the call was not made, and no reviewer decided")
    ground: Ground | None = Field(description="why the call was made without a review; null if a reviewer was asked")
    quote: TextOrNull = Field(description="the passage of the task that requests the call")
    by: TextOrNull = Field(description="the reviewer who decided")
    reason: TextOrNull = Field(description="the reviewer's reason")
    question_id: UUID | None


class RunWithNext(RunAnswer):
    """One run, with the attempt it requests from its external agent and the versions it started with."""

    next: NextAnswer | None = Field(description="the attempt to submit, if the run waits for one")
    completeness: RunCompleteness | None = Field(description="null if nothing was checked")
    completeness_lots: RunCheckLots | None = Field(description="null if there was no random draw")
    tool_permissions: list[ToolPermissionAnswer] = Field(
        description="calls that a model proposed to tools that write or act externally, in order"
    )
    versions: Versions
    models: dict[str, str] = Field(
        description="models that the run started with, by role, over the server's; each step names the model it used"
    )


class HandedInAnswer(Answer):
    """The run after an attempt was submitted. `next` is null while it is judged and after the run has ended."""

    run: RunAnswer
    next: NextAnswer | None


def run_with_next(run: Run) -> RunWithNext:
    steps = steps_of_checks(run.pk)
    return RunWithNext.from_row(
        run_answer(run),
        next=_next_answer(run),
        completeness=_completeness_of(run, steps),
        completeness_lots=_lots_of(run, steps),
        tool_permissions=[
            ToolPermissionAnswer.from_row(
                one, call=one.permission.call, ground=one.permission.ground, quote=one.permission.quote
            )
            for one in permissions_of(run)
        ],
        versions=Versions.from_row(run, changed=changed_since(run.prompt_versions)),
        models=run.spec.get("models", {}),
    )


def handed_in_answer(run: Run) -> HandedInAnswer:
    return HandedInAnswer(run=run_answer(run), next=_next_answer(run))


def _next_answer(run: Run) -> NextAnswer | None:
    asked = next_attempt_of(run)
    if asked is None:
        return None
    submission = asked.submitted and LastSubmission.from_row(
        asked.submitted, status=SubmitStatus.of(is_ready=asked.submitted.ready_for_re_evaluation)
    )
    return NextAnswer.from_row(asked, ticket=asked.ticket and sent_back_answer(asked.ticket), submission=submission)
