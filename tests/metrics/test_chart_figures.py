"""What the axes of charts say."""

from datetime import UTC, datetime
from decimal import Decimal

from reflection_app.metrics.definitions import Chosen, Spend
from reflection_app.metrics.views.charts import Mark, count_axis
from reflection_app.metrics.views.choice import Links
from reflection_app.metrics.views.run_charts import tokens_chart


def test_of_few_things_an_axis_names_each_whole_number_once() -> None:
    axis = count_axis("runs", [Mark("a", 2.0), Mark("b", None), Mark("c", 5.0)])
    assert axis["dtick"] == 1
    assert axis["title"] == {"text": "runs"}


def test_of_many_things_plotly_chooses_the_steps() -> None:
    assert "dtick" not in count_axis("runs", [Mark("a", 2.0), Mark("b", 6.0)])


def test_roles_in_one_chart_are_told_apart_by_their_colour() -> None:
    roles = ("actor", "planner", "critic", "completeness", "reflector", "classifier", "tester", "diagnoser")
    spend = [Spend(role, "model", 1, 100 - number, 1, Decimal(0)) for number, role in enumerate(roles)]
    chosen = Chosen(since=datetime(2026, 1, 1, tzinfo=UTC), until=datetime(2026, 1, 2, tzinfo=UTC))
    data = tokens_chart(spend, Links("team", chosen)).figure["data"]
    assert len({trace["meta"]["tone"] for trace in data}) == len(roles)
