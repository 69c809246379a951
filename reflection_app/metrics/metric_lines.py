"""Figures as lines of one table, for spreadsheets and scripts. Pure.

A cell that a spreadsheet would take for a formula begins with an apostrophe: agents and models have any names.
"""

import csv
import io
from collections.abc import Iterator, Mapping

from reflection_app.metrics.review_figures import ReviewFigures
from reflection_app.metrics.values import Bar, Figure, Metrics

COLUMNS = ("what", "name", "key", "start", "value", "unit", "of", "low", "high")
# A spreadsheet takes a cell that begins with one of these for a formula, and runs it.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
type Line = tuple[object, ...]


def as_csv(found: Metrics | ReviewFigures) -> str:
    """The table with its heading."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    lines = _of_runs(found) if isinstance(found, Metrics) else _of_reviews(found)
    writer.writerows([_cell(value) for value in line] for line in lines)
    return text.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text


def _of_runs(metrics: Metrics) -> Iterator[Line]:
    yield from _figures("figure", metrics.figures)
    yield from _figures("figure_before", metrics.before)
    for point in metrics.points:
        yield from _figures("point", point.figures, start=point.start)
    for family, bars in metrics.bars.items():
        yield from (_bar(family, bar) for bar in bars)
    for spend in metrics.spend:
        of = f"{spend.role}:{spend.model}"
        for name in ("calls", "prompt_tokens", "completion_tokens"):
            yield ("spend", name, of, "", getattr(spend, name), "", "", "", "")
        yield ("spend", "cost_usd", of, "", spend.known_cost_usd, "", "", "", "")
    for task in metrics.dearest_tasks:
        yield ("task", "tokens", task.task_id, "", task.tokens, "tokens", "", "", "")
        yield ("task", "cost_usd", task.task_id, "", task.known_cost_usd, "usd", "", "", "")


def _of_reviews(found: ReviewFigures) -> Iterator[Line]:
    yield from _figures("figure", found.figures)
    yield from _figures("figure_before", found.before)
    for point in found.points:
        yield from _figures("point", point.figures, start=point.start)
    yield from (_bar("ages", bar) for bar in found.ages)
    for name, several in (
        ("by_critic", found.by_critic),
        ("by_reviewer", found.by_reviewer),
        ("by_key", found.by_key),
    ):
        for one in several:
            share = one.share
            yield (name, "overrule_rate", one.name, "", share.value, share.unit.value, share.of, share.low, share.high)


def _figures(what: str, figures: Mapping[str, Figure], *, start: str = "") -> Iterator[Line]:
    for name, figure in figures.items():
        yield (what, name, "", start, figure.value, figure.unit.value, figure.of, figure.low, figure.high)


def _bar(family: str, bar: Bar) -> Line:
    return ("bar", family, bar.key, "", bar.count, "count", "", "", "")
