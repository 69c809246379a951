"""Which critic the page of calibration is about, as its address says it, and the addresses of others."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from reflection_app.loops.storable import storable
from reflection_app.metrics.calibration import VERDICTS
from reflection_app.metrics.calibration_figures import CalibrationFigures
from reflection_app.metrics.compared import Critic, CriticCalibration
from reflection_app.metrics.critic_rows import Judging
from reflection_app.metrics.views.metrics_choice import Asked

LONGEST_TEXT = 200


@dataclass(frozen=True)
class Choice:
    """`said` and `people` name a cell of the matrix, or are empty."""

    shown: CriticCalibration | None
    said: str
    people: str


def read_choice(query: Mapping[str, str], found: CalibrationFigures) -> Choice:
    """The critic that the address names, else the one of which most is known."""
    source, model, version = (storable(query.get(name, ""))[:LONGEST_TEXT] for name in ("source", "critic", "version"))
    named = (
        one
        for one in found.critics
        if (one.critic.source.value, one.critic.model, one.critic.version) == (source, model, version)
    )
    said, people = (verdict if (verdict := query.get(name, "")) in VERDICTS else "" for name in ("said", "people"))
    return Choice(next(named, found.critics[0] if found.critics else None), said, people)


def judging_of(asked: Asked) -> Judging:
    """The verdicts of the period and the runs that the page's filters name."""
    chosen = asked.chosen
    return Judging(chosen.since, chosen.until, agent=chosen.agent, mode=chosen.mode, kind=chosen.kind)


def query_of(asked: Asked, critic: Critic, **more: str) -> str:
    """The address of the page about this critic, with the period as it is."""
    return urlencode(
        {**asked.fields, "source": critic.source.value, "critic": critic.model, "version": critic.version, **more}
    )
