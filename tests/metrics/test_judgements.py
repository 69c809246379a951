"""Judgements from elsewhere over REST, and what calibration says of them."""

import pytest

from reflection_app.core.models import Scope
from reflection_app.metrics.models import JudgedItem
from tests.api.caller import Caller, assert_problem, make_caller
from tests.metrics.judgements import lines, row
from tests.reviews.reviewed import criticised, decide, review_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Caller:
    return make_caller(scopes=[Scope.ADMIN])


def test_rows_are_shown_first_and_applied_then(admin: Caller) -> None:
    rows = [row("a", confidence=0.9), row("b", people={"ann": "PASS", "bob": "REJECT"}), row("c", verdict="garbage")]
    shown = admin.post("judgements/imports", {"name": "May", "rows": rows})
    assert shown.status == 201
    assert (shown.body["name"], shown.body["state"], shown.body["split_items"]) == ("May", "previewed", 1)
    assert shown.body["counts"] == {"new": 2, "same": 0, "changed": 0, "refused": 1}
    assert [(one["line"], one["external_id"], one["step"]) for one in shown.body["lines"]] == [
        (1, "a", "new"),
        (2, "b", "new"),
    ]
    assert shown.body["refused"][0]["line"] == 3
    assert not JudgedItem.objects.exists()
    path = f"judgements/imports/{shown.body['id']}"
    assert admin.get(path).body == shown.body
    done = admin.post(f"{path}/apply")
    assert (done.status, done.body["state"], done.body["lines"]) == (200, "applied", [])
    assert admin.post(f"{path}/apply").body == done.body
    listed = admin.get("judgements").body["results"]
    assert [(one["external_id"], one["majority"]) for one in listed] == [("b", None), ("a", "PASS")]
    assert listed[1]["critics"] == [{"model": "gpt", "prompt_version": "", "verdict": "PASS", "confidence": 0.9}]


def test_lines_of_a_file_are_rows_as_well(admin: Caller) -> None:
    given = lines([row("a"), b"not json"]).decode()
    shown = admin.post("judgements/imports", {"lines": given})
    assert shown.body["counts"]["new"] == 1
    assert shown.body["refused"][0]["line"] == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, ""),
        ({"rows": [row()], "lines": "{}"}, ""),
        ({"rows": []}, "rows"),
        ({"rows": [1]}, "rows.0"),
        ({"lines": "\n\n"}, "rows"),
        ({"rows": [row()], "name": "x" * 201}, "name"),
    ],
)
def test_what_is_no_import_is_refused_whole(admin: Caller, body: dict[str, object], field: str) -> None:
    refused = admin.post("judgements/imports", body)
    assert_problem(refused, 400)
    assert field in [error["field"] for error in refused.body["errors"]]


def test_calibration_tells_every_figure_with_its_interval(admin: Caller) -> None:
    rows = [row(f"a{number}", confidence=0.9) for number in range(5)]
    rows += [row(f"b{number}", people={"ann": "REJECT"}, confidence=0.7) for number in range(2)]
    rows += [row(f"c{number}", verdict="REJECT", people={"ann": "REJECT"}) for number in range(3)]
    shown = admin.post("judgements/imports", {"rows": rows}).body
    admin.post(f"judgements/imports/{shown['id']}/apply")
    reader = make_caller(admin.project, [Scope.METRICS_READ])
    found = reader.get("metrics/calibration").body
    [critic] = found["critics"]
    assert (critic["source"], critic["model"], critic["pairs"]) == ("imported", "gpt", 10)
    assert critic["agreed"]["estimate"] == pytest.approx(0.8)
    assert critic["kappa"]["estimate"] == pytest.approx((0.8 - 0.5) / 0.5)
    assert critic["kappa"]["low"] < 0.6 < critic["kappa"]["high"]
    assert critic["precision"]["estimate"] == pytest.approx(5 / 7)
    assert critic["recall"]["estimate"] == 1
    assert critic["false_pass"]["estimate"] == pytest.approx(2 / 5)
    seen = {(cell["critic"], cell["people"]): cell["seen"] for cell in critic["matrix"]}
    assert (seen["PASS", "PASS"], seen["PASS", "REJECT"], seen["REJECT", "REJECT"], len(seen)) == (5, 2, 3, 9)
    assert [one["seen"] for one in critic["reliability"]["bins"]] == [2, 5]
    assert critic["reliability"]["error"] == pytest.approx(5 / 7 * 0.1 + 2 / 7 * 0.7)
    assert (found["waiting"], found["split_items"], found["unjudged_items"]) == (0, 0, 0)


@pytest.mark.django_db(transaction=True)
def test_the_desks_own_verdicts_are_told_with_what_still_waits() -> None:
    reader = make_caller(scopes=[Scope.METRICS_READ])
    decide(review_of(criticised(reader.project)))
    criticised(reader.project)
    found = reader.get("metrics/calibration").body
    assert [(one["source"], one["pairs"]) for one in found["critics"]] == [("desk", 1)]
    assert found["waiting"] == 1
    assert make_caller(scopes=[Scope.METRICS_READ]).get("metrics/calibration").body["critics"] == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"since": "2026-02-01", "until": "2026-01-01"}, "since"),
        ({"since": "yesterday"}, "since"),
        ({"mode": "none"}, "mode"),
        ({"model": "gpt"}, "model"),
    ],
)
def test_a_query_that_cannot_be_is_refused(admin: Caller, query: dict[str, str], field: str) -> None:
    refused = admin.get("metrics/calibration", **query)
    assert_problem(refused, 400)
    assert refused.body["errors"][0]["field"] == field
