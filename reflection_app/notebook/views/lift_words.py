"""What the lift of a lesson says, in the words of the pages: no more than the looks allow."""

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from notebook_app.public import Claim, Measured

CLAIMS: dict[Claim, str | Promise] = {
    Claim.HARMS: gettext_lazy("Harms"),
    Claim.PERHAPS_HARMS: gettext_lazy("Perhaps harms"),
    Claim.HELPS: gettext_lazy("Helps"),
    Claim.PERHAPS_HELPS: gettext_lazy("Perhaps helps"),
    Claim.NO_HELP: gettext_lazy("Does not help much"),
    Claim.OPEN: gettext_lazy("Cannot be told yet"),
}
BADGES = {
    Claim.HARMS: ("bad", "cross"),
    Claim.PERHAPS_HARMS: ("warn", "warning"),
    Claim.NO_HELP: ("plain", "stop"),
    Claim.OPEN: ("wait", "clock"),
    Claim.PERHAPS_HELPS: ("plain", "info"),
    Claim.HELPS: ("good", "check"),
}
BY_LOOK = (Claim.HARMS, Claim.PERHAPS_HARMS, Claim.HELPS, Claim.PERHAPS_HELPS)


def points(difference: float) -> str:
    """`+12`, `−3` or `0`, in points of a hundred."""
    rounded = round(difference * 100)
    return f"+{rounded}" if rounded > 0 else f"−{-rounded}" if rounded < 0 else "0"


def why_words(measured: Measured, claim: Claim) -> str:
    """Why this is said of the lesson, and nothing more."""
    look = measured.judged.decisive
    if claim in BY_LOOK and look is not None:
        said = _("At the look with %(size)s outcomes in the smaller arm.") % {"size": look.size}
        if claim in {Claim.PERHAPS_HARMS, Claim.PERHAPS_HELPS}:
            said += " " + _("Among so many lessons, one may look like this by chance.")
        return said
    if claim is Claim.NO_HELP:
        return _("After %(looks)s looks, even the upper end of the interval is below 10 points.") % {
            "looks": len(measured.judged.looks)
        }
    return needs_words(measured)


def needs_words(measured: Measured) -> str:
    """About how many more runs it takes until something can be told."""
    needed = measured.needed
    if not measured.outcomes.highest_share:
        return _("Nothing is withheld, so nothing can be told.")
    if needed.more_runs is None:
        return _("Out of reach: it would take more than 100,000 runs. Withhold a larger share.")
    runs = ngettext("Needs about one more run", "Needs about %(runs)s more runs", needed.more_runs) % {
        "runs": f"{needed.more_runs:,}"
    }
    if needed.is_observed:
        return (
            runs
            + " "
            + _("if the difference is as large as it looks (%(points)s points).")
            % {"points": points(needed.difference)}
        )
    return runs + " " + _("to find a difference of %(points)s points.") % {"points": round(needed.difference * 100)}


def reason_words(measured: Measured) -> str:
    """A reason for retiring the lesson, with its figures as they are now."""
    difference = measured.difference
    if difference is None:
        return ""
    said = (
        _("First attempts succeeded less often with it: %(figures)s.")
        if difference.estimate < 0
        else _("It does not help: %(figures)s.")
    )
    figures = _("%(points)s points, 95 %% interval %(low)s to %(high)s, over %(runs)s runs") % {
        "points": points(difference.estimate),
        "low": points(difference.low),
        "high": points(difference.high),
        "runs": f"{measured.total:,}",
    }
    return said % {"figures": figures}
