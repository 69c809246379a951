"""HumanEval problems with the answers that GPT-4 once gave, handed in as a batch and worked on by a worker."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.end_to_end.desk import PROJECT, Desk
from tests.end_to_end.playback import Playback, attempt_of, python, requests_for
from tests.openai_server import OpenAIServer

RECORDED = Path(settings.BASE_DIR) / "../shared/data/humaneval/gpt4_reflexion.jsonl"
MOST_ATTEMPTS = 3


@dataclass(frozen=True)
class Problem:
    """A recorded problem. `slips` tells that its first answer is replaced by a wrong one."""

    row: dict[str, Any]
    slips: bool

    @property
    def name(self) -> str:
        return str(self.row["task_id"])

    @property
    def is_solved(self) -> bool:
        return bool(self.row["is_solved"])

    @property
    def attempts(self) -> int:
        """How many attempts it must take."""
        return (2 if self.slips else 1) if self.is_solved else MOST_ATTEMPTS

    def answer(self, body: dict[str, Any]) -> str:
        """The recorded answer, or the wrong one that goes before it."""
        if self.slips and attempt_of(body) == 1:
            return python(f"{self.row['prompt']}    raise NotImplementedError('not yet')")
        return f"Here it is.\n\n{python(self.row['prompt'] + self.row['solution'])}"

    def task(self, first_line: str) -> dict[str, Any]:
        return {
            "objective": f"{first_line}Complete this function.\n\n{self.row['prompt']}",
            "external_id": self.name,
            "kind": "code_generation",
            "tests": {
                "entry_point": self.row["entry_point"],
                "script": f"{self.row['test']}\n\ncheck({self.row['entry_point']})\n",
            },
            "limits": {"max_iterations": MOST_ATTEMPTS, "time_budget_s": 120},
        }


def recorded_problems() -> list[Problem]:
    lines = RECORDED.read_text().splitlines()
    return [Problem(row=json.loads(line), slips=number % 2 == 1) for number, line in enumerate(lines)]


def check_story(desk: Desk, run_id: str, *, problem: Problem) -> None:
    """REST and the run's page tell every attempt of `problem`, its tests and its verdict."""
    attempts = desk.all_of(f"runs/{run_id}/attempts")
    verdicts = [attempt["verdicts"][0] for attempt in attempts]
    last = "PASS" if problem.is_solved else "REVISE"
    assert [attempt["number"] for attempt in attempts] == list(range(1, problem.attempts + 1))
    assert [len(attempt["verdicts"]) for attempt in attempts] == [1] * problem.attempts
    assert [verdict["verdict"] for verdict in verdicts] == ["REVISE"] * (problem.attempts - 1) + [last]
    assert all(verdict["referee"] == "tests" for verdict in verdicts)
    reports = [verdict["tests"]["results"] for verdict in verdicts]
    assert [all(test["passed"] for test in results) for results in reports] == [
        verdict["verdict"] == "PASS" for verdict in verdicts
    ]
    if problem.slips:
        assert "NotImplementedError" in json.dumps(reports[0])

    page = desk.browser.get(f"/p/{PROJECT}/runs/{run_id}/")
    assert page.status_code == 200
    for number in range(1, problem.attempts + 1):
        assert len(re.findall(rf"<h3>\s*Attempt {number}\s*</h3>", page.text)) == 1
    assert ("NotImplementedError" in page.text) == problem.slips


@pytest.mark.skipif(not RECORDED.exists(), reason=f"the recorded answers are not here: {RECORDED}")
def test_every_humaneval_problem_ends_as_recorded_and_once(
    desk: Desk, models: OpenAIServer, playback: Playback
) -> None:
    problems = recorded_problems()
    tasks = [problem.task(playback.add(problem.name, problem.answer)) for problem in problems]

    handed_in = desk.post("tasks/batch", {"tasks": tasks}, status=201)["results"]
    run_ids = [task["run"]["id"] for task in handed_in]
    runs = [desk.settled(run_id) for run_id in run_ids]

    ends = {problem.name: (run["outcome"], run["attempts"]) for problem, run in zip(problems, runs, strict=True)}
    assert ends == {
        problem.name: ("succeeded" if problem.is_solved else "exhausted", problem.attempts) for problem in problems
    }
    asked = {problem.name: len(requests_for(models, problem.name)) for problem in problems}
    assert asked == {problem.name: problem.attempts for problem in problems}
    assert [run["usage"]["llm_calls"] for run in runs] == [problem.attempts for problem in problems]
    for problem, task, run_id in zip(problems, handed_in, run_ids, strict=True):
        assert [run["id"] for run in desk.all_of("runs", task=task["id"])] == [run_id]
        check_story(desk, run_id, problem=problem)
