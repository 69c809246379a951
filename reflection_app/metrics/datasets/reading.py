"""Reading a data set piece by piece, by REST, as a file and on the page alike: no query and no memory is held for all.

What a row is made of is called its source: a run, a review, a reflector. Sources are read in the order of a moment that
never changes, each piece after the last source of the one before; one source may make several rows, or none.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import inf
from typing import Any
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from django.utils import timezone
from pydantic import TypeAdapter, ValidationError

from reflection_app.core.errors import wrong
from reflection_app.core.models import Project
from reflection_app.loops.storable import Moment
from reflection_app.metrics.datasets.people import People
from reflection_app.metrics.datasets.rows import DatasetRow

# What is committed by now may have been stamped a moment ago; younger rows are left for the next read, so that a second
# one up to the same moment finds the same, and one that goes on from there misses none.
SETTLED_AFTER = timedelta(seconds=5)
PIECE = 200
# Where few sources make rows, an answer ends after so many of them and says where to go on.
MOST_LOOKED_AT = 5_000
MOST_COUNTED = 100_000
_MOMENT = TypeAdapter[datetime](Moment)


@dataclass(frozen=True)
class Place:
    """Behind one row, or behind all of its source's where `part` is None."""

    at: datetime
    source: UUID
    part: int | None = None

    @classmethod
    def read(cls, cursor: str) -> "Place":
        """The place that a cursor names: `at` and `id` of a row with a ~ between. Raises InvalidInput."""
        at, _, row = cursor.partition("~")
        named = re.fullmatch(r"([0-9a-f-]{36})(?:\.([0-9]{1,9}))?", row)
        try:
            if named is None:
                raise ValueError("no id")
            part = int(named[2]) if named[2] else None
            return cls(_MOMENT.validate_python(at), UUID(named[1]), part)
        except (ValueError, ValidationError):
            raise wrong("cursor", "It is no cursor: take `next`, or `at` and `id` of a row with a ~ between.") from None

    @property
    def order(self) -> tuple[datetime, UUID, float]:
        """By which places come one after another."""
        return self.at, self.source, inf if self.part is None else self.part

    @classmethod
    def behind(cls, row: DatasetRow) -> "Place":
        source, _, part = row.id.partition(".")
        return cls(row.at, UUID(source), int(part) if part else None)

    def __str__(self) -> str:
        at = self.at.isoformat().replace("+00:00", "Z")
        return f"{at}~{self.source}" + (f".{self.part}" if self.part is not None else "")


@dataclass(frozen=True)
class Asked:
    """Which rows are asked for. `until` is settled: nothing before it comes any more."""

    project: Project
    until: datetime
    since: datetime | None = None
    agent: str = ""
    kind: str = ""
    mode: str = ""
    outcome: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    scripted: bool = False
    anonymous: bool = False
    after: Place | None = None

    def of_task(self, task: str, *, run: str) -> dict[str, Any]:
        """What is asked of tasks and runs, as lookups by the paths to them, such as `run__task__`."""
        wanted = {
            f"{task}agent": self.agent,
            f"{task}kind": self.kind,
            f"{run}mode": self.mode,
            f"{run}outcome": self.outcome,
            f"{task}metadata__contains": dict(self.metadata),
        }
        return {lookup: value for lookup, value in wanted.items() if value}


def settled_until(until: datetime | None) -> datetime:
    """The moment up to which rows can be told for good, at most the one wished for."""
    settled = timezone.now() - SETTLED_AFTER
    return min(until, settled) if until else settled


@dataclass(frozen=True)
class Sources[M: Model]:
    """What a data set is made of: the rows of a table in the order of a moment, and how a piece becomes rows."""

    moment: str
    wanted: Callable[[Asked], QuerySet[M]]
    rows_of: Callable[[Sequence[M], Asked, People], list[DatasetRow]]

    def of(self, asked: Asked) -> QuerySet[M]:
        """All sources of the rows that are asked for."""
        period = {f"{self.moment}__lt": asked.until}
        if asked.since is not None:
            period[f"{self.moment}__gte"] = asked.since
        return self.wanted(asked).filter(**period).order_by(self.moment, "pk")

    def pieces(self, asked: Asked, *, size: int = PIECE) -> "Iterator[Piece]":
        """The rows in their order, a piece at a time."""
        people, place = People(asked.project.pk, anonymous=asked.anonymous), asked.after
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

    def count(self, asked: Asked) -> int:
        """How many sources there are; MOST_COUNTED where there are more."""
        return self.of(asked)[:MOST_COUNTED].count()


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

    def count(self, asked: Asked) -> int:
        """How many sources there are; MOST_COUNTED where there are more."""
        return min(MOST_COUNTED, sum(part.count(asked) for part in self.parts))


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
