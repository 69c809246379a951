"""A required file that nobody has seen is no pass where requirements alone judge."""

from typing import Any

import pytest

from reflection_app.loops.attempt_effects import InspectFiles
from reflection_app.loops.completeness.files import FileFacts, FileKind, FileRequirement, FilesInspected
from reflection_app.loops.effects import AnyEffect
from reflection_app.loops.requirements import Requirements
from reflection_app.loops.verdicts import Outcome
from tests.loops.playing import play
from tests.loops.protocol.playing import Desk, protocol_spec

CHART = FileFacts(name="chart.png", sha256="a" * 64, kind=FileKind.IMAGE)


@pytest.mark.parametrize(
    ("facts", "shows", "outcome"),
    [
        (CHART, "", Outcome.SUCCEEDED),
        (CHART, "a bar chart with a legend", Outcome.UNVERIFIED),
        (CHART.model_copy(update={"is_whole": False}), "", Outcome.UNVERIFIED),
        (CHART.model_copy(update={"could_look": False}), "", Outcome.UNVERIFIED),
    ],
    ids=["opened", "no model looked at the picture", "not looked at to its end", "not opened"],
)
def test_what_nobody_saw_of_a_file_is_neither_met_nor_missed(facts: FileFacts, shows: str, outcome: Outcome) -> None:
    desk = Desk(actor="The chart is attached.")

    def perform(effect: AnyEffect) -> Any:
        return FilesInspected(files=(facts,)) if isinstance(effect, InspectFiles) else desk(effect)

    requirements = Requirements(files=(FileRequirement(path="chart.png", shows=shows),))
    assert play(protocol_spec(has_critic=False, requirements=requirements), perform).ended.outcome is outcome
