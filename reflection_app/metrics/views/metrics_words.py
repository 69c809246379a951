"""What the figures of the metrics are called, how they are defined, and how their numbers are written."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from reflection_app.metrics.values import Figure, Unit
from reflection_app.web.template_filters import at_least, duration, money

MODES: dict[str, str | Promise] = {
    "adaptive": gettext_lazy("Adaptive"),
    "external_loop": gettext_lazy("External check"),
    "actor_critic": gettext_lazy("Actor and critic"),
    "reflexion": gettext_lazy("Reflexion"),
    "planning": gettext_lazy("Planning"),
    "inline_reflection": gettext_lazy("Inline reflection"),
    "reflection_protocol": gettext_lazy("Reflection protocol"),
    "tool_diagnosis": gettext_lazy("Tool diagnosis"),
    "completeness_check": gettext_lazy("Completeness check"),
    "error_reflection": gettext_lazy("Looking for errors"),
    "memory_reflection": gettext_lazy("Looking for what to remember"),
    "merge_suggestion": gettext_lazy("Suggesting a merge"),
}


def share_words(share: float) -> str:
    """`82 %`, and with a digit more where a whole percent would hide that there is some, or that there is not all."""
    percent = share * 100
    digits = 1 if 0 < percent < 1 or 99 < percent < 100 else 0
    return f"{percent:.{digits}f} %"


def span_words(seconds: float) -> str:
    """A time of people: `40 s`, `3 min`, `2 h 10 min`, `3.5 d`."""
    if seconds >= 2 * 86_400:
        return _("%(number)s d") % {"number": f"{seconds / 86_400:.1f}"}
    if 0 < seconds < 1:
        return _("%(number)s s") % {"number": "< 1"}
    return duration(seconds if seconds < 3600 else round(seconds / 60) * 60)


WRITTEN: dict[Unit, Callable[[float], str]] = {
    Unit.SHARE: share_words,
    Unit.COUNT: lambda value: f"{value:,.0f}",
    Unit.TOKENS: lambda value: f"{value:,.0f}",
    Unit.MEAN: lambda value: f"{value:,.2f}",
    Unit.MS: lambda value: duration(value / 1000),
    Unit.SECONDS: span_words,
    Unit.USD: lambda value: money(Decimal(repr(value))),
}


def number_words(value: float | None, unit: Unit) -> str:
    """The number with its unit, as short as it can be read; a dash where there is none."""
    return "–" if value is None else WRITTEN[unit](value)


def figure_words(figure: Figure) -> str:
    """The same, and of money of which not all is known that it is at least so much."""
    if not figure.is_at_least:
        return number_words(figure.value, figure.unit)
    return at_least(None if figure.value is None else Decimal(repr(figure.value)))


def interval_words(figure: Figure) -> str:
    """`78–86 %`, or nothing where there is no interval."""
    if figure.low is None or figure.high is None:
        return ""
    return f"{figure.low * 100:.0f}–{figure.high * 100:.0f} %"


def runs_words(count: int) -> str:
    return ngettext("%(count)s run", "%(count)s runs", count) % {"count": f"{count:,}"}


def mode_words(mode: str) -> str:
    return str(MODES.get(mode, mode))


@dataclass(frozen=True)
class Words:
    """A figure's name and definition; `better` is the direction that is good, where there is one."""

    label: str | Promise
    meaning: str | Promise
    better: str = ""


