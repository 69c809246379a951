"""Code loop: write code, run the tests that came with the task, and rewrite it with the failures shown.

Sources: "External-Loop" of the design seeds and Reflexion (Shinn et al., 2023, arXiv:2303.11366) with given tests.
"""

from desk_sandbox.code_tests import TestReport, TestResult
from desk_sandbox.scripts.names import wanted_names
from reflection_app.loops.attempt_effects import ReviewReason, RunTests
from reflection_app.loops.attempts import Waits, ask_reviewer, confirm, end_by, make_attempt
from reflection_app.loops.code_answers import code_of
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.values import NO_ANSWER, Message, assistant, system, user
from reflection_app.loops.verdicts import Judgement, Outcome, Referee, Verdict

MOST_FAILURES_SHOWN = 10
MOST_BROKEN_SHOWN = 3
LONGEST_FIELD = 1_000
# A sandbox run costs no money, so a run out of time may still test its last answer.
TESTS_TIMEOUT_S = 30.0


async def code_loop(spec: TaskSpec, run: Progress) -> Outcome:
    """Make attempts until the tests pass or a limit is reached. Every complete answer is tested.

    If tests are broken and nothing counts against an attempt, another attempt could show no more. A reviewer then
    decides.
    """
    assert spec.tests is not None
    messages: tuple[Message, ...] = (system(prompt("code_system")), user(spec.objective))
    for number in range(1, spec.limits.max_iterations + 1):
        answer = await make_attempt(spec, run, number=number, messages=messages)
        if number in run.unfinished:
            messages = (*messages, assistant(answer), user(prompt("cut_off_next")))
            continue
        code, wanted = code_under(spec, answer)
        report = await run.perform(
            RunTests(
                key=f"attempt-{number}/tests",
                attempt=number,
                code=code,
                tests=spec.tests,
                timeout_s=TESTS_TIMEOUT_S,
                wanted=wanted,
            )
        )
        judgement = await run.record(judge_tests(report, attempt=number), key=f"attempt-{number}/verdict")
        if report.settles_nothing and judgement.referee is not Referee.PERSON:
            if not spec.review_policy.unsettled_waits and not spec.requires_review:
                run.why_unverified = " ".join(words_on_broken(report))
                return Outcome.UNVERIFIED
            decision = await ask_reviewer(run, judgement, Waits(ReviewReason.BROKEN_TESTS, why=words_on_broken(report)))
            if decision.verdict is not Verdict.REVISE:
                return Outcome.SUCCEEDED if decision.verdict is Verdict.PASS else Outcome.REJECTED
            messages = (*messages, assistant(answer or NO_ANSWER), user(sent_back(run.judgements[-1])))
            continue
        judgement = await confirm(spec, run, judgement)
        if (end := end_by(judgement, run)) is not None:
            return end
        told = sent_back(judgement) if judgement.referee is Referee.PERSON else failures_prompt(report)
        messages = (*messages, assistant(answer or NO_ANSWER), user(told))
    return Outcome.EXHAUSTED


def code_under(spec: TaskSpec, answer: str) -> tuple[str, tuple[str, ...] | None]:
    """Return the code in `answer` to test, and the undefined names that a test script requires of it.

    The names are None if the tests are no script.
    """
    assert spec.tests is not None
    script, entry_point = spec.tests.script, spec.tests.entry_point
    code = code_of(answer, entry_point=entry_point)
    if not script:
        return code, None
    return code, wanted_names(script, code=code, entry_point=entry_point, objective=spec.objective)


def judge_tests(report: TestReport, *, attempt: int) -> Judgement:
    """Return PASS if every counted test passed, else REVISE. The score is the share that passed.

    Confidence is 1, or 0 if broken tests leave the result open.
    """
    return Judgement(
        attempt=attempt,
        referee=Referee.TESTS,
        verdict=Verdict.PASS if report.counted and not report.failed else Verdict.REVISE,
        score=report.score,
        confidence=0.0 if report.settles_nothing else 1.0,
        tests=report,
    )


def words_on_broken(report: TestReport) -> tuple[str, ...]:
    """Return sentences for reviewers: how many tests are broken, and the errors of the first ones."""
    broken = report.broken
    counts = (
        f"{len(broken)} of {report.total} tests fail by themselves, whatever the code is, so they say nothing of it."
    )
    rest = f"The rest passed: {report.counted}." if report.counted else ""
    errors = (f"{result.name}: {result.error}"[:LONGEST_FIELD] for result in broken[:MOST_BROKEN_SHOWN])
    return (counts, *filter(None, (rest,)), *errors)


def failures_prompt(report: TestReport) -> str:
    """Return the prompt that lists the failed tests: name, input, expected, actual and error of each."""
    shown = failures_in_words(report.failed)
    return prompt("code_failures", failed=len(report.failed), total=report.counted, failures=shown)


def sent_back(judgement: Judgement, *, name: str = "code_sent_back") -> str:
    """Return the prompt for an attempt that a reviewer sent back."""
    problems = [f"- {issue.in_words}" for issue in judgement.issues]
    problems += [f"- {suggestion}" for suggestion in judgement.feedback.suggestions]
    return prompt(name, problems="\n".join(problems) or "- No reason was given.")


def failures_in_words(failures: tuple[TestResult, ...]) -> str:
    """Return the first failures in full, and the number of further ones."""
    parts = []
    for result in failures[:MOST_FAILURES_SHOWN]:
        fields = {
            "Test": result.name,
            "Input": result.input,
            "Expected": result.expected,
            "Actual": result.actual,
            "Error": result.error or (result.reason.value if result.reason else ""),
        }
        parts.append("\n".join(f"{name}: {text[:LONGEST_FIELD]}" for name, text in fields.items() if text))
    left_out = len(failures) - MOST_FAILURES_SHOWN
    return "\n\n".join([*parts, f"({left_out} more failed.)"] if left_out > 0 else parts)
