"""Fixes that worked are remembered as pairs, counted right however many come at once, and used while reliable."""

import json
from typing import Any

import pytest
from django.db import transaction

from notebook_app.models import Entry
from reflection_app.core.models import Project
from reflection_app.loops.diagnosis.diagnoses import FixOutcome
from reflection_app.repairs.fix_pairs import best_fix, keep_outcome, reliability, uncount_outcome
from reflection_app.repairs.models import FixPair, ToolFailure
from tests import given
from tests.api.caller import Caller
from tests.notebook.at_once import at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return given.project()


def failure(project: Project, **fields: Any) -> ToolFailure:
    """A diagnosed failure that an outside agent reported."""
    action = {"remedy": "fix_and_retry", "action": "fix it", "modified_params": None, "fallback_tool": None}
    fields = {
        "tool": "lookup",
        "params": {"city": "Rome", "key": "s3cret"},
        "error_message": "no",
        "error_type": "parameter_error",
        "signature": "no",
        "symptoms": ["no"],
        "action": action | {"retry_delay_seconds": None, "alternative": ""},
    } | fields
    return ToolFailure.objects.create(project=project, **fields)


def told(failure: ToolFailure, *, worked: bool = True, by: str = "", **done: Any) -> FixPair | None:
    with transaction.atomic():
        return keep_outcome(failure, FixOutcome(worked=worked, **done), by=by)


def test_a_fix_that_failed_more_often_than_it_worked_is_not_used(project: Project) -> None:
    pair = told(failure(project), params={"city": "Roma", "key": "s3cret"})
    assert pair is not None
    known = best_fix(project.pk, tool="lookup", signature="no")
    assert known is not None
    assert known.fix_pair == str(pair.pk)
    for _ in range(2):
        told(failure(project, fix_pair=pair), worked=False)
    assert best_fix(project.pk, tool="lookup", signature="no") is None


def test_what_did_not_work_makes_no_pair_and_of_pairs_the_most_reliable_is_used(project: Project) -> None:
    assert told(failure(project), worked=False, delay_s=5) is None
    assert not FixPair.objects.filter(project=project).exists()
    told(failure(project), tool="search")
    for _ in range(3):
        told(failure(project), delay_s=5)
    known = best_fix(project.pk, tool="lookup", signature="no")
    assert known is not None
    assert (known.action.remedy, known.action.retry_delay_seconds, known.successes) == ("retry_later", 5, 3)
    without = best_fix(project.pk, tool="lookup", signature="no", without=[known.fix_pair])
    assert without is not None
    assert without.action.fallback_tool == "search"
    assert best_fix(given.project().pk, tool="lookup", signature="no") is None
    scores = [reliability(FixPair(successes=good, failures=bad)) for good, bad in ((9, 1), (1, 0), (1, 1))]
    assert scores == sorted(scores, reverse=True)


def test_an_outcome_that_is_not_what_was_advised_counts_for_what_was_done(project: Project) -> None:
    advised = told(failure(project), tool="search")
    action = {"remedy": "switch_tool", "action": "use search", "modified_params": None, "fallback_tool": "search"}
    of_pair = {"fix_pair": advised, "action": action | {"retry_delay_seconds": None, "alternative": ""}}
    done = told(failure(project, **of_pair), tool="lookup", params={"city": "Roma", "key": "s3cret"})
    followed = told(failure(project, **of_pair))
    assert advised is not None
    assert done is not None
    assert followed is not None
    assert done.pk != advised.pk
    assert followed.pk == advised.pk
    assert FixPair.objects.get(pk=advised.pk).successes == 2


def worked_before(project: Project, **fields: Any) -> None:
    """A failure that other parameters put right, as `by` told, or as a run of ours saw."""
    params, by = {"city": "Evil", "key": "s3cret"}, fields.pop("by", "")
    told(failure(project, **fields), params=params, by=by)


def values_for(project: Project, *, tool: str, asked_by: str = "") -> dict[str, Any] | None:
    known = best_fix(project.pk, tool=tool, signature="no", params={"city": "Rome", "key": "s3cret"}, asked_by=asked_by)
    assert known is not None
    return known.action.modified_params


def test_a_run_calls_with_no_values_that_only_an_agent_vouches_for(project: Project) -> None:
    for tool in ("transfer", "lookup"):
        worked_before(project, tool=tool, reported_by_label="key outside", by="key outside")
        assert values_for(project, tool=tool) is None


def test_what_an_agents_own_run_called_is_no_word_of_ours(project: Project) -> None:
    handed_in = given.submitted_run(project=project, execution="external").pk
    worked_before(project, tool="transfer", run_id=handed_in)
    assert values_for(project, tool="transfer") is None
    ours = given.submitted_run(project=project).pk
    worked_before(project, tool="transfer", run_id=ours, by="key outside")
    assert values_for(project, tool="transfer") is None
    worked_before(project, tool="transfer", run_id=ours)
    assert values_for(project, tool="transfer") == {"city": "Evil", "key": "s3cret"}


def test_an_agent_is_told_anothers_values_only_for_what_reads(project: Project) -> None:
    for tool in ("transfer", "lookup"):
        worked_before(project, tool=tool, reported_by_label="key one", by="key one")
    assert values_for(project, tool="lookup", asked_by="key two") == {"city": "Evil", "key": "s3cret"}
    assert values_for(project, tool="transfer", asked_by="key two") is None
    assert values_for(project, tool="transfer", asked_by="key one") == {"city": "Evil", "key": "s3cret"}


