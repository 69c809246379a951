"""All that calibration says of a project's critics: by the desk's own reviews, and by judgements from elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from reflection_app.metrics.compared import Compared, Critic, CriticCalibration, by_critic
from reflection_app.metrics.critic_rows import Drawn, Judging, compared_verdicts, still_to_come
from reflection_app.metrics.imported_judgements import Undecided, compared_items


@dataclass(frozen=True)
class CalibrationFigures:
    """`critics`: those of which most is known first. `rows` is what they are of, newest first within each source."""

    critics: tuple[CriticCalibration, ...]
    rows: Sequence[Compared]
    drawn: Drawn
    undecided: Undecided

    def behind(self, critic: Critic, *, said: str = "", people: str = "") -> list[Compared]:
        """What the critic's figures are of: all of it, or what it and people gave these verdicts."""
        return [
            row
            for row in self.rows
            if row.critic == critic
            and (not said or row.judged.critic == said)
            and (not people or row.judged.people == people)
        ]


def calibration_figures(project_id: UUID, judging: Judging) -> CalibrationFigures:
    """The figures of the project. What comes from elsewhere has no day or agent, so all of it counts."""
    items, undecided = compared_items(project_id)
    rows = [*compared_verdicts(project_id, judging), *items]
    return CalibrationFigures(by_critic(rows), rows, still_to_come(project_id, judging), undecided)
