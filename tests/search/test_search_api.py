"""`GET /api/v1/search`."""

import pytest

from reflection_app.core.models import Scope
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run
from tests import given, then
from tests.notebook.entries import make_entry
from tests.search.things import Things, make_things

pytestmark = pytest.mark.django_db
EVERY_KIND = {"runs", "reviews", "entries", "tickets", "reports", "sessions", "tool_failures"}


@pytest.fixture(scope="module")
def things(module_transaction: None) -> Things:
    return make_things()


def test_entries_need_a_scope_of_their_own(things: Things) -> None:
    make_entry(things.project, name="Another kettle", state="proposed")
    caller = given.caller(things.project, [Scope.RUNS_READ])
    assert {group["kind"] for group in caller.get("search", q="kettle").body["groups"]} == EVERY_KIND - {"entries"}
    refused = caller.get("search", q="kettle", kinds="runs,entries")
    then.refused(refused, 403)
    assert "notebook:read" in refused.body["detail"]
    reading = given.caller(things.project, [Scope.RUNS_READ, Scope.NOTEBOOK_READ])
    (group,) = reading.get("search", q="kettle", kinds="entries").body["groups"]
    assert [one["state"] for one in group["results"]] == ["approved"]
    curating = given.caller(things.project, [Scope.RUNS_READ, Scope.NOTEBOOK_WRITE, Scope.REVIEWS_WRITE])
    (group,) = curating.get("search", q="kettle", kinds="entries").body["groups"]
    assert [one["state"] for one in group["results"]] == ["approved", "proposed"]


def test_only_the_kinds_that_are_named_are_searched(things: Things) -> None:
    found = given.caller(things.project).get("search", q="kettle", kinds="tickets,sessions").body["groups"]
    assert [group["kind"] for group in found] == ["tickets", "sessions"]


@pytest.mark.parametrize(
    ("query", "field"),
    [({"q": "a" * 201}, "q"), ({"q": "a\x00"}, "q"), ({"q": "a", "kinds": "runs,pages"}, "kinds")],
)
def test_what_cannot_be_read_is_named(query: dict[str, str], field: str) -> None:
    answer = given.caller().get("search", **query)
    then.refused(answer, 400)
    assert then.named_fields(answer) == [field]


def test_what_is_longer_in_usual_letters_is_found_like_any_other() -> None:
    caller = given.caller()
    run = given.submitted_run(caller.project, external_id="\ufdfa" * 200)
    (group,) = caller.get("search", q="\ufdfa" * 200).body["groups"]
    assert [(one["id"], one["match"]) for one in group["results"]] == [(str(run.pk), "exact")]


def test_whoever_is_answered_with_a_run_knows_of_it(things: Things) -> None:
    # Of a decision that somebody knows of, none is taken back.
    Review.objects.filter(pk=things.review.pk).update(state="decided", decision="approve", decided_seq=2)
    Run.objects.filter(pk=things.review.run_id).update(last_event_seq=3, told_seq=0)
    given.caller(things.project).get("search", q="judge the kettle")
    assert Run.objects.get(pk=things.review.run_id).told_seq == 3
