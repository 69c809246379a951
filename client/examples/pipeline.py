"""An agent pipeline that takes part: it works, is judged by tests, repairs, asks about a failed tool, and learns.

    DESK_URL=http://127.0.0.1:8000 DESK_KEY=rd_… python client/examples/pipeline.py

`make run` prints the address; a key with the scopes tasks:write, runs:read, notebook:read and notebook:write is made
on the page Settings → Keys. The agent's "model" here is a list of answers, so that what happens is the same every time;
put your own in its place.
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
# The first forgets to sort; the second is right.
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
    """What your agent would make of the messages that the desk asks it to go on with, and of the team's rules."""
    print(f"  attempt {next_attempt.attempt}: {len(next_attempt.messages)} messages, {len(rules)} characters of rules")
    if next_attempt.verdict:
        # Tests say what failed in the prompt; a critic and people besides in the verdict's issues.
        print(f"    came back: {next_attempt.verdict.verdict}, {next_attempt.prompt.splitlines()[0]}")
        for issue in next_attempt.verdict.issues:
            print(f"    {issue.severity}: {issue.description.splitlines()[0]}")
    return ANSWERS[min(next_attempt.attempt, len(ANSWERS)) - 1]


def work(desk: Desk) -> Run:
    """Hands in a task, makes attempts until the desk is content, and answers with the finished run."""
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


def ask_about_a_failed_call(desk: Desk) -> None:
    """A tool failed: instead of trying it again blindly, the agent asks."""
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
        desk.report_fix_outcome(failure.id, worked=True, fix="waited as long as it asked for")


def learn(desk: Desk, run: Run) -> None:
    """What was learned is proposed to the notebook, where a curator decides about it."""
    proposal = desk.propose_entry(
        "lesson",
        "Sort before taking the middle",
        description="The median of an unsorted list was taken by position.",
        content="Sort a copy of the list first; with an even count, the median is the mean of the middle two.",
        agent="example-agent",
        category="code",
        evidence={"run": str(run.id)},
    )
    print(f"  lesson {'proposed' if proposal.is_new else 'counted once more'}: {proposal.entry.state}")
    found = desk.recall("median of an unsorted list", limit=3)
    print(f"  recall answers with {len(found.entries)} approved entries")


def main() -> int:
    with Desk(os.environ.get("DESK_URL", "http://127.0.0.1:8000"), os.environ.get("DESK_KEY", "")) as desk:
        try:
            run = work(desk)
            assert run.best_attempt is not None
            print(f"  {run.outcome} after {run.attempts} attempts; kept is attempt {run.best_attempt.number}")
            ask_about_a_failed_call(desk)
            learn(desk, run)
        except DeskError as error:
            print(f"the desk says: {error}", file=sys.stderr)
            return 1
    return 0 if run.outcome == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
