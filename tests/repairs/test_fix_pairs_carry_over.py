"""A fix that worked for one call puts the next one right, as far as what changed carries over."""

import json
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from reflection_app.repairs.fix_pairs import best_fix, uncount_outcome
from reflection_app.repairs.models import FixPair, ToolFailure
from tests import given
from tests.api.caller import Caller
from tests.repairs.test_fix_pairs import failure, told
from tests.repairs.test_tool_failures_pages import page_of
from tests.repairs.tool_failures import report, tell

pytestmark = pytest.mark.django_db
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


def test_what_does_not_carry_over_is_told_in_words(agent: Caller) -> None:
    put_right(agent, {"query": "a", "max_results": 900}, {"query": "a", "max_results": 100})
    said = reported(agent, {"query": "b", "max_results": 50})
    assert (said["source"], said["corrective_action"]["modified_params"]) == ("fix_pair", None)
    assert (said["corrective_action"]["carried_over"], bool(said["corrective_action"]["action"])) == ([], True)


def test_the_tools_schema_has_the_last_word(agent: Caller) -> None:
    put_right(agent, {"q": "a"}, {"query": "a"})
    schema = {"type": "object", "additionalProperties": False, "properties": {"q": {"type": "string"}}}
    tools = [{"name": "search_papers", "parameters": schema}]
    assert reported(agent, {"q": "b"}, tools=tools)["corrective_action"]["modified_params"] is None
    assert reported(agent, {"q": "b"})["corrective_action"]["modified_params"] == {"query": "b"}


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


def test_a_page_says_which_pair_was_applied_and_how(client: Client) -> None:
    project = given.project("desk")
    given.logged_in(client, project)
    tell(report(project, params={"max_results": 900}, error_message=ERROR), params={"max_results": 100})
    again = report(project, params={"max_results": 500}, error_message=ERROR)
    page = page_of(client, again)
    assert f"<code>{again.fix_pair_id}</code>" in page
    assert "max_results: 500 → 100" in page
    in_words_alone = report(project, params={"max_results": 50}, error_message=ERROR)
    assert "it is known in words alone" in page_of(client, in_words_alone)
