"""Code without tests: a model writes tests first; these are evidence, not the final judge.

On recorded runs, obeying tests that a model wrote made a loop worse than no loop. The first answer is therefore
retained until evidence speaks against it (loops/referee.py). A pick that the evidence does not settle goes to a
reviewer. A run succeeds only if a reviewer accepts it, or if the retained code passes every test not shown to be wrong.
"""

from desk_sandbox.code_tests import CodeTests, TestReport
from reflection_app.loops.actor_critic import actor_critic
from reflection_app.loops.attempt_effects import Pick, ReviewReason, RunTests
from reflection_app.loops.attempts import Waits, ask_reviewer, draw_audit, make_attempt
from reflection_app.loops.code_answers import code_of
from reflection_app.loops.code_loop import TESTS_TIMEOUT_S, failures_in_words, sent_back
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.referee import SuspectTests, suspect_tests, weigh
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.values import NO_ANSWER, Message, assistant, system, user
from reflection_app.loops.verdicts import Judgement, Outcome, Referee, Verdict

TESTS_WANTED = 5
LONGEST_WHY = 4_000


async def generated_tests_loop(spec: TaskSpec, run: Progress) -> Outcome:
    """Make attempts until the evidence will not change, then end with the pick.

    The pick is settled, decided by a reviewer, or unverified. If no test is usable, nothing can run the code, and the
    critic evaluates it.
    """
    suspects = await write_tests(spec, run)
    if not suspects.script:
        return await actor_critic(spec, run)
    messages: tuple[Message, ...] = (system(prompt("code_system")), user(spec.objective))
    entry_point = suspects.entry_point or None
    tried: dict[int, TestReport] = {}
    for number in range(1, spec.limits.max_iterations + 1):
        answer = await make_attempt(spec, run, number=number, messages=messages)
        if number in run.unfinished:
            messages = (*messages, assistant(answer), user(prompt("cut_off_next")))
            continue
        report = await run.perform(
            RunTests(
                key=f"attempt-{number}/tests",
                attempt=number,
                code=code_of(answer, entry_point=entry_point),
                tests=CodeTests(script=suspects.script, entry_point=entry_point),
                timeout_s=TESTS_TIMEOUT_S,
            )
        )
        tried[number] = report
        found, scores = weigh(tried, suspects=suspects)
        judgement, pick = await _record(found, run, number=number, report=report, score=scores[number])
        if judgement.referee is Referee.PERSON and judgement.verdict is not Verdict.REVISE:
            return Outcome.SUCCEEDED if judgement.passed else Outcome.REJECTED
        if pick.try_again and number < spec.limits.max_iterations:
            again = failures_prompt(report, examples=suspects.examples)
            messages = (*messages, assistant(answer or NO_ANSWER), user(again))
            continue
        if pick.settled and not spec.requires_review:
            await draw_audit(spec, run, judgement)
            return _unverified(pick, run) if pick.against else Outcome.SUCCEEDED
        if not spec.review_policy.unsettled_waits and not spec.requires_review:
            return Outcome.EXHAUSTED if pick.try_again else _unverified(pick, run)
        reason = ReviewReason.REQUIRED if pick.settled else ReviewReason.UNSETTLED_PICK
        decision = await ask_reviewer(run, judgement, Waits(reason, why=pick.reasons), number=number)
        if decision.verdict is not Verdict.REVISE:
            return Outcome.SUCCEEDED if decision.verdict is Verdict.PASS else Outcome.REJECTED
        # A sent-back attempt is no longer a candidate, so the evidence starts over.
        tried.clear()
        messages = (*messages, assistant(answer or NO_ANSWER), user(sent_back(run.judgements[-1])))
    return Outcome.EXHAUSTED


async def write_tests(spec: TaskSpec, run: Progress) -> SuspectTests:
    """Return tests that a model writes from the task alone, before any code, and the task's own examples."""
    run.check_limits()
    answer = await run.perform(
        run.model_call(
            key="tests/write",
            role="tester",
            messages=(
                system(prompt("tests_system")),
                user(prompt("tests_write", objective=spec.objective, count=TESTS_WANTED)),
            ),
            temperature=0.2,
        )
    )
    # A truncated last line may have another meaning: `== 1` of `== 12`.
    text = answer.text.rpartition("\n")[0] if answer.fault else answer.text
    return suspect_tests(code_of(text), task=spec.objective)


async def _record(
    found: Pick, run: Progress, *, number: int, report: TestReport, score: float
) -> tuple[Judgement, Pick]:
    """Record and return the pick after attempt `number`, and the judgement of the picked attempt.

    If a person edited the verdict on attempt `number` in a fork, that judgement is returned.
    """
    is_kept = found.attempt == number
    judged = Judgement(
        attempt=number,
        referee=Referee.GENERATED_TESTS,
        verdict=Verdict.PASS if is_kept and found.settled and not found.against else Verdict.REVISE,
        score=score,
        confidence=found.confidence if is_kept else None,
        tests=report,
    )
    judged = await run.record(judged, key=f"attempt-{number}/verdict")
    pick = await run.record_pick(found, key=f"attempt-{number}/pick")
    if judged.referee is Referee.PERSON:
        return judged, pick
    last = next(judged for judged in reversed(run.judgements) if judged.attempt == pick.attempt)
    # Later attempts change the confidence in an earlier one, and the review queue is sorted by it.
    by_pick = last.model_copy(update={"confidence": pick.confidence})
    if pick.settled and not pick.against and not last.passed:
        # A person cleared it in a fork, or the run predates the rule: repeated answers cleared an attempt of its tests.
        cleared = by_pick.model_copy(update={"verdict": Verdict.PASS})
        return await run.record(cleared, key=f"attempt-{number}/cleared"), pick
    return by_pick if last.referee is Referee.GENERATED_TESTS else last, pick


def _unverified(pick: Pick, run: Progress) -> Outcome:
    """Return UNVERIFIED for a run whose retained attempt was not shown to be right; store the reason."""
    run.why_unverified = f"Attempt {pick.attempt} is kept, unverified. {' '.join(pick.reasons)}"[:LONGEST_WHY]
    return Outcome.UNVERIFIED


def failures_prompt(report: TestReport, *, examples: int) -> str:
    """Return the feedback on failures: the task's own examples as certain, generated tests as doubtful."""
    certain = tuple(result for result in report.failed if result in report.results[:examples])
    doubtful = tuple(result for result in report.failed if result not in certain)
    return prompt(
        "code_suspect_failures",
        failed=len(report.failed),
        total=report.counted,
        examples=prompt("code_failed_examples", failures=failures_in_words(certain)) + "\n" if certain else "",
        doubtful=prompt("code_failed_tests", failures=failures_in_words(doubtful)) + "\n" if doubtful else "",
    )
