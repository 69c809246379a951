"""What the axes of charts say."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from reflection_app.metrics.definitions import Chosen, Spend
from reflection_app.metrics.views.charts import Cell, Chart, Mark, count_axis, share_axis
from reflection_app.metrics.views.choice import Links
from reflection_app.metrics.views.run_charts import tokens_chart


def test_of_few_things_an_axis_names_each_whole_number_once() -> None:
    axis = count_axis("runs", [Mark("a", 2.0), Mark("b", None), Mark("c", 5.0)])
    assert axis["dtick"] == 1
    assert axis["title"] == {"text": "runs"}


@pytest.mark.parametrize(
    ("shares", "told", "low", "high"),
    [
        ([0.72, 0.88], "60–100 % shown", 0.59, 1.01),
        ([0.0, 0.02], "0–30 % shown", 0.0, 0.31),
        ([0.97, None], "70–100 % shown", 0.69, 1.01),
        ([0.0, 1.0], "", 0.0, 1.02),
        ([None], "", 0.0, 1.02),
    ],
)
def test_an_axis_of_shares_fits_them_and_says_what_it_leaves_out(
    shares: list[float | None], told: str, low: float, high: float
) -> None:
    axis = share_axis(shares)
    assert axis.get("title", {"text": ""})["text"] == told
    assert axis["range"] == pytest.approx([low, high], abs=0.01)


def test_one_point_is_no_chart_but_its_figures() -> None:
    rows = ((Cell("2026-01-01"), Cell("92 %", "/runs/")),)
    chart = Chart(name="success", title="Success", columns=("From", "Share"), rows=rows)
    assert chart.lone == [("From", Cell("2026-01-01")), ("Share", Cell("92 %", "/runs/"))]
    assert Chart(name="success", title="Success", columns=("From", "Share"), rows=rows * 2).lone == []


def test_roles_in_one_chart_are_told_apart_by_their_colour() -> None:
    roles = ("actor", "planner", "critic", "completeness", "reflector", "classifier", "tester", "diagnoser")
    spend = [Spend(role, "model", 1, 100 - number, 1, Decimal(0)) for number, role in enumerate(roles)]
    chosen = Chosen(since=datetime(2026, 1, 1, tzinfo=UTC), until=datetime(2026, 1, 2, tzinfo=UTC))
    data = tokens_chart(spend, Links("team", chosen)).figure["data"]
    assert len({trace["meta"]["tone"] for trace in data}) == len(roles)
