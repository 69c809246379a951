"""Lists are read in their order from an index: no page sorts all that its project has."""

from typing import Any

import pytest
import yaml
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from reflection_app.core.models import Scope
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.reviews.queue import QueueView
from tests import given
from tests.api.caller import Caller
from tests.reviews.waiting_rows import waiting_rows

PATHS = yaml.load((settings.BASE_DIR / "docs/openapi.yaml").read_text(), Loader=yaml.CSafeLoader)["paths"]
# People make these one by one, so that a project has few.
FEW = {
    f"/api/v1/{name}"
    for name in (
        *("guidelines/versions", "invitations", "members", "rubric/versions"),
        *("secrets", "tools", "webhooks"),
    )
}
# Of one thing alone, of one state, or of a computed set of rows.
NARROWED = {f"/api/v1/{name}" for name in ("comments", "metrics/runs", "notebook/conflicts", "notebook/lift")}
LISTS = [
    path
    for path, calls in PATHS.items()
    if "{" not in path
    and path not in FEW | NARROWED
    and any(one["name"] == "cursor" for one in calls.get("get", {}).get("parameters", ()))
]


def plan_of(statement: str, *, analyze: bool = False) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN ({'ANALYZE, ' if analyze else ''}FORMAT JSON) {statement}")
        plan: dict[str, Any] = cursor.fetchone()[0][0]["Plan"]
    return plan


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """The plan's nodes, without those that are run for each row of a page."""
    inside = [one for one in plan.get("Plans", ()) if one["Parent Relationship"] != "SubPlan"]
    return [plan, *(node for one in inside for node in nodes(one))]


def page_query(caller: Caller, path: str, **query: Any) -> str:
    """The statement by which the list's rows were read: one more than the page has, in order."""
    with CaptureQueriesContext(connection) as captured:
        answer = caller.get(path, **query)
    assert answer.status == 200, answer.body
    return next(one["sql"] for one in captured.captured_queries if one["sql"].endswith("LIMIT 51"))


@pytest.mark.django_db
@pytest.mark.parametrize("path", LISTS)
def test_a_list_has_an_index_with_its_order(path: str) -> None:
    statement = page_query(given.caller(scopes=list(Scope)), path)
    with connection.cursor() as cursor:
        # Without rows any plan is cheap: only where there is no other way, it still sorts.
        for name in ("enable_sort", "enable_incremental_sort", "enable_seqscan", "enable_bitmapscan"):
            cursor.execute(f"SET LOCAL {name} = off")
    sorts = [node for node in nodes(plan_of(statement)) if "Sort" in node["Node Type"]]
    assert not sorts, sorts


# Of 4,500 reviews a third is decided, a tenth is an audit, and 20 are withdrawn.
OPEN, WITHDRAWN = 3_000, 20
# A filter that few rows fit may sort what it found.
MOST_SORTED = 600


@pytest.fixture
def many_reviews(transactional_db: None) -> Caller:
    caller = given.caller(scopes=list(Scope))
    made = [review.pk for review in waiting_rows(caller.project, OPEN * 3 // 2, audits_every=10)]
    Review.objects.filter(pk__in=made[::3]).update(
        state=ReviewState.DECIDED, decision="approve", decided_by_label="somebody", decided_at=Now()
    )
    Review.objects.filter(pk__in=made[1 : WITHDRAWN * 3 : 3]).update(state=ReviewState.WITHDRAWN)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return caller


def test_no_filter_of_the_reviews_makes_the_list_sort_most_of_them(many_reviews: Caller) -> None:
    filters: list[dict[str, Any]] = [
        {},
        *({"state": state.value} for state in ReviewState),
        *({"view": view.value} for view in QueueView),
        {"reason": "rejected"},
        {"reason": "rejected", "state": "decided"},
        {"verdict": "REVISE"},
        {"mode": "actor_critic"},
        {"kind": "creative_writing"},
        {"min_score": 10},
        {"max_score": 50, "state": "waiting"},
    ]
    too_much = {}
    for query in filters:
        statement = page_query(many_reviews, "reviews", **query)
        sorts = [node for node in nodes(plan_of(statement, analyze=True)) if "Sort" in node["Node Type"]]
        sorted_rows = max((node["Plans"][0]["Actual Rows"] for node in sorts), default=0)
        if sorted_rows > MOST_SORTED:
            too_much[str(query)] = sorted_rows
    assert not too_much
    first = page_query(many_reviews, "reviews")
    second = page_query(many_reviews, many_reviews.get("reviews").body["next"])
    # However many there are, a page reads its own rows and one more.
    for statement in (first, second):
        assert max(node["Actual Rows"] for node in nodes(plan_of(statement, analyze=True))) <= 51
