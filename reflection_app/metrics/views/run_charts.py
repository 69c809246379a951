"""The charts of runs: whether reflection helps, how the desk works, and what that takes."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from reflection_app.metrics.definitions import Bar, Figure, Metrics, Point, Spend, TaskSpend
from reflection_app.metrics.views.charts import (
    Cell,
    Chart,
    Mark,
    Series,
    bars,
    count_axis,
    lines,
    lying_bars,
    share_axis,
    stacked_bars,
    titled,
)
from reflection_app.metrics.views.choice import Links
from reflection_app.metrics.views.families import Family
from reflection_app.metrics.views.words import figure_words, interval_words, runs_words, share_words
from reflection_app.web.labels import in_words
from reflection_app.web.template_filters import at_least, money

MOST_BARS = 12


def success_chart(metrics: Metrics, links: Links) -> Chart:
    """Success with and without reflection, piece by piece of the period."""
    return _shares_chart(
        metrics,
        links,
        names=(
            ("success_rate_with_reflection", _("With reflection"), "one", "solid"),
            ("success_rate_without_reflection", _("Without it"), "three", "dash"),
        ),
        name="success",
        title=_("Success, with reflection and without"),
        hint=_(
            "Of the runs that allowed a second attempt: those that succeeded in the end, and those whose first did."
        ),
        empty=_("No run that allowed a second attempt has ended in this time."),
    )


def completeness_chart(metrics: Metrics, links: Links) -> Chart:
    """How often checks found something missing, and how often what was done about it worked."""
    return _shares_chart(
        metrics,
        links,
        names=(
            ("found_incomplete", _("Found incomplete"), "three", "solid"),
            ("exec_success_rate", _("Steps that worked"), "two", "dash"),
        ),
        name="completeness",
        title=_("Found incomplete, and what supplements did"),
        hint=_("Of the checks that could tell; and of the steps of plans that carried supplements out."),
        empty=_("No completeness check was made in this time."),
    )


def _shares_chart(
    metrics: Metrics,
    links: Links,
    *,
    names: tuple[tuple[str, str, str, str], ...],
    name: str,
    title: str,
    hint: str,
    empty: str,
) -> Chart:
    """Shares over time: for each its figure, its words, its tone and its dash."""
    pieces = list(links.of_points(metrics.points))
    series = [
        Series(words, tone, [_point(point, at, name=figure, words=words) for point, at in pieces], dash=dash)
        for figure, words, tone, dash in names
    ]
    rows = tuple(
        (
            Cell(when(point)),
            *(_share_cell(point.figures.get(figure), at.runs(figure)) for figure, *_rest in names),
            _of(point, names[0][0]),
        )
        for point, at in pieces
        if any(_value(point, figure) is not None for figure, *_rest in names)
    )
    return Chart(
        name=name,
        title=title,
        hint=hint,
        figure=lines(series, axis=share_axis()),
        columns=(_("From"), *(words for _figure, words, *_rest in names), _("Counted over")),
        rows=rows,
        empty=empty,
        is_wide=True,
    )


def bar_chart(
    family: Family, found: Sequence[Bar], links: Links, *, upright: bool = False, of: float | None = None
) -> Chart:
    """One bar for each key; of many, the most common. `of` is what all bars are shares of, where they overlap."""
    total = of or sum(bar.count for bar in found)
    counted = family.counted or _("runs")
    shown = list(found) if upright else sorted(found, key=lambda bar: -bar.count)[:MOST_BARS]
    marks = [
        Mark(
            label=(label := family.words(bar.key)),
            value=bar.count,
            said=f"{label}: {bar.count:,} {counted} ({share_words(bar.count / total)})" if total else label,
            href=links.runs(family.name, bar.key) if bar.count else "",
            tone=family.tone(bar.key),
        )
        for bar in shown
    ]
    rows = tuple(
        (Cell(mark.label, mark.href), Cell(f"{bar.count:,}"), Cell(share_words(bar.count / total)))
        for mark, bar in zip(marks, shown, strict=True)
        if total
    )
    draw = bars if upright else lying_bars
    return Chart(
        name=family.name.replace("_", "-"),
        title=family.title,
        hint=family.hint,
        figure=draw(marks, axis=count_axis(counted, marks)),
        columns=(family.column, _("Number"), _("Share")),
        rows=rows,
        empty=family.empty or _("Nothing to show in this time."),
    )


def when(point: Point) -> str:
    """`2026-11-22`, or with its hour `2026-11-22 13:00`."""
    return point.start[:16].replace("T", " ")


def _value(point: Point, name: str) -> float | None:
    figure = point.figures.get(name)
    return figure.value if figure else None


def _of(point: Point, name: str) -> Cell:
    figure = point.figures.get(name)
    return Cell(f"{figure.of:,}" if figure else "–")


def _share_cell(figure: Figure | None, href: str) -> Cell:
    if figure is None or figure.value is None:
        return Cell("–")
    return Cell(figure_words(figure), href)


def _point(point: Point, links: Links, *, name: str, words: str) -> Mark:
    figure = point.figures.get(name)
    if figure is None or figure.value is None:
        return Mark(label=point.start, value=None)
    between = f" ({interval_words(figure)})" if figure.low is not None else ""
    return Mark(
        label=point.start,
        value=figure.value,
        said=f"{words}: {figure_words(figure)}{between} · {runs_words(figure.of)}",
        href=links.runs(name),
    )


# The charts of what runs take: tokens and money by role and model, and the tasks that took most.

MOST_MODELS = 8
MOST_SAID = 60
# A role has the same colour in every chart.
TONES = {"actor": "one", "critic": "three", "reflector": "two", "self": "four", "tester": "five"}
# The warning colour is near the critic's, so it comes last.
OTHER_TONES = ("six", "good", "bad", "faint", "warn")


def tokens_chart(spend: Sequence[Spend], links: Links) -> Chart:
    """Tokens in and out, the models below one another, each made of the roles that it played."""
    columns = (_("Model"), _("Role"), _("Calls"), _("Tokens in"), _("Tokens out"), _("Tokens"))
    rows = tuple(
        (
            Cell(one.model, _behind(one, links)),
            Cell(role_words(one.role)),
            Cell(f"{one.calls:,}"),
            Cell(f"{one.prompt_tokens:,}"),
            Cell(f"{one.completion_tokens:,}"),
            Cell(f"{_tokens(one):,}"),
        )
        for one in sorted(spend, key=lambda one: -_tokens(one))
    )
    return Chart(
        name="tokens",
        title=_("Tokens by model and role"),
        hint=_("All model calls, those of forks, redos and of the desk's own work too."),
        figure=_stacked(spend, links, amount=lambda one: float(_tokens(one)), said=_tokens_said, axis=_("tokens")),
        columns=columns,
        rows=rows,
        empty=_("No model was called in this time."),
        words=2,
    )


def money_chart(spend: Sequence[Spend], links: Links) -> Chart:
    """What the same calls cost. Calls without a known price are said to be so, and not taken for free."""
    unknown = sum(one.calls for one in spend if not one.is_known)
    hint = _("As far as the prices of the models are known.")
    if unknown:
        more = ngettext(
            "Of %(calls)s call, some price is not known.", "Of %(calls)s calls, some prices are not known.", unknown
        )
        hint = more % {"calls": f"{unknown:,}"}
    paid = [one for one in spend if one.cost_usd]
    listed = [one for one in spend if one.cost_usd or not one.is_known]
    rows = tuple(
        (
            Cell(one.model, _behind(one, links)),
            Cell(role_words(one.role)),
            Cell(f"{one.calls:,}"),
            Cell(_money(one)),
        )
        for one in sorted(listed, key=lambda one: -one.cost_usd)
    )
    return Chart(
        name="money",
        title=_("Money by model and role"),
        hint=hint,
        figure=_stacked(paid, links, amount=lambda one: float(one.cost_usd), said=_money, axis=_("US dollars")),
        columns=(_("Model"), _("Role"), _("Calls"), _("Cost")),
        rows=rows,
        empty=_("Nothing that has a known price was called in this time."),
        words=2,
    )


def tasks_chart(tasks: Sequence[TaskSpend], links: Links) -> Chart:
    """The tasks that took most."""
    marks = [
        Mark(
            label=one.objective,
            value=float(one.tokens),
            said=f"{one.objective[:MOST_SAID]}: "
            + _("%(tokens)s tokens · %(money)s") % {"tokens": f"{one.tokens:,}", "money": _money(one)},
            href=links.runs("task", one.task_id),
        )
        for one in tasks
    ]
    rows = tuple(
        (Cell(one.objective, mark.href), Cell(f"{one.tokens:,}"), Cell(_money(one)))
        for one, mark in zip(tasks, marks, strict=True)
    )
    return Chart(
        name="tasks",
        title=_("Tasks that took most"),
        figure=lying_bars(marks, axis=titled(_("tokens"))),
        columns=(_("Task"), _("Tokens"), _("Cost")),
        rows=rows,
        empty=_("No model was called in this time."),
        is_wide=True,
    )


def role_words(role: str) -> str:
    """`Actor`, `Critic` …, in the reader's language."""
    return in_words(role.replace("_", " ").capitalize()) if role else _("no role")


