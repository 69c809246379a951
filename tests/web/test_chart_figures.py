"""What the axes of charts say."""

from reflection_app.web.chart_figures import Mark, count_axis


def test_of_few_things_an_axis_names_each_whole_number_once() -> None:
    axis = count_axis("runs", [Mark("a", 2.0), Mark("b", None), Mark("c", 5.0)])
    assert axis["dtick"] == 1
    assert axis["title"] == {"text": "runs"}


def test_of_many_things_plotly_chooses_the_steps() -> None:
    assert "dtick" not in count_axis("runs", [Mark("a", 2.0), Mark("b", 6.0)])
