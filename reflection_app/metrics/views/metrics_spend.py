"""The charts of what runs take: tokens and money by role and model, and the tasks that took most."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from reflection_app.metrics.values import Spend, TaskSpend
from reflection_app.metrics.views.chart_figures import Mark, Series, lying_bars, stacked_bars, titled
from reflection_app.metrics.views.charts import Cell, Chart
from reflection_app.metrics.views.metrics_links import Links
from reflection_app.web.labels import in_words
from reflection_app.web.template_filters import at_least, money

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
