"""Judgement of an attempt, and the trigger that sends it back.

Sources in order: an interruption seen by code, a reviewer's order, the agent's own check, minimum requirements that a
revised output misses. Then the critic, or the requirements alone if there is none. A reviewer comes last, if the policy
or a checkpoint demands it.
"""

from reflection_app.loops.actor_critic import evaluate, requirements_of
from reflection_app.loops.answers import NoUsableAnswer
from reflection_app.loops.attempts import settle
from reflection_app.loops.progress import Progress
from reflection_app.loops.protocol.rounds import Interruption, Judged, Made
from reflection_app.loops.protocol.self_checks import is_content, judge_by
from reflection_app.loops.required_review import ask_unjudged
from reflection_app.loops.requirement_checks import judge_requirements
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.verdicts import Feedback, Issue, IssueCategory, Judgement, Referee, Severity, Verdict

LONGEST_INSTRUCTIONS = 10_000


async def judge(spec: TaskSpec, run: Progress, made: Made) -> Judged | None:
    """Return the final judgement and the trigger to send the attempt back, or None if nothing can judge it.

    Raise NoUsableAnswer if the critic's answer is unusable and no requirement is unmet.
    """
    if made.interruption is not None:
        return Judged(broken_off(made.number, made.interruption), Trigger.INTERRUPTION)
    if made.is_ordered and spec.redo is not None:
        instructions = spec.redo.instructions[:LONGEST_INSTRUCTIONS]
        ordered = Judgement(
            attempt=1,
            referee=Referee.PERSON,
            verdict=Verdict.REVISE,
            score=spec.redo.score,
            issues=spec.redo.issues,
            feedback=Feedback(suggestions=(instructions,) if instructions.strip() else ()),
        )
        return Judged(await _record(run, ordered), Trigger.PERSONS_ORDER)
    found = await _found(spec, run, made)
    if found is None:
        if not spec.requires_review:
            return None
        await ask_unjudged(run, number=made.number)
        return Judged(run.judgements[-1], Trigger.PERSONS_REVIEW)
    is_final = found.judgement.referee is Referee.SELF or _missed(made) is not None
    if is_final and not made.checkpoint:
        return found
    settled = await settle(spec, run, found.judgement, checkpoint=made.checkpoint, counted=Referee.CRITIC)
    by_person = settled.referee is Referee.PERSON
    return Judged(settled, Trigger.PERSONS_REVIEW if by_person else found.trigger)


def broken_off(number: int, broken: Interruption) -> Judgement:
    """Return the judgement for the ticket of an interrupted attempt. It is stored with that ticket only."""
    issue = Issue(
        category=IssueCategory.COMPLETENESS,
        severity=Severity.CRITICAL,
        description=f"The step {broken.phase} broke off: {broken.message}",
        suggested_fix=f"Resume at {broken.phase}",
    )
    return Judgement(attempt=number, referee=Referee.TOOL, verdict=Verdict.REVISE, score=0, issues=(issue,))


async def _found(spec: TaskSpec, run: Progress, made: Made) -> Judged | None:
    """Record and return the judgement by the agent, the requirements or the critic."""
    handed_in = run.handed_in.get(made.number)
    if handed_in is not None and handed_in.self_check and not is_content(handed_in.self_check):
        judgement = await _record(run, judge_by(handed_in.self_check, attempt=made.number))
        return Judged(judgement, Trigger.SELF_CHECK)
    files = run.files.get(made.number)
    if (missed := _missed(made)) is not None:
        return await _by_requirements(run, made, missed)
    if not spec.has_critic:
        report = requirements_of(spec, made.content, lowered=made.lowered, files=files)
        uninspected = run.uninspected(made.number)
        if report is None or (report.all_met and uninspected):
            run.why_unverified = " ".join(uninspected)
            return None
        return await _by_requirements(run, made, report)
    run.check_limits()
    try:
        judgement = await evaluate(spec, run, attempt=made.number, content=made.content, lowered=made.lowered)
    except NoUsableAnswer:
        report = requirements_of(spec, made.content, lowered=made.lowered, files=files)
        if report is None or report.all_met:
            raise
        return await _by_requirements(run, made, report)
    return Judged(judgement, trigger_of(spec, judgement))


def _missed(made: Made) -> RequirementsReport | None:
    """Return the requirements that a revised output misses, as recorded by Submit, or None."""
    submitted = made.submitted
    if submitted is None or submitted.ready_for_re_evaluation or submitted.requirements is None:
        return None
    return None if submitted.requirements.all_met else submitted.requirements


async def _by_requirements(run: Progress, made: Made, report: RequirementsReport) -> Judged:
    judgement = await _record(run, judge_requirements(report, attempt=made.number, lowered=made.lowered))
    return Judged(judgement, Trigger.FAILED_REQUIREMENT)


def trigger_of(spec: TaskSpec, judgement: Judgement) -> Trigger:
    """Return FAILED_REQUIREMENT if only requirements are unmet, else CRITIC_EVALUATION.

    The former requires that the critic reported no other issues and gave a sufficient score. A person's judgement
    yields PERSONS_REVIEW.
    """
    report = judgement.requirements
    if judgement.referee is Referee.PERSON:
        return Trigger.PERSONS_REVIEW
    if judgement.is_by_requirements:
        return Trigger.FAILED_REQUIREMENT
    pass_from = judgement.lowered.score if judgement.lowered else spec.thresholds.pass_from
    if report is None or report.all_met or judgement.score < pass_from:
        return Trigger.CRITIC_EVALUATION
    complaints = len(judgement.issues) - len(report.unmet)
    return Trigger.FAILED_REQUIREMENT if complaints <= 0 else Trigger.CRITIC_EVALUATION


async def _record(run: Progress, judgement: Judgement) -> Judgement:
    return await run.record(judgement, key=f"attempt-{judgement.attempt}/verdict")
