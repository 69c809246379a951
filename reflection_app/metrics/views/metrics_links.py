"""The addresses of the runs behind a figure or a bar."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from urllib.parse import urlencode

from django.urls import reverse

from reflection_app.metrics.values import Chosen, ChosenHour, Point
from reflection_app.metrics.views.metrics_choice import as_fields


@dataclass(frozen=True)
class Links:
    slug: str
    chosen: Chosen

    def runs(self, figure: str, key: str = "") -> str:
        """The runs behind the figure, or behind the bar `key` of a family of bars."""
        given = {"figure": figure} | ({"key": key} if key else {}) | as_fields(self.chosen)
        return f"{reverse('runs', kwargs={'slug': self.slug})}?{urlencode(given)}"

    def of_points(self, points: Sequence[Point]) -> Iterator[tuple[Point, "Links"]]:
        """Each piece of the period with the links of its own hour or days."""
        if points and "T" in points[0].start:
            yield from self._of_hours(points)
            return
        starts = [date.fromisoformat(point.start[:10]) for point in points]
        ends = [start - timedelta(days=1) for start in starts[1:]] + [self.chosen.until]
        for point, start, end in zip(points, starts, ends, strict=True):
            since = max(start, self.chosen.since)
            yield point, replace(self, chosen=replace(self.chosen, since=since, until=max(since, end)))

    def _of_hours(self, points: Sequence[Point]) -> Iterator[tuple[Point, "Links"]]:
        for point in points:
            at = datetime.fromisoformat(point.start)
            of_day = vars(self.chosen) | {"since": at.date(), "until": at.date()}
            yield point, replace(self, chosen=ChosenHour(**of_day, hour=at.hour))
