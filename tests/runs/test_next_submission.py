"""What an outside agent is told of its revised output: ready for the critic, or what is left."""

import json

import pytest

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given
from tests.api.caller import Caller
from tests.loops.protocol.playing import PLAN, REFLECTION, papers
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db

SAID = {
    f"attempt-{number}/{part}": json.dumps(said)
    for number in (1, 2)
    for part, said in (("reflect", REFLECTION), ("plan", PLAN))
}


@pytest.fixture
def caller() -> Caller:
    judged = {"attempt-1/critique": critique(40), "attempt-3/critique": critique(90, approved=True)}
    model = register_script("next-submission", SAID | judged)
    return given.caller(given.project(models_by_role={"default": model}, review_policy={"audit_share": 0}))


def hand_in(caller: Caller, run_id: str, content: str) -> None:
    assert caller.post(f"runs/{run_id}/attempts", {"content": content}).status == 202
    advance(Run.objects.get(pk=run_id).pk)


def test_an_agent_whose_revision_misses_requirements_is_told_that_it_goes_round_again_and_what_remains(
    caller: Caller,
) -> None:
    task = {
        "objective": "Collect five papers.",
        "agent": "academic-researcher",
        "execution": "external",
        "requirements": {"counts": [{"path": "papers", "min": 5}]},
        "limits": {"token_budget": 200_000},
    }
    run_id = caller.post("tasks", task).body["run"]["id"]
    advance(Run.objects.get(pk=run_id).pk)
    hand_in(caller, run_id, papers(3))
    asked = caller.get(f"runs/{run_id}").body["next"]
    assert (asked["attempt"], asked["submission"]) == (2, None)

    hand_in(caller, run_id, papers(4))
    asked = caller.get(f"runs/{run_id}").body["next"]
    assert asked["submission"] == {
        "status": "needs_another_iteration",
        "remaining_issues": ["Minimum requirement not met: at least 5 items in papers. Found: 4."],
    }
    steps = caller.get(f"runs/{run_id}/steps").body["results"]
    [submitted] = [step["result"]["output"] for step in steps if step["key"] == "attempt-1/submit"]
    assert (submitted["status"], submitted["ready_for_re_evaluation"]) == ("needs_another_iteration", False)

    hand_in(caller, run_id, papers(5))
    # The same requirement was missed twice in the run: a person looks at what comes then.
    ended = caller.get(f"runs/{run_id}").body
    assert (ended["state"], ended["waiting_for"], ended["next"]) == ("waiting_review", "checkpoint", None)
