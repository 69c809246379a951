"""Plans and calls of tools on the run page, whole and live."""

import json
import re

import pytest
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Project
from reflection_app.runs import advance as advancing
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, Step
from reflection_app.runs.views.live import fragments_of
from reflection_app.runs.views.protocol import plans_of
from reflection_app.runs.views.story import tell
from reflection_app.teams.tools import ToolInput, create_tool
from tests import given
from tests.loops.completeness.scenes import checked
from tests.loops.tool_playing import call_text, plan_text
from tests.runs.critiques import critique
from tests.runs.test_crashes import Killed, killing_after
from tests.runs.test_run_pages import ACTIVE

pytestmark = pytest.mark.django_db

BROKEN = json.dumps({"tool": "python", "arguments": {"code": "raise SystemExit('no such city')"}})
ANSWERS = {
    "attempt-1/plan/make": plan_text(("look", "crystal_ball", [])),
    "attempt-1/plan/revise-1": plan_text(("look", "python", []), ("pack", None, ["look"]), ("sum", None, [])),
    "attempt-1/step-1/arguments": BROKEN,
    "attempt-1/step-1/arguments-2": BROKEN,
    "attempt-1/step-1/arguments-2-anew": BROKEN,
    "attempt-1/step-3/answer": "Five shirts.",
    "attempt-1/completeness": checked(analysis="the shirts are counted"),
    "attempt-1/answer": "Five shirts; the weather is not known.",
    "attempt-2/plan/make": plan_text(("guess", None, ["sum"])),
    "attempt-2/step-1/answer": "Mild.",
    "attempt-2/completeness": checked(analysis="all is there"),
    "attempt-2/answer": "Five shirts, it is mild.",
    "attempt-2/critique": critique(91, approved=True),
}


def tooled_project(name: str, answers: dict[str, str]) -> Project:
    project = given.scripted_project(name, answers)
    create_tool(project, ToolInput(name="python", kind="builtin", config={"name": "python"}), actor=Actor())
    return project


def page_of(client: Client, run: Run) -> str:
    return given.logged_in(client, run.project).get(f"/p/{run.project.slug}/runs/{run.pk}/").text


@pytest.fixture(scope="module")
def run(module_transaction: None) -> Run:
    """A run that planned twice, the same for all tests."""
    run = given.advanced_run(tooled_project("planned", ANSWERS), mode="planning", tools=["python"])
    assert run.outcome == "succeeded"
    return run


def test_a_plan_under_way_tells_what_runs_and_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    run = given.submitted_run(tooled_project("under-way", ANSWERS), mode="planning", tools=["python"])
    with monkeypatch.context() as patched:
        killing_after(4, patched, advancing, "perform")  # two plans, the arguments and the first call
        with pytest.raises(Killed):
            advance(run.pk)
    run.refresh_from_db()

    [plan] = plans_of(run)
    assert [one.state for one in plan.steps] == ["running", "waiting", "waiting"]
    Step.objects.filter(run=run, state="started").update(state="abandoned")
    Run.objects.filter(pk=run.pk).update(state="finished", outcome="cancelled")
    run.refresh_from_db()
    [plan] = plans_of(run)
    assert [one.state for one in plan.steps][1:] == ["not_reached", "not_reached"]


def test_the_plan_is_a_fragment_of_the_live_page_just_as_the_page_shows_it(client: Client, run: Run) -> None:
    newest, first = plans_of(run)
    assert [one.state for one in newest.steps] == ["done"]
    assert [one.state for one in first.steps] == ["failed", "skipped", "done"]
    page = page_of(client, run)
    [drawn] = [
        fragment.html
        for fragment in fragments_of(tell(run), membership=Membership.objects.filter(project=run.project)[0])
        if fragment.place == "run-plan"
    ]
    assert drawn.startswith('<section id="run-plan"')
    assert "".join(drawn.split()) in "".join(page.split())


def test_hostile_plans_arguments_and_results_are_shown_as_text(client: Client) -> None:
    plan = json.dumps(
        {"steps": [{"id": given.HOSTILE[:60], "description": given.HOSTILE, "tool": "python", "requires": []}]}
    )
    shouting = call_text("python", code=f"print({given.HOSTILE!r})")
    answers = {"attempt-1/plan/make": plan, "attempt-1/step-1/arguments": shouting, "attempt-1/answer": "Done."}
    answers["attempt-1/critique"] = critique(90, approved=True)
    run = given.advanced_run(tooled_project("hostile-plan", answers), mode="planning", tools=["python"])
    page = page_of(client, run)
    assert "&lt;script&gt;alert(1)" in page
    assert not ACTIVE.search(re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL))
