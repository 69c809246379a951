"""Code against the tests that came with the task: written, run, and rewritten with the failures in view.

After "External-Loop" of the design seeds and Reflexion (Shinn et al., 2023, arXiv:2303.11366) with given tests.
"""

from reflection_app.loops.attempts import make_attempt
from reflection_app.loops.code_answers import code_of
from reflection_app.loops.code_tests import TestReport, TestResult
from reflection_app.loops.effects import RunTests
from reflection_app.loops.ends import Outcome
from reflection_app.loops.messages import NO_ANSWER, Message, assistant, system, user
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.settling import end_by
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.verdicts import Judgement, Referee, Verdict

MOST_FAILURES_SHOWN = 10
LONGEST_FIELD = 1_000
# A sandbox run costs no money; even a run that is out of time may see whether its last answer was right.
TESTS_TIMEOUT_S = 30.0


async def code_loop(spec: TaskSpec, run: Progress) -> Outcome:
    """Attempts until the tests pass or a limit is reached. Tests are run on every whole answer."""
    assert spec.tests is not None
    messages: tuple[Message, ...] = (system(prompt("code_system")), user(spec.objective))
    for number in range(1, spec.limits.max_iterations + 1):
        answer = await make_attempt(spec, run, number=number, messages=messages)
        if number in run.unfinished:
            messages = (*messages, assistant(answer), user(prompt("cut_off_next")))
            continue
        report = await run.perform(
            RunTests(
                key=f"attempt-{number}/tests",
                attempt=number,
                code=code_of(answer, entry_point=spec.tests.entry_point),
                tests=spec.tests,
                timeout_s=TESTS_TIMEOUT_S,
            )
        )
        judgement = await run.record(judge_tests(report, attempt=number), key=f"attempt-{number}/verdict")
        if (end := end_by(judgement, run)) is not None:
            return end
        messages = (*messages, assistant(answer or NO_ANSWER), user(failures_prompt(report)))
    return Outcome.EXHAUSTED


def judge_tests(report: TestReport, *, attempt: int) -> Judgement:
    """PASS if every test passed, else REVISE; the score is the share that passed. Tests are sure of themselves."""
    return Judgement(
        attempt=attempt,
        referee=Referee.TESTS,
        verdict=Verdict.PASS if report.all_passed else Verdict.REVISE,
        score=report.score,
        confidence=1.0,
        tests=report,
    )


def failures_prompt(report: TestReport) -> str:
    """What the model is told of the failed tests: each one's name, input, expected, actual and error."""
    shown = told_failures(report.failures)
    return prompt("code_failures", failed=len(report.failures), total=report.total, failures=shown)


def told_failures(failures: tuple[TestResult, ...]) -> str:
    """The first failures in full, and how many more there are."""
    shown = "\n\n".join(_failure(result) for result in failures[:MOST_FAILURES_SHOWN])
    left_out = len(failures) - MOST_FAILURES_SHOWN
    return f"{shown}\n\n({left_out} more failed.)" if left_out > 0 else shown


def _failure(result: TestResult) -> str:
    fields = {
        "Test": result.name,
        "Input": result.input,
        "Expected": result.expected,
        "Actual": result.actual,
        "Error": result.error or (result.reason.value if result.reason else ""),
    }
    return "\n".join(f"{name}: {text[:LONGEST_FIELD]}" for name, text in fields.items() if text)
