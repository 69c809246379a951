"""How the figures of calibration are named and written."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from reflection_app.metrics.calibration import Calibration
from reflection_app.metrics.compared import Critic, JudgementSource
from reflection_app.metrics.intervals import Interval
from reflection_app.metrics.reliability import Reliability
from reflection_app.metrics.views.metrics_words import share_words

VERDICT_WORDS = {"PASS": gettext_lazy("Pass"), "REVISE": gettext_lazy("Revise"), "REJECT": gettext_lazy("Reject")}
SOURCES = {JudgementSource.DESK: gettext_lazy("This desk"), JudgementSource.IMPORTED: gettext_lazy("Imported")}


@dataclass(frozen=True)
class Shown:
    """A figure as the page shows it."""

    label: str | Promise
    meaning: str | Promise
    value: str
    interval: str = ""


def verdict_words(verdict: str) -> str:
    return str(VERDICT_WORDS.get(verdict, verdict))


def critic_words(critic: Critic) -> str:
    """The critic's name; its model is not always known."""
    return critic.model or _("unknown model")


def interval_text(interval: Interval | None) -> str:
    """`78–86 %`, with a digit more where it is narrow."""
    if interval is None:
        return ""
    digits = 1 if interval.high - interval.low < 0.02 else 0
    return f"{interval.low * 100:.{digits}f}–{interval.high * 100:.{digits}f} %"


def share_text(interval: Interval | None) -> str:
    return "–" if interval is None else share_words(interval.estimate)


def kappa_text(interval: Interval | None) -> str:
    return "–" if interval is None else f"{interval.estimate:.2f}".replace("-", "−")


def kappa_interval(interval: Interval | None) -> str:
    return "" if interval is None else _("%(low)s to %(high)s") % _bounds(interval, "{:.2f}", times=1)


def points_text(interval: Interval | None) -> str:
    """A difference of shares in points of a percent, with its sign."""
    return "–" if interval is None else f"{interval.estimate * 100:+.0f} %".replace("-", "−")


def points_interval(interval: Interval | None) -> str:
    return "" if interval is None else _("%(low)s to %(high)s") % _bounds(interval, "{:+.0f} %", times=100)


def _bounds(interval: Interval, form: str, *, times: int) -> dict[str, str]:
    bounds = {"low": interval.low, "high": interval.high}
    return {name: form.format(bound * times).replace("-", "−") for name, bound in bounds.items()}


def headline(found: Calibration) -> list[Shown]:
    """The figures of one critic, the most telling first."""
    return [
        _share(_("Agreement"), _("The share of the critic's verdicts that people give, too."), found.agreed),
        Shown(
            _("Cohen's κ"),
            _("Agreement beyond what chance alone would bring: 1 is full, 0 is as good as chance."),
            kappa_text(found.kappa),
            kappa_interval(found.kappa),
        ),
        _share(_("Precision of Pass"), _("Of what the critic passes, what people pass."), found.precision),
        _share(_("Recall of Pass"), _("Of what people pass, what the critic passes."), found.recall),
        _share(_("Let through"), _("Of what people send back, what the critic passes."), found.false_pass),
        _share(_("Held up"), _("Of what people pass, what the critic sends back."), found.false_fail),
        *_of_confidence(found.reliability),
    ]


def _of_confidence(found: Reliability) -> list[Shown]:
    """Nothing where the critic gave no confidence."""
    if found.error is None:
        return []
    return [
        Shown(
            _("Calibration error"),
            _("How far confidence and being right lie apart, on average; chance alone makes it a little more than 0."),
            share_words(found.error),
        ),
        Shown(
            _("Overconfidence"),
            _("Mean confidence minus how often it was right. Above 0, it is surer than it should be."),
            points_text(found.overconfidence),
            points_interval(found.overconfidence),
        ),
    ]


def _share(label: str, meaning: str, interval: Interval | None) -> Shown:
    return Shown(label, meaning, share_text(interval), interval_text(interval))
