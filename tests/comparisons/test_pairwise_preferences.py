"""What people preferred blindly is among the preferences, in its place in time."""

from typing import Any

import pytest

from reflection_app.comparisons.judging import undo_judgement
from reflection_app.comparisons.models import Preference
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Scope
from reflection_app.runs.models import Run
from tests import given
from tests.api.caller import Caller
from tests.comparisons.pairs import choice_for, claimed, judge_of, make_set, said
from tests.comparisons.test_pairing import answered
from tests.metrics.settled import let_settle

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def caller() -> Caller:
    return given.caller(scopes=[Scope.ADMIN])


def rows_of(caller: Caller, **query: Any) -> list[dict[str, Any]]:
    let_settle()
    answer = caller.get("datasets/preferences", **query)
    assert answer.status == 200, answer.body
    rows: list[dict[str, Any]] = answer.body["results"]
    return rows


def preferred(project: Project, side: str, *, actor: Actor | None = None) -> Any:
    actor = actor or judge_of(project)
    seat = claimed(project, actor=actor)
    return said(seat, choice_for(seat, side) if side else Preference.TIE, actor=actor)


def test_a_pair_of_a_pipeline_has_no_run(caller: Caller) -> None:
    make_set(caller.project)
    judged = preferred(caller.project, "b")
    (row,) = rows_of(caller)
    assert row["id"] == str(judged.pk)
    assert row["source"] == "pairwise"
    assert (row["chosen"], row["rejected"]) == ("Answer 1 of the other.", "Answer 1 of the one.")
    assert [row[name] for name in ("run_id", "task_id", "mode", "chosen_attempt", "rejected_run_id")] == [None] * 5
    assert rows_of(caller, agent="somebody") == []


def test_a_pair_of_runs_names_both(caller: Caller) -> None:
    project = caller.project
    project.review_policy = {"audit_share": 0}
    project.save()
    first, second = (answered(project, text, model=text, objective="Where?", agent="guide") for text in ("m-1", "m-2"))
    made = caller.post("comparisons", {"name": "All", "choose": {}})
    assert made.status == 201, made.body
    judged = preferred(project, "a")
    (row,) = rows_of(caller, agent="guide")
    chosen = Run.objects.get(attempts=judged.pair.attempt_a)
    assert {first.pk, second.pk} == {chosen.pk, Run.objects.get(attempts=judged.pair.attempt_b).pk}
    assert (row["run_id"], row["agent"], row["chosen_attempt"]) == (str(chosen.pk), "guide", 1)
    assert row["rejected_run_id"] in {str(first.pk), str(second.pk)} - {row["run_id"]}


def test_ties_keys_and_what_was_taken_back_prefer_nothing(caller: Caller) -> None:
    make_set(caller.project, 3)
    anna = judge_of(caller.project)
    preferred(caller.project, "", actor=anna)
    undo_judgement(preferred(caller.project, "a", actor=anna), actor=anna)
    key, _secret = given.api_key(caller.project, ["reviews:write"], made_by=given.member(caller.project))
    preferred(caller.project, "a", actor=Actor(api_key=key))
    assert rows_of(caller) == []


def test_pages_have_each_row_once_whatever_table_it_is_of(caller: Caller) -> None:
    make_set(caller.project, 4)
    anna = judge_of(caller.project)
    for _turn in range(2):
        preferred(caller.project, "a", actor=anna)
        preferred(caller.project, "b", actor=anna)
        run = given.finished_run(caller.project)
        Run.objects.filter(pk=run.pk).update(is_scripted=False)
    let_settle()
    whole = rows_of(caller)
    assert [row["source"] for row in whole] == ["pairwise", "pairwise", "critic", "pairwise", "pairwise", "critic"]
    for limit in (1, 2, 5):
        found, answer = [], caller.get("datasets/preferences", limit=limit)
        while True:
            found += answer.body["results"]
            if answer.body["next"] is None:
                break
            answer = caller.get(answer.body["next"])
        assert found == whole, limit
