"""The notebook over REST: proposals are counted, lists filtered, and only keys that may decide do."""

from typing import Any
from uuid import uuid4

import pytest

from reflection_app.core.models import Scope
from tests import given, then
from tests.api.caller import Caller
from tests.notebook.entries import make_entry

pytestmark = pytest.mark.django_db

RULE = {"kind": "rule", "name": "Dates", "content": "Write dates as 2026-01-31."}


@pytest.fixture
def pipeline() -> Caller:
    return given.caller(scopes=[Scope.NOTEBOOK_READ, Scope.NOTEBOOK_WRITE])


@pytest.fixture
def decider(pipeline: Caller) -> Caller:
    return given.caller(pipeline.project, [Scope.NOTEBOOK_WRITE, Scope.REVIEWS_WRITE])


def names(caller: Caller, **query: Any) -> list[str]:
    answer = caller.get("notebook/entries", **query)
    assert answer.status == 200, answer.body
    return [one["name"] for one in answer.body["results"]]


def test_entries_are_found_by_the_callers_own_session_id(pipeline: Caller) -> None:
    agent = given.caller(pipeline.project, [Scope.TASKS_WRITE])
    turns = [{"role": "user", "content": "Hello"}]
    sent = [agent.post("transcripts", {"external_id": "s-1", "messages": turns}).body["id"] for _ in range(2)]
    other = agent.post("transcripts", {"external_id": "s-2", "messages": turns}).body["id"]
    for name, session in zip(("One", "Two", "Other"), (*sent, other), strict=True):
        answer = pipeline.post(
            "notebook/entries", RULE | {"name": name, "content": name, "evidence": {"transcript": session}}
        )
        assert answer.status == 201, answer.body
    assert sorted(names(pipeline, session="s-1")) == ["One", "Two"]
    assert names(pipeline, session="s-2") == ["Other"]
    then.refused(pipeline.get("notebook/entries", session="s-3"), 404)
    lesson = {"kind": "lesson", "name": "Three", "evidence": {"session": "s-3"}}
    assert pipeline.post("notebook/entries", lesson).status == 201
    assert names(pipeline, session="s-3") == ["Three"]
    then.refused(given.caller(scopes=[Scope.NOTEBOOK_READ]).get("notebook/entries", session="s-1"), 404)
    then.refused(pipeline.get("notebook/entries", session="s-1", transcript=other), 400)


def test_entries_are_filtered_and_sorted(pipeline: Caller) -> None:
    project, run = pipeline.project, str(uuid4())
    anna = given.member(project)
    make_entry(project, name="seldom", occurrences=2, owner=anna, category="dates", agent="billing")
    make_entry(project, name="often", occurrences=9, state="approved", tags=["x", "y"])
    make_entry(project, name="found in the run", kind="rule").evidence.create(
        project_id=project.pk, refs={"run": run, "attempt": "1"}, refs_key="k"
    )
    make_entry(given.caller().project, name="of another project")
    assert names(pipeline) == ["found in the run", "often", "seldom"]
    assert names(pipeline, sort="occurrences")[:2] == ["often", "seldom"]
    assert names(pipeline, sort="stale") == ["often"]
    assert names(pipeline, state="approved", tag="y") == ["often"]
    assert (
        names(pipeline, kind="rule") == names(pipeline, run=run) == names(pipeline, q="THE run") == ["found in the run"]
    )
    assert names(pipeline, owner=anna.username) == names(pipeline, category="dates", agent="billing") == ["seldom"]
    assert names(pipeline, owner="") == ["found in the run", "often"]
    assert names(pipeline, flagged="true") == []
    first = pipeline.get("notebook/entries", sort="occurrences", limit=2)
    rest = pipeline.get(first.body["next"])
    assert [one["name"] for one in rest.body["results"]] == ["found in the run"]


def test_versions_that_there_are_not_are_refused(decider: Caller) -> None:
    path = f"notebook/entries/{make_entry(decider.project).pk}"
    then.refused(decider.post(f"{path}/restore", {"version": 9}), 400)
    then.refused(decider.get(f"{path}/versions/diff", before=9), 404)


def test_merging_into_an_entry_of_another_project_names_the_field(decider: Caller) -> None:
    entry, elsewhere = make_entry(decider.project), make_entry(given.caller().project)
    answer = decider.post(f"notebook/entries/{entry.pk}/merge", {"into": str(elsewhere.pk)})
    then.refused(answer, 400)
    assert answer.body["errors"][0]["field"] == "into"