def _stacked(
    spend: Sequence[Spend],
    links: Links,
    *,
    amount: Callable[[Spend], float],
    said: Callable[[Spend], str],
    axis: str,
) -> dict[str, object]:
    by_model, by_role = defaultdict[str, float](float), defaultdict[str, float](float)
    for one in spend:
        by_model[one.model] += amount(one)
        by_role[one.role] += amount(one)
    models = sorted(by_model, key=lambda model: -by_model[model])[:MOST_MODELS]
    roles = sorted(by_role, key=lambda role: -by_role[role])
    found = {(one.model, one.role): one for one in spend}

    def mark(model: str, role: str) -> Mark:
        one = found.get((model, role))
        if one is None:
            return Mark(label=model, value=None)
        told = f"{model}, {role_words(role)}: {said(one)}"
        return Mark(label=model, value=amount(one), said=told, href=_behind(one, links))

    series = [
        Series(role_words(role), tone, [mark(model, role) for model in models])
        for role, tone in zip(roles, _tones(roles), strict=True)
    ]
    return stacked_bars(series, axis=titled(axis))


def _tones(roles: Sequence[str]) -> list[str]:
    """A colour for each role: the usual ones their own, the others what is left, as long as something is."""
    left = iter(OTHER_TONES)
    return [TONES.get(role) or next(left, "plain") for role in roles]


def _behind(spend: Spend, links: Links) -> str:
    return links.runs("spend", f"{spend.role}|{spend.model}")


def _tokens(spend: Spend) -> int:
    return spend.prompt_tokens + spend.completion_tokens


def _tokens_said(spend: Spend) -> str:
    return _("%(number)s tokens") % {"number": f"{_tokens(spend):,}"}


def _money(spend: Spend | TaskSpend) -> str:
    return money(spend.cost_usd) if spend.is_known else at_least(spend.known_cost_usd)
