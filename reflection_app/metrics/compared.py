"""What critics said beside what people said, critic by critic. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from reflection_app.metrics.calibration import Calibration, Judged, calibration_of


class JudgementSource(StrEnum):
    """DESK: the runs of this project. IMPORTED: judgements from elsewhere."""

    DESK = "desk"
    IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class Critic:
    """A model with a version of its prompt. What came from elsewhere is never put together with the desk's own."""

    source: JudgementSource
    model: str
    version: str


@dataclass(frozen=True, slots=True)
class Compared:
    """`behind` is the review of the desk, or the imported item."""

    critic: Critic
    judged: Judged
    behind: UUID


@dataclass(frozen=True)
class CriticCalibration:
    critic: Critic
    calibration: Calibration


def majority(verdicts: Iterable[str]) -> str | None:
    """The verdict that more than half of the people gave; None where there is no such one."""
    said = Counter(verdicts)
    if not said:
        return None
    verdict, times = said.most_common(1)[0]
    return verdict if 2 * times > said.total() else None


def by_critic(rows: Sequence[Compared]) -> tuple[CriticCalibration, ...]:
    """Each critic with its figures, those of which most is known first."""
    found: dict[Critic, list[Judged]] = {}
    for row in rows:
        found.setdefault(row.critic, []).append(row.judged)
    in_order = sorted(found.items(), key=lambda item: (-len(item[1]), item[0].source, item[0].model, item[0].version))
    return tuple(CriticCalibration(critic, calibration_of(judged)) for critic, judged in in_order)
