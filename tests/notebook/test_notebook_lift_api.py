"""Lift, exposures and outcomes over REST: for whoever has the scope, of their own project alone."""

from uuid import uuid4

import pytest

from notebook_app.lift_list import exposures_of, lift_of
from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Scope
from tests import given, then
from tests.api.caller import Answer, Caller
from tests.notebook.exposed import approved_lesson, draw, fill

pytestmark = pytest.mark.django_db
NOTEBOOK = [Scope.NOTEBOOK_READ, Scope.NOTEBOOK_WRITE]


@pytest.fixture
def caller(db: None) -> Caller:
    return given.caller(scopes=NOTEBOOK)


def test_lift_is_told_with_arms_looks_and_claim(caller: Caller) -> None:
    harmful = approved_lesson(caller.project.pk, "A harmful one")
    quiet = approved_lesson(caller.project.pk, "Quiet")
    fill(harmful, given=(10, 90), withheld=(10, 10))
    answer = caller.get("notebook/lift")
    assert answer.status == 200
    assert answer.body["holdout_share"] == 0.1
    first, second = answer.body["results"]
    assert (first["entry_id"], first["claim"], first["next_look_at"]) == (str(harmful.id), "harms", 20)
    assert (first["given"]["outcomes"], first["given"]["successes"], first["withheld"]["outcomes"]) == (90, 10, 10)
    assert first["difference"]["low"] < first["difference"]["estimate"] < first["difference"]["high"] < 0
    (look,) = first["looks"]
    assert (look["size"], look["says"], look["p_value"] < look["level"]) == (10, "harms", True)
    assert (second["entry_id"], second["claim"], second["difference"]) == (str(quiet.id), "open", None)
    assert second["needs_runs"] == 6400


def test_lift_comes_page_by_page(caller: Caller) -> None:
    names = [f"Lesson {number}" for number in range(5)]
    for name in names:
        approved_lesson(caller.project.pk, name)
    found, address = [], "notebook/lift?limit=2"
    while address:
        page = caller.get(address).body
        found += [one["name"] for one in page["results"]]
        address = page["next"]
    assert found == names
    assert caller.get("notebook/lift", state="retired").body["results"] == []


def test_exposures_name_the_runs_of_the_project(caller: Caller) -> None:
    lesson = approved_lesson(caller.project.pk)
    run = given.submitted_run(caller.project)
    draw(caller.project.pk, str(run.pk), [lesson], draws=[0.05])
    draw(caller.project.pk, "agent-7/ticket-1", [lesson], draws=[0.5], is_counted=False)
    path = f"notebook/entries/{lesson.id}/exposures"
    (newest,) = caller.get(path, limit=1).body["results"]
    assert (newest["subject"], newest["run_id"], newest["withheld"], newest["counted"]) == (
        "agent-7/ticket-1",
        None,
        False,
        False,
    )
    (oldest,) = caller.get(caller.get(path, limit=1).body["next"]).body["results"]
    assert (oldest["run_id"], oldest["withheld"], oldest["draw"]) == (str(run.pk), True, 0.05)
    assert oldest["succeeded"] is None
    then.refused(given.caller(scopes=NOTEBOOK).get(path), 404)


def test_an_outside_agent_tells_corrects_and_takes_back(caller: Caller) -> None:
    lesson = approved_lesson(caller.project.pk)
    draw(caller.project.pk, "ticket-1", [lesson, approved_lesson(caller.project.pk)], draws=[0.5, 0.01])
    for succeeded in (True, False, None, True):
        answer = caller.post("notebook/outcomes", {"for": "ticket-1", "succeeded": succeeded})
        assert answer.status == 200
        assert answer.body == {"for": "ticket-1", "succeeded": succeeded, "lessons": 2}
        (exposure,) = exposures_of(caller.project.pk, lesson.id, limit=5).exposures
        assert exposure.succeeded is succeeded
    assert lift_of(caller.project.pk, lesson.id).given.successes == 1
    told = AuditEntry.objects.filter(action="notebook.outcome").order_by("created_at", "id").last()
    assert told is not None
    assert told.after == {"for": "ticket-1", "succeeded": True, "lessons": 2}


def test_what_is_no_work_of_the_agents_own_is_refused(caller: Caller) -> None:
    lesson = approved_lesson(caller.project.pk)
    run = given.submitted_run(caller.project)
    other = given.caller(scopes=NOTEBOOK)
    draw(caller.project.pk, str(run.pk), [lesson], draws=[0.5])
    draw(caller.project.pk, "ticket-1", [lesson], draws=[0.5])

    def told(by: Caller, **body: object) -> Answer:
        return by.post("notebook/outcomes", body)

    then.refused(told(caller, **{"for": str(run.pk), "succeeded": True}), 409)
    then.refused(told(caller, **{"for": str(run.pk).upper(), "succeeded": True}), 409)
    then.refused(told(caller, **{"for": "ticket-2", "succeeded": True}), 404)
    then.refused(told(caller, **{"for": str(uuid4()), "succeeded": True}), 404)
    then.refused(told(other, **{"for": "ticket-1", "succeeded": True}), 404)
    assert {one.succeeded for one in exposures_of(caller.project.pk, lesson.id, limit=5).exposures} == {None}
