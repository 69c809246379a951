import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from reflection_app.core.models import Scope
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, Step
from reflection_app.runs.recorded_steps import MOST_STEPS
from tests.api.caller import Caller, assert_problem, make_caller
from tests.api.stories import finished_run, waiting_review
from tests.runs.critiques import critique
from tests.runs.scripts import RIGHT, WRONG, code_run, scripted_run

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_graph_of_a_text_that_was_sent_back_once(caller: Caller) -> None:
    answers = {
        "attempt-1/answer": "first",
        "attempt-1/critique": critique(40),
        "attempt-2/answer": "second",
        "attempt-2/critique": critique(90, approved=True),
    }
    caller.project.review_policy = {"audit_share": 0}
    run = scripted_run(answers, project=caller.project, mode="actor_critic")
    advance(run.pk)
    graph = caller.get(f"runs/{run.pk}/graph").body
    assert [(node["id"], node["kind"], node["verdict"]) for node in graph["nodes"]] == [
        ("task", "task", None),
        ("step-1", "attempt", None),
        ("step-2", "validation", "REVISE"),
        ("step-5", "attempt", None),
        ("step-6", "validation", "PASS"),
        ("outcome", "outcome", None),
    ]
    assert [(edge["from"], edge["to"], edge["label"]) for edge in graph["edges"]] == [
        ("task", "step-1", "led_to"),
        ("step-1", "step-2", "failed: score 40"),
        ("step-2", "step-5", "rewound"),
        ("step-5", "step-6", "validated"),
        ("step-6", "outcome", "led_to"),
        ("step-2", "step-5", "fixed"),
    ]
    assert graph["steps_left_out"] == 0
    best = graph["nodes"][3]
    assert (best["label"], best["step"], best["attempt"], best["is_best"]) == ("Attempt 2", 5, 2, True)


def test_the_graph_of_code_tells_how_many_tests_failed(caller: Caller) -> None:
    run = code_run({"attempt-1/answer": WRONG, "attempt-2/answer": RIGHT}, project=caller.project)
    advance(run.pk)
    graph = caller.get(f"runs/{run.pk}/graph").body
    labels = [edge["label"] for edge in graph["edges"]]
    assert labels == ["led_to", "failed: 1 of 2 tests", "rewound", "validated", "led_to", "fixed"]


def test_a_run_that_waits_for_a_person_has_an_open_end(caller: Caller) -> None:
    review = waiting_review(caller.project)
    last = caller.get(f"runs/{review.run_id}/graph").body["nodes"][-1]
    assert (last["kind"], last["state"]) == ("review", "waiting")


def test_a_run_that_did_nothing_yet_is_its_task(caller: Caller) -> None:
    run = code_run({}, project=caller.project)
    graph = caller.get(f"runs/{run.pk}/graph").body
    assert [node["kind"] for node in graph["nodes"]] == ["task"]
    assert graph["edges"] == []


def test_it_is_nobody_elses(caller: Caller) -> None:
    run = finished_run(caller.project)
    assert_problem(make_caller().get(f"runs/{run.pk}/graph"), 404)
    assert_problem(make_caller(caller.project, scopes=[Scope.TASKS_WRITE]).get(f"runs/{run.pk}/graph"), 403)


def test_a_parameter_that_is_none_is_refused(caller: Caller) -> None:
    run = finished_run(caller.project)
    assert_problem(caller.get(f"runs/{run.pk}/graph", depth=3), 400)


def test_a_very_long_run_is_bounded_and_takes_few_queries(
    caller: Caller, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    run = code_run({}, project=caller.project)
    _make_steps(run, MOST_STEPS + 5)
    caller.get("runs")
    with django_assert_max_num_queries(4):
        graph = caller.get(f"runs/{run.pk}/graph").body
    assert graph["steps_left_out"] == 5
    assert len(graph["nodes"]) == MOST_STEPS + 1
    assert graph["nodes"][-1]["step"] == MOST_STEPS + 5


def _make_steps(run: Run, count: int) -> None:
    Step.objects.bulk_create(
        Step(run=run, seq=seq, key=f"note-{seq}", kind="note", state="done", request={}, started_at=run.created_at)
        for seq in range(1, count + 1)
    )
