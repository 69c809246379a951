"""Data sets as files: the same rows as page by page, whichever the format."""

import csv
import io
import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from reflection_app.core.models import Scope
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.metrics.datasets.catalogue import DATASETS, DatasetKind
from reflection_app.metrics.datasets.files import csv_columns
from reflection_app.runs.models import Run
from tests import given
from tests.api.caller import Caller
from tests.metrics.settled import let_settle
from tests.reviews.reviewed import criticised, decide, review_of

# Advancing a run gives its connection back, so these tests cannot live in one transaction.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def told() -> Caller:
    """Whose project has a decided run, then an undecided one whose objective looks like a formula."""
    caller = given.caller()
    first = criticised(caller.project)
    decide(review_of(first), VerdictName.REVISE)
    first.task.metadata = {"team": "search", "Größe": [1]}
    first.task.save()
    Run.objects.filter(pk=first.pk).update(cost_usd=Decimal("0.25"))
    let_settle(timedelta(minutes=1))
    second = criticised(caller.project)
    second.task.objective = "=1+1"
    second.task.save()
    let_settle()
    return caller


def exported(caller: Caller, kind: str, form: str) -> bytes:
    answer = caller.get(f"datasets/{kind}/export", format=form)
    assert answer.status == 200, answer.body
    assert answer.headers["content-disposition"].endswith(f'.{form}"')
    assert answer.headers["dataset-schema"] == f"{kind}/{DATASETS[DatasetKind(kind)].schema_version}"
    content: bytes = answer.body or b""
    return content


def paged(caller: Caller, kind: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = caller.get(f"datasets/{kind}").body["results"]
    return rows


def test_jsonl_has_the_rows_of_the_pages(told: Caller) -> None:
    lines = [json.loads(line) for line in exported(told, "runs", "jsonl").decode().splitlines()]
    assert len(lines) == 2
    assert lines == paged(told, "runs")


def test_csv_is_flat_and_no_cell_is_a_formula(told: Caller) -> None:
    first, second = csv.DictReader(io.StringIO(exported(told, "runs", "csv").decode(), newline=""))
    wanted = paged(told, "runs")[0]
    assert (first["id"], first["decision.verdict"], float(first["cost_usd"])) == (wanted["id"], "REVISE", 0.25)
    assert json.loads(first["metadata"]) == {"team": "search", "Größe": [1]}
    assert [one["content"] for one in json.loads(first["attempts"])] == ["A first text."]
    assert (second["objective"], second["decision.verdict"]) == ("'=1+1", "")


@pytest.mark.parametrize("kind", DatasetKind)
def test_a_file_without_rows_has_the_columns_all_the_same(kind: DatasetKind) -> None:
    caller = given.caller(scopes=[Scope.RUNS_READ])
    assert exported(caller, kind, "jsonl") == b""
    assert exported(caller, kind, "csv").decode().strip().split(",") == csv_columns(DATASETS[kind])
