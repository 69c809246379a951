"""What an outside agent is told: the run, and the attempt that the run asks for next."""

from pydantic import Field

from reflection_app.api.answer import Answer
from reflection_app.loops.messages import Message
from reflection_app.loops.prompt_changes import changed_since
from reflection_app.loops.protocol.stages import SubmitStatus, Submitted
from reflection_app.loops.verdicts import Feedback, Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.answers.ticket_answers import SentBack, sent_back_answer
from reflection_app.runs.answers.run_answers import RunAnswer, run_answer
from reflection_app.runs.answers.run_completeness import RunCompleteness, completeness_of
from reflection_app.runs.models.attempt import Verdict
from reflection_app.runs.models.run import Run
from reflection_app.runs.next_attempt import NextAttempt, next_attempt_of


class LastVerdict(Answer):
    """What was said of the attempt before."""

    verdict: VerdictName
    score: float
    issues: list[Issue]
    feedback: Feedback


class LastSubmission(Answer):
    """How the attempt before stood as a revised output, against the minimum requirements."""

    status: SubmitStatus
    remaining_issues: list[str]


class NextAnswer(Answer):
    """The attempt that is asked for. `messages` is the whole conversation, `prompt` its newest part alone."""

    attempt: int
    messages: list[Message]
    prompt: str
    verdict: LastVerdict | None = Field(description="null before the first attempt")
    ticket: SentBack | None = Field(description="the rewind ticket that sent the attempt before back")
    submission: LastSubmission | None = Field(description="null where the attempt before revised none")


class Versions(Answer):
    """What the run began with: its loop, and each prompt by a hash of its words."""

    loop: int
    prompts: dict[str, str]
    changed: list[str] = Field(description="prompts that read otherwise today, or are no more")


class RunWithNext(RunAnswer):
    """One run, with what it asks of its outside agent, and the versions that it began with."""

    next: NextAnswer | None = Field(description="the attempt to hand in, where the run waits for one")
    completeness: RunCompleteness | None = Field(description="null where nothing was checked")
    versions: Versions


class HandedInAnswer(Answer):
    """The run after an attempt was handed in; `next` is null while it is judged and when it has ended."""

    run: RunAnswer
    next: NextAnswer | None


def run_with_next(run: Run) -> RunWithNext:
    asked = next_attempt_of(run)
    return RunWithNext(
        **dict(run_answer(run)),
        next=_next_answer(asked) if asked else None,
        completeness=completeness_of(run),
        versions=_versions_of(run),
    )


def handed_in_answer(run: Run) -> HandedInAnswer:
    asked = next_attempt_of(run)
    return HandedInAnswer(run=run_answer(run), next=_next_answer(asked) if asked else None)


def _versions_of(run: Run) -> Versions:
    recorded = run.prompt_versions
    return Versions(loop=run.loop_version, prompts=recorded, changed=changed_since(recorded))


def _next_answer(asked: NextAttempt) -> NextAnswer:
    return NextAnswer(
        attempt=asked.number,
        messages=list(asked.messages),
        prompt=asked.prompt,
        verdict=_last_verdict(asked.verdict) if asked.verdict else None,
        ticket=sent_back_answer(asked.ticket) if asked.ticket else None,
        submission=_last_submission(asked.submitted) if asked.submitted else None,
    )


def _last_submission(submitted: Submitted) -> LastSubmission:
    return LastSubmission(
        status=SubmitStatus.of(is_ready=submitted.ready_for_re_evaluation),
        remaining_issues=list(submitted.remaining_issues),
    )


def _last_verdict(row: Verdict) -> LastVerdict:
    return LastVerdict(
        verdict=VerdictName(row.verdict),
        score=row.score,
        issues=row.issues,
        feedback=Feedback.model_validate(row.feedback),
    )
