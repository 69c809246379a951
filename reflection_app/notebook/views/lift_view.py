"""Lessons' lift as pages show it: figures, the interval as a drawing, and words."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from notebook_app.public import Claim, Interval, KeptExposure, LessonLift, Measured, exposures_of, lift_of
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.notebook.views.lift_words import BADGES, CLAIMS, needs_words, points, reason_words, why_words
from reflection_app.runs.models import Run

EXPOSURES_SHOWN = 20


@dataclass(frozen=True)
class Drawing:
    """An interval within −100 to +100 points, in percent of the width."""

    low: float
    width: float
    at: float
    leans: str

    @classmethod
    def of(cls, interval: Interval) -> "Drawing":
        low, high, at = ((share + 1) * 50 for share in (interval.low, interval.high, interval.estimate))
        leans = "both" if interval.has_zero else "up" if interval.low > 0 else "down"
        return cls(low=low, width=max(high - low, 0.5), at=at, leans=leans)


@dataclass(frozen=True)
class LiftView:
    """One lesson's figures with their words. `claim` is what may be said of it where it is shown."""

    measured: Measured
    claim: Claim

    @property
    def words(self) -> str:
        return str(CLAIMS[self.claim])

    @property
    def badge(self) -> str:
        return BADGES[self.claim][0]

    @property
    def icon(self) -> str:
        return BADGES[self.claim][1]

    @property
    def why(self) -> str:
        return why_words(self.measured, self.claim)

    @property
    def needs(self) -> str:
        return needs_words(self.measured)

    @property
    def reason(self) -> str:
        return reason_words(self.measured)

    @property
    def difference(self) -> str:
        return points(self.measured.difference.estimate) if self.measured.difference else ""

    @property
    def bounds(self) -> tuple[str, str]:
        found = self.measured.difference
        return (points(found.low), points(found.high)) if found else ("", "")

    @property
    def drawing(self) -> Drawing | None:
        return Drawing.of(self.measured.difference) if self.measured.difference else None


@dataclass(frozen=True)
class LiftRow:
    """One lesson of the list."""

    lesson: LessonLift
    view: LiftView


@dataclass(frozen=True)
class ExposureLine:
    """One draw; `run` is the run of this project that it was for, None of an outside agent's work."""

    exposure: KeptExposure
    run: Run | None


def rows_of(lessons: Iterable[LessonLift]) -> list[LiftRow]:
    return [LiftRow(lesson, LiftView(lesson.measured, lesson.claim)) for lesson in lessons]


def lift_context(project: Project, entry_id: UUID) -> dict[str, object]:
    """What notebook/_lift.html shows of one entry: its lift by itself, and its newest draws."""
    measured = lift_of(project.pk, entry_id, share=project.get_notebook().holdout_share)
    page = exposures_of(project.pk, entry_id, limit=EXPOSURES_SHOWN)
    return {
        "lift": LiftView(measured, measured.alone),
        "exposure_lines": exposure_lines(project, page.exposures),
        "has_more_exposures": page.last is not None,
    }


def exposure_lines(project: Project, exposures: list[KeptExposure]) -> list[ExposureLine]:
    ids = {found for one in exposures if (found := id_from(one.subject))}
    runs = Run.objects.select_related("task").defer("spec").filter(project=project).in_bulk(list(ids))
    return [ExposureLine(one, runs.get(id_from(one.subject))) for one in exposures]
