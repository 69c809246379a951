"""Reading a data set piece by piece, by REST, as a file and on the page alike: no query and no memory is held for all.

What a row is made of is called its source: a run, a review. Sources are read in the order of a moment that
never changes, each piece after the last source of the one before; one source may make several rows, or none.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from reflection_app.metrics.datasets.asking import Asked, Place
from reflection_app.metrics.datasets.people import People
from reflection_app.metrics.datasets.rows import DatasetRow

PIECE = 200
# Where few sources make rows, an answer ends after so many of them and says where to go on.
MOST_LOOKED_AT = 5_000


@dataclass(frozen=True)
class Sources[M: Model]:
    """What a data set is made of: the rows of a table in the order of a moment, and how a piece becomes rows."""

    moment: str
    wanted: Callable[[Asked], QuerySet[M]]
    rows_of: Callable[[Sequence[M], Asked, People], list[DatasetRow]]

    def of(self, asked: Asked) -> QuerySet[M]:
        """All sources of the rows that are asked for."""
        period = {f"{self.moment}__lt": asked.until}
        if asked.query.since is not None:
            period[f"{self.moment}__gte"] = asked.query.since
        return self.wanted(asked).filter(**period).order_by(self.moment, "pk")

    def pieces(self, asked: Asked, *, size: int = PIECE) -> "Iterator[Piece]":
        """The rows in their order, a piece at a time."""
        people, place = People(asked.project.pk, anonymous=asked.query.anonymous), asked.after
        while True:
            rows = self.of(asked)
            if place is not None:
                # Of a source that rows are left of, once more.
                own = "pk__gt" if place.part is None else "pk__gte"
                beyond = Q(**{f"{self.moment}__gt": place.at}) | Q(**{own: place.source})
                rows = rows.filter(beyond, **{f"{self.moment}__gte": place.at})
            sources = list(rows[:size])
            if not sources:
                return
            last = Place(getattr(sources[-1], self.moment), sources[-1].pk)
            made = self.rows_of(sources, asked, people)
            yield Piece(
                [row for row in made if place is None or Place.behind(row).order > place.order], len(sources), last
            )
            if len(sources) < size:
                return
            place = last


@dataclass(frozen=True)
class Together:
    """Sources of several tables as one, in the order of their moments."""

    parts: tuple[Sources[Any], ...]

    def pieces(self, asked: Asked, *, size: int = PIECE) -> "Iterator[Piece]":
        """As of one table: up to where every table has been read, its rows in their order."""
        place = asked.after
        while True:
            read = [next(part.pieces(replace(asked, after=place), size=size), None) for part in self.parts]
            found = [piece for piece in read if piece is not None]
            if not found:
                return
            # Behind the end of a piece that is full there may be more of its table, before what others have.
            ends = [piece.end for piece in found if piece.looked_at == size]
            end = min(ends or [max((piece.end for piece in found), key=_order)], key=_order)
            rows = [row for piece in found for row in piece.rows if Place.behind(row).order <= end.order]
            looked_at = sum(piece.looked_at for piece in found)
            yield Piece(sorted(rows, key=lambda row: Place.behind(row).order), looked_at, end)
            if not ends:
                return
            place = end


def _order(place: Place) -> tuple[datetime, UUID, float]:
    return place.order


@dataclass(frozen=True)
class Piece:
    rows: list[DatasetRow]
    looked_at: int
    end: Place


@dataclass(frozen=True)
class Read:
    """Some rows, and behind which place the next ones are; None where there are no more."""

    rows: list[DatasetRow]
    next: Place | None


def read_some(sources: Sources[Any] | Together, asked: Asked, *, limit: int) -> Read:
    """The first `limit` rows that are asked for, or fewer where they are far between."""
    found: list[DatasetRow] = []
    looked_at = 0
    for piece in sources.pieces(asked, size=limit + 1):
        found += piece.rows
        looked_at += piece.looked_at
        if len(found) > limit:
            return Read(found[:limit], Place.behind(found[limit - 1]))
        if looked_at >= MOST_LOOKED_AT:
            return Read(found, piece.end)
    return Read(found, None)
