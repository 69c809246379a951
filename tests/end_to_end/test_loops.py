"""Every loop through the running desk: REST in, a worker, a model behind HTTP, and the named end out."""

import json
from itertools import count
from typing import Any

import pytest

from tests.end_to_end.desk import Desk
from tests.end_to_end.playback import Playback, python, requests_for
from tests.loops.completeness.scenes import checked
from tests.openai_server import OpenAIServer, ScriptedAnswers
from tests.runs.critiques import critique

_numbers = count(1)
PATIENT = {"time_budget_s": 60}
ADD_TESTS = {"entry_point": "add", "cases": [{"args": [2, 3], "expected": 5}, {"args": [-1, 1], "expected": 0}]}
RIGHT_ADD = python("def add(a: int, b: int) -> int:\n    return a + b")
WRONG_ADD = python("def add(a: int, b: int) -> int:\n    return a - b")
SATISFIED = json.dumps({"is_satisfactory": True, "issues": [], "confidence": 0.9})
NOT_SATISFIED = json.dumps({"is_satisfactory": False, "issues": ["Seven is missing."], "confidence": 0.9})
REFLECTION = json.dumps({"issues": ["a number left out"], "root_causes": ["haste"], "suggestions": ["count again"]})


class Case:
    """A task whose model answers are given in order."""

    def __init__(self, desk: Desk, models: OpenAIServer, playback: Playback, *answers: str) -> None:
        self.desk, self.models = desk, models
        self.name = f"loop-{next(_numbers)}"
        self.answers = ScriptedAnswers(answers)
        self.first_line = playback.add(self.name, self.answers)

    def run(self, objective: str, **task: Any) -> Any:
        """The run of this task once it has settled; every answer must have been asked for, and none too many."""
        return self.ended(self.desk.hand_in(objective=self.first_line + objective, limits=PATIENT, **task))

    def ended(self, run_id: str) -> Any:
        run = self.desk.settled(run_id)
        assert (self.answers.left, self.answers.overrun) == (0, 0), run
        return run

    @property
    def prompts(self) -> list[str]:
        return [request.body["messages"][-1]["content"] for request in requests_for(self.models, self.name)]


@pytest.fixture
def case(desk: Desk, models: OpenAIServer, playback: Playback) -> Any:
    return lambda *answers: Case(desk, models, playback, *answers)


def kinds_of(desk: Desk, run: Any) -> list[str]:
    return [step["kind"] for step in desk.all_of(f"runs/{run['id']}/steps")]


def ended(run: Any) -> tuple[str, str, int]:
    return run["mode"], run["outcome"], run["best_attempt"]["number"]


def test_reflexion_thinks_again_until_it_is_satisfied(case: Any) -> None:
    told = case("1 to 6, 8", NOT_SATISFIED, REFLECTION, "1 to 8", SATISFIED)
    assert ended(told.run("Count to eight.", mode="reflexion")) == ("reflexion", "succeeded", 2)
    assert "count again" in told.prompts[3]


def test_data_is_corrected_until_it_fits_its_schema(case: Any) -> None:
    schema = {"type": "object", "required": ["city"], "properties": {"population": {"type": "integer"}}}
    told = case('{"population": "many"}', '{"city": "Bern", "population": 134000}')
    run = told.run("The Swiss capital as JSON.", output_schema=schema)
    assert ended(run) == ("external_loop", "succeeded", 2)
    assert "$.population" in told.prompts[1]
    assert "city" in told.prompts[1]


def test_adaptive_classifies_and_code_without_tests_gets_some(case: Any, desk: Desk) -> None:
    kind = json.dumps({"task_kind": "code_generation", "confidence": 0.9, "why": "It asks for a function."})
    tests = python("assert add(1, 2) == 3\nassert add(0, 0) == 0\nassert add(-1, 1) == 5")
    run = case(kind, tests, RIGHT_ADD).run("def add(a: int, b: int) -> int: the sum")
    assert ended(run) == ("external_loop", "unverified", 1)
    assert "nothing shows that they are wrong: assert add(-1, 1) == 5" in run["error"]
    assert run["best_attempt"]["referee"] == "generated_tests"
    assert kinds_of(desk, run)[:3] == ["generate", "choose_loop", "generate"]


def test_a_wrong_test_of_a_model_is_left_out_where_the_tasks_own_example_shows_it(case: Any) -> None:
    kind = json.dumps({"task_kind": "code_generation", "confidence": 0.9, "why": "It asks for a function."})
    tests = python("assert add(1, 2) == 3\nassert add(0, 0) == 0\nassert add(-1, 1) == 5")
    run = case(kind, tests, RIGHT_ADD).run("def add(a: int, b: int) -> int: the sum, so that add(-1, 1) == 0")
    assert (ended(run), run["error"]) == (("external_loop", "succeeded", 1), None)


@pytest.mark.parametrize(
    ("kind", "mode", "answers"),
    [
        ("creative_writing", "actor_critic", ["A poem.", critique(90, approved=True)]),
        ("reasoning", "reflexion", ["42", SATISFIED]),
        ("nobody knows", "actor_critic", ["A thing.", critique(90, approved=True)]),
    ],
)
def test_adaptive_goes_by_what_the_task_is_about(case: Any, kind: str, mode: str, answers: list[str]) -> None:
    said = json.dumps({"task_kind": kind, "confidence": 0.9, "why": ""})
    assert ended(case(said, *answers).run("Do it.")) == (mode, "succeeded", 1)