def test_a_fix_that_worked_is_offered_to_the_notebook_and_counted_each_time(project: Project) -> None:
    done: dict[str, Any] = {"params": {"city": "Roma", "key": "s3cret"}, "fix": "Write the city in its own language"}
    first, second = failure(project), failure(project)
    told(first, **done)
    told(second, **done)
    told(failure(project), worked=False, **done)
    (entry,) = Entry.objects.filter(project_id=project.pk)
    assert (entry.kind, entry.state, entry.occurrences) == ("fix_pair", "proposed", 2)
    assert entry.details["tool"] == "lookup"
    assert entry.details["fix"] == "Write the city in its own language"
    assert "s3cret" not in f"{entry.details}{entry.description}{entry.content}{entry.name}"
    assert {one.refs["tool_failure"] for one in entry.evidence.all()} == {str(first.pk), str(second.pk)}


def test_a_fix_whose_outcome_is_taken_back_is_no_longer_offered(project: Project) -> None:
    failures = [failure(project), failure(project)]
    done: dict[str, Any] = {"params": {"city": "Roma", "key": "s3cret"}}
    for one in failures:
        told(one, **done)
        one.worked, one.outcome = True, {"tool": "", "fix": "", "delay_s": None, **done}
        one.save()
    for left, one in zip((1, 0), failures, strict=True):
        with transaction.atomic():
            uncount_outcome(one)
        assert [entry.occurrences for entry in Entry.objects.filter(project_id=project.pk)] == [1] * left


@pytest.mark.django_db(transaction=True)
def test_outcomes_told_while_others_are_taken_back_wait_for_nobody_in_a_circle(project: Project) -> None:
    tools = ("one", "two", "three")
    done: dict[str, Any] = {"params": {"city": "Roma", "key": "s3cret"}}
    kept = [failure(project, tool=tool) for tool in tools]
    for one in kept:
        told(one, **done)
        one.worked, one.outcome = True, {"tool": "", "fix": "", "delay_s": None, **done}
        one.save()

    def act(turn: int) -> None:
        order = tools if turn % 2 else tools[::-1]
        with transaction.atomic():
            for tool in order:
                keep_outcome(failure(project, tool=tool), FixOutcome(worked=True, **done))

    at_once(act, range(8), threads=4)
    with transaction.atomic():
        for one in kept:
            uncount_outcome(one)
    assert set(Entry.objects.filter(project_id=project.pk).values_list("occurrences", flat=True)) == {8}


ERROR = "The stars allow no such number"


@pytest.fixture
def agent(caller: Caller) -> Caller:
    return caller


def reported(agent: Caller, params: dict[str, Any], **more: Any) -> Any:
    body = {"tool": "search_papers", "params": params, "error_message": ERROR} | more
    return agent.call("POST", "tool-failures", data=json.dumps(body)).body


def put_right(agent: Caller, failed: dict[str, Any], worked: dict[str, Any]) -> str:
    """The pair of a failure that these parameters put right."""
    answer = agent.post(f"tool-failures/{reported(agent, failed)['id']}/outcome", {"worked": True, "params": worked})
    assert answer.status == 200
    return str(answer.body["fix_pair"])


def test_a_bound_that_put_one_call_right_is_kept_to_by_the_next(agent: Caller) -> None:
    pair = put_right(agent, {"query": "a", "max_results": 900}, {"query": "a", "max_results": 100})
    said = reported(agent, {"query": "b", "max_results": 500})
    assert (said["source"], said["fix_pair"]) == ("fix_pair", pair)
    assert said["corrective_action"]["modified_params"] == {"query": "b", "max_results": 100}
    assert said["corrective_action"]["carried_over"] == ["max_results: 500 → 100"]


def test_what_was_learned_outlives_the_call_that_it_was_learned_from(agent: Caller) -> None:
    put_right(agent, {"q": "a"}, {"query": "a"})
    ToolFailure.objects.all().delete()
    assert reported(agent, {"q": "b"})["corrective_action"]["modified_params"] == {"query": "b"}


def test_what_is_taken_back_is_unlearned() -> None:
    project = given.project()
    first, second = (failure(project, params={"limit": n}) for n in (900, 800))
    for one, n in ((first, 900), (second, 800)):
        told(one, params={"limit": n - 700})
        one.worked, one.outcome = True, {"tool": "", "fix": "", "delay_s": None, "params": {"limit": n - 700}}
        one.save()
    assert [kept["failure"] for kept in FixPair.objects.get().learned] == [str(second.pk), str(first.pk)]
    with transaction.atomic():
        uncount_outcome(second)
    assert [kept["failure"] for kept in FixPair.objects.get().learned] == [str(first.pk)]


@pytest.mark.parametrize(("tool", "is_believed"), [("lookup", True), ("transfer", False)])
def test_nobody_elses_word_changes_what_a_writing_tool_is_called_with(tool: str, is_believed: bool) -> None:
    project = given.project()
    one = failure(project, tool=tool, params={"limit": 900}, reported_by_label="key one")
    told(one, params={"limit": 100}, by="key one")

    def learned(asked_by: str) -> bool:
        known = best_fix(project.pk, tool=tool, signature="no", params={"limit": 500}, asked_by=asked_by)
        assert known is not None
        return bool(known.learned)

    assert (learned("key one"), learned("key two"), learned("")) == (True, is_believed, False)


def test_what_a_run_of_ours_saw_is_used_by_the_next() -> None:
    project = given.project()
    told(failure(project, params={"limit": 900}, run_id=given.submitted_run(project=project).pk), params={"limit": 100})
    known = best_fix(project.pk, tool="lookup", signature="no", params={"limit": 500})
    assert known is not None
    assert [change.after for changes in known.learned for change in changes] == [100]
