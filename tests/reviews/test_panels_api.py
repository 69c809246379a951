"""Blind reviewers over REST: nobody is told what others said before the last has spoken."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reflection_app.core.models import Role, Scope
from reflection_app.reviews.models import Panel, Review
from tests.api.caller import Caller, assert_problem, make_caller
from tests.factories import make_member
from tests.reviews.panels import SECRET_REASON, open_panel, panel_project

pytestmark = pytest.mark.django_db(transaction=True)
ALL: list[str] = [Scope.ADMIN]
REVIEWER: list[str] = [Scope.REVIEWS_WRITE]


def callers(panel: Panel, number: int) -> list[Caller]:
    return [make_caller(panel.project, ALL, made_by=make_member(panel.project, Role.ADMIN)) for _ in range(number)]


def decided(caller: Caller, **decision: Any) -> dict[str, Any]:
    """The answer to deciding the next review."""
    claimed = caller.post("reviews/claim").body
    answer = caller.post(
        f"reviews/{claimed['review']['id']}/decision", {"lease_token": claimed["lease_token"]} | decision
    )
    assert answer.status == 200, answer.body
    body: dict[str, Any] = answer.body
    return body


SENT_BACK = {"decision": "overrule", "verdict": "REVISE", "reason": SECRET_REASON}


def everything(caller: Caller, panel: Panel) -> str:
    """All that a key may read of the run and its reviews."""
    seats = Review.objects.filter(panel=panel)
    paths = ["reviews", "runs", f"runs/{panel.run_id}", *(f"reviews/{seat.pk}" for seat in seats)]
    paths += [f"runs/{panel.run_id}/{part}" for part in ("steps", "attempts", "graph", "events")]
    return json.dumps([caller.get(path).body for path in paths])


def test_nothing_that_can_be_read_tells_what_another_has_said() -> None:
    panel = open_panel()
    giver, other = callers(panel, 2)
    before = everything(other, panel)
    decided(giver, **SENT_BACK)
    after = everything(other, panel)
    assert SECRET_REASON not in after
    assert after.count('"REVISE"') == before.count('"REVISE"') == 0
    assert '"overrule"' not in after
    assert SECRET_REASON in everything(giver, panel)


def test_how_many_have_spoken_is_told_and_ones_own_opinion() -> None:
    panel = open_panel()
    giver, other = callers(panel, 2)
    mine = decided(giver, **SENT_BACK)
    assert (mine["state"], mine["decision"]["reason"]) == ("decided", SECRET_REASON)
    assert [one["verdict"] for one in mine["panel"]["opinions"]] == ["REVISE"]

    seen = other.get(f"reviews/{mine['id']}").body
    assert (seen["state"], seen["decision"], seen["panel"]["opinions"]) == ("decided", None, [])
    assert (seen["panel"]["wanted"], seen["panel"]["given"], seen["panel"]["agreed"]) == (3, 1, None)


def test_claiming_what_another_has_decided_does_not_tell_the_decision() -> None:
    panel = open_panel()
    giver, other = callers(panel, 2)
    mine = decided(giver, **SENT_BACK)
    answer = other.post("reviews/claim", {"review_id": mine["id"]})
    assert_problem(answer, 409)
    assert "overrule" not in json.dumps(answer.body)


def test_a_list_with_panels_takes_as_many_queries_for_many_as_for_one() -> None:
    project = panel_project()
    caller = make_caller(project, ALL)
    counts = []
    for number in (1, 2, 3):
        open_panel(project)
        caller.get("reviews")
        with CaptureQueriesContext(connection) as asked:
            assert len(caller.get("reviews").body["results"]) == 3 * number
        counts.append(len(asked))
    assert len(set(counts)) == 1


def test_a_key_takes_its_own_opinion_back_and_no_other_key_does() -> None:
    panel = open_panel()
    giver = make_caller(panel.project, REVIEWER)
    other = make_caller(panel.project, REVIEWER)
    mine = decided(giver, **SENT_BACK)
    assert_problem(other.post(f"reviews/{mine['id']}/undo", {}), 403)
    assert giver.post(f"reviews/{mine['id']}/undo", {}).status == 200
    assert Review.objects.get(pk=mine["id"]).opinion is None
