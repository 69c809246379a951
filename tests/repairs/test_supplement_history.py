"""The record of tools as supplements, read from the database."""

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reflection_app.core.models import Project
from reflection_app.loops.completeness.records import SupplementRecord
from reflection_app.loops.effects import EstimateSupplements
from reflection_app.repairs.supplement_history import read_records
from reflection_app.runs.models import Run
from tests import given
from tests.repairs.past_supplements import past_supplement

pytestmark = pytest.mark.django_db


def effect_of(*tools: tuple[str, ...]) -> EstimateSupplements:
    return EstimateSupplements(key="k", operations=("read it",) * len(tools), tools=tools)


def records(project: Project, *tools: tuple[str, ...]) -> tuple[SupplementRecord | None, ...]:
    """What a new run of the project reads of supplements by these tools."""
    found: Any = read_records(effect_of(*tools), run_id=given.submitted_run(project, kind="compare").pk).value
    kept: tuple[SupplementRecord | None, ...] = found.supplements
    return kept


def test_a_tool_has_the_record_of_its_own_project() -> None:
    project = given.project("own")
    past_supplement(project, tokens=1_000)
    past_supplement(project, "Read the appendix", kind="other", tokens=2_000, cost_usd=Decimal("0.004"))
    past_supplement(project, completed=False, tokens=3_000, cost_usd=Decimal("0.006"))
    past_supplement(project, "Send a mail", tools=("mail",), completed=False)
    past_supplement(given.project("another"), completed=False)
    read, mail, none, unknown = records(project, ("read_file",), ("mail",), (), ("fax",))
    assert read == SupplementRecord(runs=3, completed=2, tokens=2_000, cost_usd=Decimal("0.004"))
    assert mail is not None
    assert (mail.runs, mail.completed) == (1, 0)
    assert none is unknown is None


def test_of_two_tools_the_one_with_more_runs_counts() -> None:
    project = given.project("two")
    past_supplement(project, tools=("mail",), completed=False)
    for _ in range(2):
        past_supplement(project)
    [found] = records(project, ("mail", "read_file"))
    assert found is not None
    assert (found.runs, found.completed) == (2, 2)


@pytest.mark.parametrize(
    "fields",
    [
        {"attempted": False, "tokens": 0},
        {"attempted": None, "tokens": 0},
        {"days_ago": 181},
    ],
)
def test_what_was_not_tried_or_is_old_does_not_count(fields: dict[str, Any]) -> None:
    project = given.project("old")
    past_supplement(project, **fields)
    assert records(project, ("read_file",)) == (None,)


def test_without_a_price_the_cost_is_not_known() -> None:
    project = given.project("unpriced")
    past_supplement(project)
    past_supplement(project, cost_known=False, cost_usd=Decimal(0))
    [found] = records(project, ("read_file",))
    assert found is not None
    assert (found.runs, found.cost_usd) == (2, None)


def test_a_run_and_forks_are_no_evidence() -> None:
    project = given.project("forks")
    run = past_supplement(project).completeness_check.run
    own: Any = read_records(effect_of(("read_file",)), run_id=run.pk).value
    assert own.supplements == (None,)
    Run.objects.filter(pk=run.pk).update(parent=given.submitted_run(project))
    assert records(project, ("read_file",)) == (None,)


def test_the_database_is_asked_once() -> None:
    project = given.project("once")
    run = given.submitted_run(project, kind="compare")
    for number in range(5):
        past_supplement(project, tools=(f"tool-{number}",))
    with CaptureQueriesContext(connection) as queries:
        read_records(effect_of(*((f"tool-{number}",) for number in range(5))), run_id=run.pk)
    assert len(queries) == 1
