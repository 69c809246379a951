import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from reflection_app.runs import recorded_steps
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, Step
from tests import given
from tests.api.caller import Caller
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db


def test_the_graph_of_a_text_that_was_sent_back_once(caller: Caller) -> None:
    answers = {
        "attempt-1/answer": "first",
        "attempt-1/critique": critique(40),
        "attempt-2/answer": "second",
        "attempt-2/critique": critique(90, approved=True),
    }
    caller.project.review_policy = {"audit_share": 0}
    run = given.scripted_run(answers, project=caller.project, mode="actor_critic")
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


def test_a_very_long_run_is_bounded_and_takes_few_queries(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    monkeypatch.setattr(recorded_steps, "MOST_STEPS", 50)
    run = given.code_run({}, project=caller.project)
    _make_steps(run, 55)
    caller.get("runs")
    with django_assert_max_num_queries(4):
        graph = caller.get(f"runs/{run.pk}/graph").body
    assert graph["steps_left_out"] == 5
    assert len(graph["nodes"]) == 51
    assert graph["nodes"][-1]["step"] == 55


def _make_steps(run: Run, count: int) -> None:
    Step.objects.bulk_create(
        Step(run=run, seq=seq, key=f"note-{seq}", kind="note", state="done", request={}, started_at=run.created_at)
        for seq in range(1, count + 1)
    )