FIGURES: dict[str, Words] = {
    "success_rate_with_reflection": Words(
        gettext_lazy("Success with reflection"),
        gettext_lazy("Of the runs that allowed a second attempt, those that succeeded in the end."),
        "up",
    ),
    "success_rate_without_reflection": Words(
        gettext_lazy("Success without it"),
        gettext_lazy("Of the same runs, those whose first attempt succeeded."),
        "up",
    ),
    "improvement_rate": Words(
        gettext_lazy("Failures turned around"),
        gettext_lazy("Of the runs whose first attempt failed, those that succeeded in the end."),
        "up",
    ),
    "reflection_effectiveness": Words(
        gettext_lazy("Reflections that helped"),
        gettext_lazy("Of the reflections, those whose next attempt scored higher or succeeded."),
        "up",
    ),
    "over_correction_rate": Words(
        gettext_lazy("Made worse at the end"),
        gettext_lazy("Of the runs with two scores or more, those whose last is below their best."),
        "down",
    ),
    "success_rate": Words(gettext_lazy("Success"), gettext_lazy("Of all finished runs, those that succeeded."), "up"),
    "success_on_first_try": Words(
        gettext_lazy("Succeeded at once"),
        gettext_lazy("Of all runs whose first attempt could be judged, those where it succeeded."),
        "up",
    ),
    "avg_iterations_per_task": Words(
        gettext_lazy("Attempts per run"), gettext_lazy("Mean attempts of the runs that made any."), "down"
    ),
    "avg_iterations_to_success": Words(
        gettext_lazy("Attempts to success"), gettext_lazy("Mean attempts of the runs that succeeded."), "down"
    ),
    "total_reasoning_attempts": Words(gettext_lazy("Attempts"), gettext_lazy("Attempts of all runs together.")),
    "reflection_enabled_tasks": Words(
        gettext_lazy("Tasks with reflection"),
        gettext_lazy("Tasks with a finished run that allowed a second attempt."),
    ),
    "runs": Words(gettext_lazy("Finished runs"), gettext_lazy("Runs of tasks, without forks and redos.")),
    "avg_latency_per_iteration_ms": Words(
        gettext_lazy("Time per attempt"),
        gettext_lazy("Mean working time of one attempt with its verdict; waiting for people is not counted."),
        "down",
    ),
    "tokens": Words(
        gettext_lazy("Tokens"),
        gettext_lazy("In and out, of all model calls: also those of forks, redos and what the desk did by itself."),
    ),
    "avg_tokens_per_reflection": Words(
        gettext_lazy("Tokens per reflection"),
        gettext_lazy("Tokens of evaluating and reflecting, for each attempt that was sent back."),
        "down",
    ),
    "cost_usd": Words(
        gettext_lazy("Cost"), gettext_lazy("Of all model calls, as far as their prices are known."), "down"
    ),
    "cost_usd_per_success": Words(
        gettext_lazy("Cost per success"), gettext_lazy("What was spent on everything, for each success."), "down"
    ),
    "found_incomplete": Words(
        gettext_lazy("Found incomplete"),
        gettext_lazy("Of the completeness checks that could tell, those that found something missing."),
        "down",
    ),
    "supplements_per_task": Words(
        gettext_lazy("Supplements per run"), gettext_lazy("Supplements that checks asked for, for each checked run.")
    ),
    "exec_used": Words(gettext_lazy("Runs with supplements"), gettext_lazy("Runs in which a supplement was done.")),
    "exec_attempted": Words(
        gettext_lazy("Steps tried"), gettext_lazy("Steps of the plans of checked runs that carried supplements out.")
    ),
    "exec_succeeded": Words(gettext_lazy("Steps that worked"), gettext_lazy("Of those steps, those that worked.")),
    "exec_success_rate": Words(
        gettext_lazy("Supplement steps that worked"),
        gettext_lazy("Of the steps tried in runs that carried supplements out, those that worked."),
        "up",
    ),
    "queue_length": Words(gettext_lazy("Waiting now"), gettext_lazy("Reviews that are open at this moment."), "down"),
    "oldest_age_s": Words(
        gettext_lazy("Longest wait now"), gettext_lazy("How long the oldest of them has been open."), "down"
    ),
    "decided": Words(gettext_lazy("Decided"), gettext_lazy("Reviews that people decided in this time.")),
    "time_to_decision_p50_s": Words(
        gettext_lazy("Time to decision, half"),
        gettext_lazy("Half of the decided reviews were decided within this time."),
        "down",
    ),
    "time_to_decision_p95_s": Words(
        gettext_lazy("Time to decision, 95 %"),
        gettext_lazy("95 in 100 decided reviews were decided within this time."),
        "down",
    ),
    "overrule_rate": Words(
        gettext_lazy("Overruled"), gettext_lazy("Of the decided reviews, those where people said otherwise."), "down"
    ),
}