def test_a_tool_call_is_corrected_and_both_calls_are_kept(case: Any, desk: Desk) -> None:
    wrong = json.dumps({"tool": "read_file", "arguments": {"path": "note.txt"}})
    right = json.dumps({"tool": "read_file", "arguments": {"path": "notes.txt"}})
    run = case(wrong, right).run(
        "Read the notes.",
        mode="external_loop",
        tools=["read_file"],
        files=[{"path": "notes.txt", "content": "The door is blue."}],
    )
    assert ended(run) == ("external_loop", "succeeded", 2)
    attempts = desk.all_of(f"runs/{run['id']}/attempts")
    assert ["note.txt" in attempts[0]["content"], "notes.txt" in attempts[1]["content"]] == [True, True]
    assert "The door is blue." in run["best_attempt"]["content"]


def test_a_plan_is_revised_and_carried_out_with_tools(case: Any, desk: Desk) -> None:
    def plan(requires: list[str]) -> str:
        steps = [
            {"id": "read", "description": "read the notes", "tool": "read_file", "requires": []},
            {"id": "tell", "description": "name the colour", "tool": None, "requires": requires},
        ]
        return json.dumps({"steps": steps})

    arguments = json.dumps({"tool": "read_file", "arguments": {"path": "notes.txt"}})
    complete = checked(analysis="The colour was read and named.")
    answers = ["Blue.", complete, "The door is blue.", critique(95, approved=True)]
    told = case(plan(["reed"]), plan(["read"]), arguments, *answers)
    run = told.run(
        "Which colour is the door?", tools=["read_file"], files=[{"path": "notes.txt", "content": "Door: blue."}]
    )
    assert ended(run) == ("planning", "succeeded", 1)
    assert "reed" in told.prompts[1]
    assert "Door: blue." in told.prompts[3]
    assert "Door: blue." in told.prompts[4]


def test_an_outside_agent_makes_the_attempts_and_is_told_what_failed(case: Any, desk: Desk) -> None:
    task = desk.post(
        "tasks", {"objective": "Write add(a, b).", "tests": ADD_TESTS, "execution": "external"}, status=201
    )
    run_id = task["run"]["id"]
    desk.wait_until(lambda: desk.get(f"runs/{run_id}")["state"] == "waiting_agent")
    first = desk.api.post(f"runs/{run_id}/attempts", params={"wait": 20}, json={"content": WRONG_ADD}).json()
    assert first["next"]["attempt"] == 2
    assert "Expected: 5" in first["next"]["prompt"]
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "cost_usd": "0.002"}
    last = desk.api.post(f"runs/{run_id}/attempts", params={"wait": 20}, json={"content": RIGHT_ADD, "usage": usage})
    run = last.json()["run"]
    assert (ended(run), last.json()["next"]) == (("external_loop", "succeeded", 2), None)
    assert (run["usage"]["llm_calls"], run["usage"]["prompt_tokens"]) == (0, 10)
    assert desk.api.post(f"runs/{run_id}/attempts", json={"content": "late"}).status_code == 409


def test_a_fork_with_another_verdict_ends_otherwise_and_leaves_its_parent_alone(case: Any, desk: Desk) -> None:
    told = case("A short poem.", critique(90, approved=True))
    parent = told.run("Write a poem.", mode="actor_critic")
    assert ended(parent) == ("actor_critic", "succeeded", 1)
    [verdict] = [step for step in desk.all_of(f"runs/{parent['id']}/steps") if step["kind"] == "record_verdict"]
    told.answers._answers.extend(["A longer poem.", critique(95, approved=True)])
    edited = verdict["result"] | {"verdict": "REVISE", "score": 40, "issues": [{"description": "It is too short."}]}
    fork = desk.decide(f"runs/{parent['id']}/fork", {"from_step": verdict["seq"], "result": edited}, status=201)
    child = told.ended(fork["id"])
    assert ended(child) == ("actor_critic", "succeeded", 2)
    assert (child["parent_id"], child["forked_from_step"]) == (parent["id"], verdict["seq"])
    assert "It is too short." in told.prompts[2]
    assert desk.get(f"runs/{parent['id']}") == parent | {"forks": [child["id"]]}
    assert child["usage"]["llm_calls"] == 2


def test_a_session_gets_reflections_as_it_happens(desk: Desk, models: OpenAIServer, playback: Playback) -> None:
    said = json.dumps({"on_track": False, "observations": [], "issues": [], "suggestions": ["Ask for the id first."]})
    first_line = playback.add("session", lambda _body: said)
    opened = desk.post(
        "transcripts",
        {"objective": f"{first_line}Book a flight.", "reflection": {"mode": "inline", "every_turns": 3}},
        status=201,
    )
    turns = [{"role": "user", "content": "Book it."}, {"role": "assistant", "content": "Which one?"}]
    answer = desk.api.post(f"transcripts/{opened['id']}/turns", params={"wait": 1}, json={"messages": turns}).json()
    assert (answer["turns"], answer["reflection"]) == (2, None)
    failure = {"role": "tool", "name": "book", "content": "Error: no such flight"}
    answer = desk.api.post(
        f"transcripts/{opened['id']}/turns", params={"wait": 20}, json={"messages": [failure]}
    ).json()
    assert "Ask for the id first." in json.dumps(answer["reflection"])
    assert len(requests_for(models, "session")) == 1
