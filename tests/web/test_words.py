"""What pages call things: the same by the same name, and nobody blamed for what another said."""

import pytest
from django.test import Client

from reflection_app.loops.verdicts import Referee
from reflection_app.runs.models import Run, RunState, Step, Verdict
from reflection_app.runs.views.graph import TALLEST_OPEN, draw
from reflection_app.runs.views.live import fragments_of
from reflection_app.runs.views.story import tell
from reflection_app.web.template_filters import duration, first_sentence
from tests import given
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db
FINE = {"attempt-1/answer": "A text.", "attempt-1/critique": critique(91, approved=True)}


@pytest.mark.parametrize(
    ("seconds", "written"), [(120, "2 min"), (125, "2 min 5 s"), (7200, "2 h"), (7800, "2 h 10 min"), (59, "59 s")]
)
def test_durations_name_no_empty_unit(seconds: float, written: str) -> None:
    assert duration(seconds) == written


def test_a_sentence_does_not_end_within_its_brackets() -> None:
    rest = "It said: " + "x " * 100
    assert first_sentence(f"The critic gave none (approved: missing). {rest}")[0] == (
        "The critic gave none (approved: missing)."
    )
    assert first_sentence("Error message: " + "x " * 100)[0] == "Error message:"


def test_a_model_that_judged_itself_is_not_called_the_critic(client: Client) -> None:
    project = given.unsure_project("alone")
    review = given.waiting_review(project)
    Verdict.objects.filter(pk=review.verdict_id).update(referee=Referee.SELF)
    given.logged_in(client, project)
    for path in ("", "reviews/", f"reviews/{review.pk}/", f"runs/{review.run_id}/"):
        page = client.get(f"/p/alone/{path}").text
        assert "Low model confidence" in page, path
        assert "Low critic confidence" not in page, path


def test_a_graph_that_would_fill_the_first_screen_waits_to_be_opened() -> None:
    run = given.submitted_run(given.unsure_project("tall"))
    for seq in range(1, 9):
        fields = {"key": f"attempt-1/call-{seq}", "kind": "call_tool", "request": {}, "state": "failed"}
        Step.objects.create(run=run, seq=seq, started_at=run.created_at, **fields)
    graph = draw(run)
    assert graph.layout.height > TALLEST_OPEN
    assert not graph.is_open


def test_a_page_that_was_opened_early_gets_its_graph_with_the_first_step() -> None:
    project = given.unsure_project("early")
    run = given.submitted_run(project)
    Run.objects.update(state=RunState.RUNNING)
    Step.objects.create(
        run=run, seq=1, key="attempt-1/answer", kind="generate", request={}, state="started", started_at=run.created_at
    )
    run.refresh_from_db()
    membership = given.member(project).memberships.get(project=project)
    graph = [part.html for part in fragments_of(tell(run), membership=membership) if part.place == "run-graph"]
    assert "Attempt" in graph[0]
    assert " hidden>" not in graph[0]
