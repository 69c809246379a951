"""An agent pipeline with feedback: work judged by tests, a repair, a diagnosed tool failure and a proposed lesson.

    DESK_URL=http://127.0.0.1:8000 DESK_KEY=rd_… python client/examples/pipeline.py

`make run` prints the address. Create a key under Settings → API keys with the scopes tasks:write, runs:read,
notebook:read and notebook:write. The agent's model is a list of fixed answers, so each run gives the same result.
Replace `answer` with your own agent.
"""

import os
import sys

from reflection_desk import Desk, DeskError
from reflection_desk.answers import NextAttempt, Run

TASK = "Write a Python function `median(numbers)` that returns the median of a non-empty list."
TESTS = {
    "language": "python",
    "entry_point": "median",
    "cases": [
        {"name": "odd", "args": [[3, 1, 2]], "expected": 2},
        {"name": "even", "args": [[4, 1, 3, 2]], "expected": 2.5},
    ],
}
# The first answer does not sort; the second one is correct.
ANSWERS = (
    """```python
def median(numbers):
    return numbers[len(numbers) // 2]
```""",
    """```python
def median(numbers):
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
```""",
)


def answer(next_attempt: NextAttempt, *, rules: str) -> str:
    """Return the agent's answer to the requested attempt. A real agent would use its messages and the team's rules."""
    print(f"  attempt {next_attempt.attempt}: {len(next_attempt.messages)} messages, {len(rules)} characters of rules")
    if next_attempt.verdict:
        # The prompt says which tests failed. Critics and reviewers also add issues to the verdict.
        print(f"    sent back: {next_attempt.verdict.verdict}, {next_attempt.prompt.splitlines()[0]}")
        for issue in next_attempt.verdict.issues:
            print(f"    {issue.severity}: {issue.description.splitlines()[0]}")
    return ANSWERS[min(next_attempt.attempt, len(ANSWERS)) - 1]


def work(desk: Desk) -> Run:
    """Submit a task, make attempts until its run ends, and return the run."""
    rules = desk.rules_prompt(n=5).text
    task = desk.submit_task(TASK, execution="external", kind="code_generation", agent="example-agent", tests=TESTS)
    assert task.run is not None
    print(f"task {task.id}, run {task.run.id}")
    run = desk.wait_for_run(task.run.id)
    while run.next is not None:
        number = run.next.attempt
        desk.hand_in_attempt(run.id, answer(run.next, rules=rules), attempt=number, wait_s=30)
        run = desk.wait_for_run(run.id)
    return run


def get_advice_on_a_failed_call(desk: Desk) -> None:
    """Report a failed tool call, follow the advice instead of repeating the call, and report the outcome."""
    failure = desk.report_tool_failure(
        "web_search",
        "HTTP 429: rate limit exceeded",
        params={"q": "median"},
        status=429,
        agent="example-agent",
        wait_s=30,
    )
    if failure.corrective_action is not None:
        print(f"  {failure.failed_tool}: {failure.corrective_action.action}")
        desk.report_fix_outcome(failure.id, worked=True, fix="waited for the time in Retry-After")


def learn(desk: Desk, run: Run) -> None:
    """Propose a lesson to the notebook, where a curator approves or rejects it."""
    proposal = desk.propose_entry(
        "lesson",
        "Sort before taking the middle",
        description="The median of an unsorted list was taken by position.",
        content="Sort a copy of the list first; with an even count, the median is the mean of the middle two.",
        agent="example-agent",
        category="code",
        evidence={"run": str(run.id)},
    )
    print(f"  lesson {'proposed' if proposal.is_new else 'counted again'}: {proposal.entry.state}")
    found = desk.recall("median of an unsorted list", limit=3)
    print(f"  recall returns {len(found.entries)} approved entries")


def main() -> int:
    with Desk(os.environ.get("DESK_URL", "http://127.0.0.1:8000"), os.environ.get("DESK_KEY", "")) as desk:
        try:
            run = work(desk)
            assert run.best_attempt is not None
            print(f"  {run.outcome} after {run.attempts} attempts; best is attempt {run.best_attempt.number}")
            get_advice_on_a_failed_call(desk)
            learn(desk, run)
        except DeskError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0 if run.outcome == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
