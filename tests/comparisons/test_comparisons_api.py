"""Blind comparisons over REST."""

from typing import Any

import pytest

from reflection_app.comparisons.models import Pair, Preference
from reflection_app.core.audit import Actor
from reflection_app.core.models import Role, Scope
from tests import given, then
from tests.api.caller import Caller
from tests.comparisons.pairs import claimed, judge_of, make_set, pair_of, said

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\u202e {{ 7*7 }} ' OR 1=1 --"


def judge(caller: Caller) -> Caller:
    """Another person's key for the same project."""
    return given.caller(caller.project, [Scope.REVIEWS_WRITE], made_by=given.member(caller.project, Role.REVIEWER))


def test_a_pipelines_pair_is_judged_and_rated(admin: Caller) -> None:
    made = admin.post("comparisons", {"name": "Nightly", "wanted": 2})
    assert made.status == 201
    assert made.headers["location"] == f"/api/v1/comparisons/{made.body['id']}"
    path = f"comparisons/{made.body['id']}"
    handed_in = admin.post(f"{path}/pairs", {"pairs": [pair_of(1), pair_of(2)]})
    assert (handed_in.status, len(handed_in.body["ids"])) == (201, 2)
    # Keys' judgements are no people's.
    key = Actor(api_key=given.caller(admin.project, [Scope.REVIEWS_WRITE], made_by=given.member(admin.project)).key)
    said(claimed(admin.project, actor=key), Preference.LEFT, actor=key)
    told = admin.get(path).body
    assert (told["pairs"], told["judged"], told["asked"], told["done"]) == (2, 1, 4, 0)
    assert admin.get("comparisons/ratings").body["judgements"] == 0


def test_ratings_are_null_where_none_fit(admin: Caller) -> None:
    made = make_set(admin.project)
    anna = judge_of(admin.project)
    said(claimed(admin.project, actor=anna), Preference.LEFT, actor=anna)
    rated = admin.get("comparisons/ratings", set=str(made.pk)).body
    assert (rated["judgements"], rated["decided"], rated["left_share"], rated["agreement"]) == (1, 1, 1.0, None)
    (group,) = rated["groups"]
    assert len(group["ahead"]) == 1
    assert [one["rating"] for one in group["contestants"]] == [None, None]


@pytest.mark.parametrize(
    ("pair", "field"),
    [
        ({}, "pairs.0.objective"),
        (pair_of(a="x", b="x"), "pairs.0"),
        (pair_of() | {"b": {"answer": "Answer 1 of the one.", "model": "z"}}, "pairs.0"),
        (pair_of() | {"a": {"answer": "  ", "model": "z"}}, "pairs.0.a.answer"),
        (pair_of() | {"a": {"answer": "x", "model": " "}}, "pairs.0.a.model"),
        (pair_of() | {"winner": "a"}, "pairs.0.winner"),
        (pair_of() | {"objective": "x\0"}, "pairs.0.objective"),
        (pair_of() | {"a": {"answer": "x" * 1_000_001, "model": "z"}}, "pairs.0.a.answer"),
    ],
)
def test_a_bad_pair_is_refused_with_its_field_and_none_is_kept(admin: Caller, pair: Any, field: str) -> None:
    made = make_set(admin.project, 0)
    answer = admin.post(f"comparisons/{made.pk}/pairs", {"pairs": [pair_of(7), pair][::-1]})
    then.refused(answer, 400)
    assert field in then.named_fields(answer)
    assert not Pair.objects.exists()
