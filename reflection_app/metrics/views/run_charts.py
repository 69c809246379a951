"""The charts of runs and of the review desk over time, their distributions, and what runs take."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from reflection_app.metrics.definitions import Bar, Figure, Point, Spend, TaskSpend, Took, Unit
from reflection_app.metrics.views.charts import (
    Cell,
    Chart,
    Mark,
    Series,
    bars,
    count_axis,
    lines,
    share_axis,
    titled,
)
from reflection_app.metrics.views.choice import Links
from reflection_app.metrics.views.families import FAMILIES, NONE_DECIDED
from reflection_app.metrics.views.words import figure_words, interval_words, runs_words, share_words
from reflection_app.web.labels import in_words
from reflection_app.web.template_filters import at_least, money

HOUR = 3600


@dataclass(frozen=True)
class Line:
    """One figure over time. `behind` is the figure and the key whose runs a point leads to, else all of its own."""

    figure: str
    words: str | Promise
    tone: str = "one"
    dash: str = "solid"
    behind: tuple[str, str] | None = None

    def href(self, links: Links) -> str:
        return links.runs(*(self.behind or (self.figure, "")))


@dataclass(frozen=True)
class Course:
    """Figures piece by piece of the period. Those of reviews are told beside how many were decided, with their runs."""

    name: str
    title: str | Promise
    hint: str | Promise
    empty: str | Promise
    drawn: tuple[Line, ...]
    is_of_reviews: bool = False


SUCCESS = Course(
    "success",
    gettext_lazy("Success rate with and without reflection"),
    gettext_lazy(
        "Runs allowing a second attempt: share that succeeded in the end, and share whose first attempt succeeded."
    ),
    gettext_lazy("No runs allowing a second attempt finished in this period."),
    (
        Line("success_rate_with_reflection", gettext_lazy("With reflection")),
        Line("success_rate_without_reflection", gettext_lazy("Without reflection"), "three", "dash"),
    ),
)
DECISION_TIME = Course(
    "decision-time",
    gettext_lazy("Time to decision"),
    gettext_lazy("Time from opening a review to its decision."),
    NONE_DECIDED,
    (
        Line("time_to_decision_p50_s", gettext_lazy("Median"), behind=("decided", "")),
        Line("time_to_decision_p95_s", gettext_lazy("p95"), "three", "dash", behind=("decided", "")),
    ),
    is_of_reviews=True,
)
OVERRULED = Course(
    "overruled",
    gettext_lazy("Overrule rate over time"),
    gettext_lazy("Share of decided reviews where the verdict was overruled."),
    NONE_DECIDED,
    (Line("overrule_rate", gettext_lazy("Overruled"), behind=("overrule_rate", "yes")),),
    is_of_reviews=True,
)


def course_chart(course: Course, points: Sequence[Point], links: Links) -> Chart:
    """The lines of the course, with a table of the pieces of which something is known."""
    pieces = list(links.of_points(points))
    shares = (point.figures[line.figure].value for point, _at in pieces for line in course.drawn)
    is_time = any(point.figures[line.figure].unit is Unit.SECONDS for point in points for line in course.drawn)
    return Chart(
        name=course.name,
        title=str(course.title),
        hint=str(course.hint),
        figure=lines(
            [
                Series([_point(course, line, *piece) for piece in pieces], str(line.words), line.tone, line.dash)
                for line in course.drawn
            ],
            axis=titled(_("hours")) if is_time else share_axis(shares),
        ),
        columns=(
            _("Start"),
            *(str(line.words) for line in course.drawn),
            _("Decided") if course.is_of_reviews else _("Sample size"),
        ),
        rows=tuple(
            (
                Cell(point.start),
                *(_figure_cell(line, point.figures[line.figure], at) for line in course.drawn),
                Cell(
                    f"{point.figures[course.drawn[0].figure].of:,}", at.runs("decided") if course.is_of_reviews else ""
                ),
            )
            for point, at in pieces
            if any(point.figures[line.figure].value is not None for line in course.drawn)
        ),
        empty=str(course.empty),
        is_wide=not course.is_of_reviews,
    )


def _point(course: Course, line: Line, point: Point, at: Links) -> Mark:
    figure = point.figures[line.figure]
    if figure.value is None:
        return Mark(label=point.start, value=None)
    said = f"{line.words}: {figure_words(figure)}"
    if not course.is_of_reviews:
        said += (f" ({interval_words(figure)})" if figure.low is not None else "") + f" · {runs_words(figure.of)}"
    value = figure.value / HOUR if figure.unit is Unit.SECONDS else figure.value
    return Mark(label=point.start, value=value, said=said, href=line.href(at))


def _figure_cell(line: Line, figure: Figure, at: Links) -> Cell:
    """What leads to runs of another figure, such as a time to all that was decided, is told without them."""
    leads = figure.value is not None and (line.behind is None or line.behind[0] == line.figure)
    return Cell(figure_words(figure), line.href(at) if leads else "")


MOST_BARS = 12


def bar_chart(
    name: str, found: Sequence[Bar], links: Links, *, upright: bool = False, of: float | None = None
) -> Chart:
    """One bar for each key; of many, the most common. `of` is what all bars are shares of, where they overlap."""
    family, total = FAMILIES[name], of or sum(bar.count for bar in found)
    counted = str(family.counted) or _("runs")
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
    return Chart(
        name=family.name.replace("_", "-"),
        title=str(family.title),
        hint=str(family.hint),
        figure=bars([Series(marks)], upright=upright, axis=count_axis(counted, marks)),
        columns=(str(family.column), _("Number"), _("Share")),
        rows=rows,
        empty=str(family.empty) or _("No data in this period."),
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
    return Chart(
        name="tokens",
        title=_("Tokens by model and role"),
        hint=_("All model calls, including forks, redos and internal calls."),
        figure=_stacked(spend, links, amount=lambda one: float(_tokens(one)), said=_tokens_said, axis=_("tokens")),
        columns=(_("Model"), _("Role"), _("Calls"), _("Input tokens"), _("Output tokens"), _("Tokens")),
        rows=tuple(
            (*_called(one, links), *(Cell(f"{n:,}") for n in (one.prompt_tokens, one.completion_tokens, _tokens(one))))
            for one in sorted(spend, key=lambda one: -_tokens(one))
        ),
        empty=_("No model calls in this period."),
        words=2,
    )


def money_chart(spend: Sequence[Spend], links: Links) -> Chart:
    """What the same calls cost. Calls without a known price are said to be so, and not taken for free."""
    unknown = sum(one.calls for one in spend if not one.is_known)
    hint = _("Includes only models with known prices.")
    if unknown:
        more = ngettext(
            "%(calls)s call has no fully known price.", "%(calls)s calls have no fully known price.", unknown
        )
        hint = more % {"calls": f"{unknown:,}"}
    paid = [one for one in spend if one.cost_usd]
    listed = [one for one in spend if one.cost_usd or not one.is_known]
    return Chart(
        name="money",
        title=_("Cost by model and role"),
        hint=hint,
        figure=_stacked(paid, links, amount=lambda one: float(one.cost_usd), said=_money, axis=_("US dollars")),
        columns=(_("Model"), _("Role"), _("Calls"), _("Cost")),
        rows=tuple((*_called(one, links), Cell(_money(one))) for one in sorted(listed, key=lambda one: -one.cost_usd)),
        empty=_("No calls with a known price in this period."),
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
        title=_("Top tasks"),
        figure=bars([Series(marks)], axis=titled(_("tokens"))),
        columns=(_("Task"), _("Tokens"), _("Cost")),
        rows=rows,
        empty=_("No model calls in this period."),
        is_wide=True,
    )


def _called(one: Spend, links: Links) -> tuple[Cell, Cell, Cell]:
    return Cell(one.model, _behind(one, links)), Cell(role_words(one.role)), Cell(f"{one.calls:,}")


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
        hover = f"{model}, {role_words(role)}: {said(one)}"
        return Mark(label=model, value=amount(one), said=hover, href=_behind(one, links))

    # The usual roles have colours of their own, the others what is left, as long as something is.
    left = iter(OTHER_TONES)
    series = [
        Series([mark(model, role) for model in models], role_words(role), TONES.get(role) or next(left, "plain"))
        for role in roles
    ]
    return bars(series, axis=titled(axis))


def _behind(spend: Spend, links: Links) -> str:
    return links.runs("spend", f"{spend.role}|{spend.model}")


def _tokens(spend: Spend) -> int:
    return spend.prompt_tokens + spend.completion_tokens


def _tokens_said(spend: Spend) -> str:
    return _("%(number)s tokens") % {"number": f"{_tokens(spend):,}"}


def _money(spend: Took) -> str:
    return money(spend.cost_usd) if spend.is_known else at_least(spend.known_cost_usd)
