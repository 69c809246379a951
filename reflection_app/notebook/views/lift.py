"""Lessons' lift as pages show it: figures, the interval as a drawing, and words."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from notebook_app.lift_list import Claim, LessonLift, Measured, exposures_of, lift_of
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.runs.models import Run

# What the lift of a lesson says, in the words of the pages: no more than the looks allow.

# By color and icon, in the order in which lists show them.
BADGES = {
    Claim.HARMS: ("bad", "cross"),
    Claim.PERHAPS_HARMS: ("warn", "warning"),
    Claim.HELPS: ("good", "check"),
    Claim.PERHAPS_HELPS: ("plain", "info"),
    Claim.NO_HELP: ("plain", "stop"),
    Claim.OPEN: ("wait", "clock"),
}
BY_LOOK = (Claim.HARMS, Claim.PERHAPS_HARMS, Claim.HELPS, Claim.PERHAPS_HELPS)


def points(difference: float) -> str:
    """`+12`, `−3` or `0`, in points of a hundred."""
    rounded = round(difference * 100)
    return f"+{rounded}" if rounded > 0 else f"−{-rounded}" if rounded < 0 else "0"


EXPOSURES_SHOWN = 20


@dataclass(frozen=True)
class LiftView:
    """One lesson's figures with their words. `claim` is what may be said of it where it is shown."""

    measured: Measured
    claim: Claim

    @property
    def badge(self) -> tuple[str, str]:
        return BADGES[self.claim]

    @property
    def why(self) -> str:
        """Why this is said of the lesson, and nothing more."""
        judged = self.measured.judged
        if self.claim in BY_LOOK and judged.decisive is not None:
            said = _("At the interim analysis with %(size)s outcomes in the smaller group.") % {
                "size": judged.decisive.size
            }
            if self.claim in {Claim.PERHAPS_HARMS, Claim.PERHAPS_HELPS}:
                said += " " + _("Among this many lessons, this can be chance.")
            return said
        if self.claim is Claim.NO_HELP:
            said = _("After %(looks)s interim analyses, the upper end of the interval is below 10 points.")
            return said % {"looks": len(judged.looks)}
        return self.needs

    @property
    def brief(self) -> str:
        """Why this is said, in as few words as stand in a line; `why` tells it in full."""
        judged, needed = self.measured.judged, self.measured.needed
        if self.claim in BY_LOOK and judged.decisive is not None:
            return _("analysis at n = %(size)s") % {"size": judged.decisive.size}
        if self.claim is Claim.NO_HELP:
            return ngettext("%(looks)s interim analysis", "%(looks)s interim analyses", len(judged.looks)) % {
                "looks": len(judged.looks)
            }
        if not self.measured.outcomes.highest_share:
            return _("no control group")
        if needed.more_runs is None:
            return _("over 100,000 more runs")
        return ngettext("%(runs)s more run", "about %(runs)s more runs", needed.more_runs) % {
            "runs": f"{needed.more_runs:,}"
        }

    @property
    def needs(self) -> str:
        """About how many more runs it takes until something can be told."""
        needed = self.measured.needed
        if not self.measured.outcomes.highest_share:
            return _("Without a control group, lift cannot be measured.")
        if needed.more_runs is None:
            return _("Out of reach: more than 100,000 runs needed. Enlarge the control group.")
        runs = ngettext("Needs about one more run", "Needs about %(runs)s more runs", needed.more_runs)
        if needed.is_observed:
            until = _("if the true difference is as large as observed (%(points)s points).")
            until %= {"points": points(needed.difference)}
        else:
            until = _("to detect a difference of %(points)s points.") % {"points": round(needed.difference * 100)}
        return f"{runs % {'runs': f'{needed.more_runs:,}'}} {until}"

    @property
    def reason(self) -> str:
        """A reason for retiring the lesson, with its figures as they are now."""
        difference = self.measured.difference
        if difference is None:
            return ""
        figures = _("%(points)s points, 95 %% interval %(low)s to %(high)s, over %(runs)s runs") % {
            "points": points(difference.estimate),
            "low": points(difference.low),
            "high": points(difference.high),
            "runs": f"{self.measured.total:,}",
        }
        if difference.estimate < 0:
            return _("First attempts succeeded less often with it: %(figures)s.") % {"figures": figures}
        return _("No benefit: %(figures)s.") % {"figures": figures}

    @property
    def difference(self) -> str:
        return points(self.measured.difference.estimate) if self.measured.difference else ""

    @property
    def bounds(self) -> tuple[str, str]:
        found = self.measured.difference
        return (points(found.low), points(found.high)) if found else ("", "")

    @property
    def drawing(self) -> dict[str, Any] | None:
        """The interval within −100 to +100 points, in percent of the width."""
        interval = self.measured.difference
        if interval is None:
            return None
        low, high, at = ((share + 1) * 50 for share in (interval.low, interval.high, interval.estimate))
        leans = "both" if interval.has_zero else "up" if interval.low > 0 else "down"
        return {"low": low, "width": max(high - low, 0.5), "at": at, "leans": leans}


def rows_of(lessons: Iterable[LessonLift]) -> list[dict[str, object]]:
    return [{"lesson": lesson, "view": LiftView(lesson.measured, lesson.claim)} for lesson in lessons]


def lift_context(project: Project, entry_id: UUID) -> dict[str, object]:
    """What notebook/_lift.html shows of one entry: its lift by itself, and its newest draws.

    A draw has the run of this project that it was for, and none where it was an outside agent's work.
    """
    measured = lift_of(project.pk, entry_id, share=project.get_notebook().holdout_share)
    page = exposures_of(project.pk, entry_id, limit=EXPOSURES_SHOWN)
    ids = {found for one in page.exposures if (found := id_from(one.subject))}
    runs = Run.objects.select_related("task").defer("spec").filter(project=project).in_bulk(list(ids))
    return {
        "lift": LiftView(measured, measured.alone),
        "exposure_lines": [{"exposure": one, "run": runs.get(id_from(one.subject))} for one in page.exposures],
        "has_more_exposures": page.last is not None,
    }
