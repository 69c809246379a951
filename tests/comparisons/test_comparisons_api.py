"""Blind comparisons over REST."""

from typing import Any
from uuid import uuid4

import pytest

from reflection_app.comparisons.models import Pair
from reflection_app.comparisons.sets import switch_set
from reflection_app.core.audit import Actor
from reflection_app.core.models import OwnWork, Role, Scope
from tests.api.caller import Caller, assert_problem, fields, make_caller
from tests.comparisons.pairs import NEW, OLD, make_set, pair_of
from tests.factories import make_member, make_project

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<script>alert(1)</script>\u202e {{ 7*7 }} ' OR 1=1 --"


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
    anna = judge(admin)
    seat = anna.post("comparisons/claim", {"set_id": made.body["id"]}).body
    assert {seat["left"], seat["right"]} <= {
        f"Answer {n} of the {which}." for n in (1, 2) for which in ("one", "other")
    }
    assert not {OLD, NEW} & {str(value) for value in seat.values()}
    done = anna.post(f"comparisons/judgements/{seat['id']}", {"lease_token": seat["lease_token"], "choice": "left"})
    assert (done.status, done.body["state"], done.body["choice"]) == (200, "judged", "left")
    assert anna.get(f"comparisons/judgements/{seat['id']}").body == done.body
    told = admin.get(path).body
    assert (told["pairs"], told["judged"], told["asked"], told["done"]) == (2, 1, 4, 0)
    # Keys' judgements are no people's.
    assert admin.get("comparisons/ratings").body["judgements"] == 0
    rated = admin.get("comparisons/ratings", judges="all", set=made.body["id"]).body
    assert (rated["judgements"], rated["decided"]) == (1, 1)
    (group,) = rated["groups"]
    assert group["why_unrated"] == "separated"
    assert [one["rating"] for one in group["contestants"]] == [None, None]


def test_who_made_them_is_told_when_all_have_judged(admin: Caller) -> None:
    made = make_set(admin.project)
    (row,) = admin.get(f"comparisons/{made.pk}/pairs").body["results"]
    assert [row[name] for name in ("model_a", "model_b", "prompt_a")] == [None, None, None]
    anna = judge(admin)
    seat = anna.post("comparisons/claim").body
    anna.post(f"comparisons/judgements/{seat['id']}", {"lease_token": seat["lease_token"], "choice": "tie"})
    (row,) = admin.get(f"comparisons/{made.pk}/pairs").body["results"]
    assert (row["model_a"], row["model_b"], row["judged"]) == (OLD, NEW, 1)


def test_who_could_still_judge_anew_is_not_told_who_made_them(admin: Caller) -> None:
    made = make_set(admin.project)
    person = make_member(admin.project, Role.REVIEWER)
    anna = make_caller(admin.project, [Scope.REVIEWS_WRITE, Scope.RUNS_READ], made_by=person)
    seat = anna.post("comparisons/claim").body
    anna.post(f"comparisons/judgements/{seat['id']}", {"lease_token": seat["lease_token"], "choice": "tie"})
    (row,) = anna.get(f"comparisons/{made.pk}/pairs").body["results"]
    assert (row["model_a"], row["model_b"], row["judged"]) == (None, None, 1)
    switch_set(made, is_open=False, actor=Actor())
    (row,) = anna.get(f"comparisons/{made.pk}/pairs").body["results"]
    assert (row["model_a"], row["model_b"]) == (OLD, NEW)


def test_nothing_is_left_is_no_content(admin: Caller) -> None:
    assert judge(admin).post("comparisons/claim").status == 204


def test_a_seat_is_nobody_elses(admin: Caller) -> None:
    make_set(admin.project, wanted=2)
    anna, ben = judge(admin), judge(admin)
    seat = anna.post("comparisons/claim").body
    body = {"lease_token": seat["lease_token"], "choice": "left"}
    path = f"comparisons/judgements/{seat['id']}"
    assert_problem(ben.get(path), 404)
    assert_problem(ben.post(path, body), 404)
    assert_problem(ben.post(f"{path}/undo"), 404)
    assert_problem(make_caller(scopes=[Scope.ADMIN]).get(path), 404)
    assert_problem(anna.post(path, {**body, "lease_token": str(uuid4())}), 409)
    assert_problem(anna.post(path, {**body, "choice": "both"}), 400)
    assert anna.post(f"{path}/skip", {"lease_token": seat["lease_token"]}).body["state"] == "skipped"
    assert_problem(anna.post(path, body), 409)


def test_another_projects_set_is_none(admin: Caller) -> None:
    made = make_set(make_project())
    for path in (f"comparisons/{made.pk}", f"comparisons/{made.pk}/pairs"):
        assert_problem(admin.get(path), 404)
    assert_problem(admin.post(f"comparisons/{made.pk}/pairs", {"pairs": [pair_of()]}), 404)
    assert_problem(admin.get("comparisons/ratings", set=str(made.pk)), 400)
    assert_problem(admin.post("comparisons/claim", {"set_id": str(made.pk)}), 400)
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
    seat = judge(admin).post("comparisons/claim").body
    assert seat["objective"] == HOSTILE
    assert {seat["left"], seat["right"]} == {long, HOSTILE}


def test_who_may_do_what(admin: Caller) -> None:
    made = make_set(admin.project)
    path = f"comparisons/{made.pk}"
    pipeline = make_caller(admin.project, [Scope.TASKS_WRITE])
    reader = make_caller(admin.project, [Scope.RUNS_READ])
    assert_problem(pipeline.post("comparisons", {"name": "x"}), 403)
    assert_problem(pipeline.post("comparisons/claim"), 403)
    assert pipeline.post(f"{path}/pairs", {"pairs": [pair_of(3)]}).status == 201
    assert_problem(reader.post(f"{path}/pairs", {"pairs": [pair_of(4)]}), 403)
    assert reader.get(path).status == 200
    assert_problem(reader.get("comparisons/ratings"), 403)
    assert_problem(judge(admin).call("PATCH", path, data='{"is_open": false}'), 403)
    assert admin.call("PATCH", path, data='{"is_open": false}').body["is_open"] is False
    assert_problem(pipeline.post(f"{path}/pairs", {"pairs": [pair_of(5)]}), 409)


def test_a_pipeline_does_not_judge_what_it_handed_in() -> None:
    project = make_project(own_work=OwnWork.NOBODY)
    maker = make_member(project, Role.ADMIN)
    pipeline = make_caller(project, [Scope.ADMIN], made_by=maker)
    made = make_set(project, 0)
    pipeline.post(f"comparisons/{made.pk}/pairs", {"pairs": [pair_of()]})
    assert pipeline.post("comparisons/claim").status == 204
    assert make_caller(project, [Scope.REVIEWS_WRITE], made_by=maker).post("comparisons/claim").status == 204
    assert judge(pipeline).post("comparisons/claim").status == 200


def test_repeated_requests_hand_in_once(admin: Caller) -> None:
    made = make_set(admin.project, 0)
    for _time in range(2):
        answer = admin.post(f"comparisons/{made.pk}/pairs", {"pairs": [pair_of()]}, idempotency_key="once")
        assert answer.status == 201
    assert Pair.objects.count() == 1
