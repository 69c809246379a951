"""Blind comparisons over REST."""

from typing import Any

import pytest

from reflection_app.comparisons.models import Pair, Preference
from reflection_app.core.audit import Actor
from reflection_app.core.models import Role, Scope
from tests.api.caller import Caller, assert_problem, fields, make_caller
from tests.comparisons.pairs import claimed, judge_of, make_set, pair_of, said
from tests.factories import make_member, make_project

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<script>alert(1)</script>\u202e {{ 7*7 }} ' OR 1=1 --"


@pytest.fixture
def admin() -> Caller:
    return make_caller(scopes=[Scope.ADMIN])


def judge(caller: Caller) -> Caller:
    """Another person's key for the same project."""
    return make_caller(caller.project, [Scope.REVIEWS_WRITE], made_by=make_member(caller.project, Role.REVIEWER))


def test_a_pipelines_pair_is_judged_and_rated(admin: Caller) -> None:
    made = admin.post("comparisons", {"name": "Nightly", "wanted": 2})
    assert made.status == 201
    assert made.headers["location"] == f"/api/v1/comparisons/{made.body['id']}"
    path = f"comparisons/{made.body['id']}"
    handed_in = admin.post(f"{path}/pairs", {"pairs": [pair_of(1), pair_of(2)]})
    assert (handed_in.status, len(handed_in.body["ids"])) == (201, 2)
    # Keys' judgements are no people's.
    key = Actor(api_key=make_caller(admin.project, [Scope.REVIEWS_WRITE], made_by=make_member(admin.project)).key)
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


def test_another_projects_set_is_none(admin: Caller) -> None:
    made = make_set(make_project())
    assert_problem(admin.get(f"comparisons/{made.pk}"), 404)
    assert_problem(admin.post(f"comparisons/{made.pk}/pairs", {"pairs": [pair_of()]}), 404)
    assert_problem(admin.get("comparisons/ratings", set=str(made.pk)), 400)
    assert admin.get("comparisons").body["results"] == []


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
    assert_problem(answer, 400)
    assert field in fields(answer)
    assert not Pair.objects.exists()


def test_answers_of_a_megabyte_and_hostile_words_come_back_as_they_were(admin: Caller) -> None:
    made = make_set(admin.project, 0)
    long = ("ü" + HOSTILE) * 20_000
    long = long[:1_000_000]
    pair = {"objective": HOSTILE, "a": {"answer": long, "model": HOSTILE}, "b": {"answer": HOSTILE, "model": "z"}}
    assert admin.post(f"comparisons/{made.pk}/pairs", {"pairs": [pair]}).status == 201
    (kept,) = Pair.objects.all()
    assert (kept.objective, kept.answer_a, kept.answer_b, kept.model_a) == (HOSTILE, long, HOSTILE, HOSTILE)


def test_who_may_do_what(admin: Caller) -> None:
    made = make_set(admin.project)
    path = f"comparisons/{made.pk}"
    pipeline = make_caller(admin.project, [Scope.TASKS_WRITE])
    reader = make_caller(admin.project, [Scope.RUNS_READ])
    assert_problem(pipeline.post("comparisons", {"name": "x"}), 403)
    assert pipeline.post(f"{path}/pairs", {"pairs": [pair_of(3)]}).status == 201
    assert_problem(reader.post(f"{path}/pairs", {"pairs": [pair_of(4)]}), 403)
    assert reader.get(path).status == 200
    assert_problem(reader.get("comparisons/ratings"), 403)
    assert_problem(judge(admin).call("PATCH", path, data='{"is_open": false}'), 403)
    assert admin.call("PATCH", path, data='{"is_open": false}').body["is_open"] is False
    assert_problem(pipeline.post(f"{path}/pairs", {"pairs": [pair_of(5)]}), 409)


def test_repeated_requests_hand_in_once(admin: Caller) -> None:
    made = make_set(admin.project, 0)
    for _time in range(2):
        answer = admin.post(f"comparisons/{made.pk}/pairs", {"pairs": [pair_of()]}, idempotency_key="once")
        assert answer.status == 201
    assert Pair.objects.count() == 1
