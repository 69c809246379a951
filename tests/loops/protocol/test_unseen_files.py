"""A required file that was not inspected lets no attempt pass, whoever judges it."""

from typing import Any

import pytest

from reflection_app.loops.attempt_effects import AskReviewer, Decision, InspectFiles, ReviewDecision
from reflection_app.loops.completeness.files import (
    FaultCode,
    FileFacts,
    FileFault,
    FileKind,
    FileRequirement,
    FilesInspected,
    WhyNot,
)
from reflection_app.loops.effects import AnyEffect
from reflection_app.loops.requirements import Requirements
from reflection_app.loops.task_spec import Mode, ReviewPolicy
from reflection_app.loops.verdicts import Outcome, Verdict
from tests.loops.playing import Played, play
from tests.loops.protocol.playing import Desk, asked_in, protocol_spec
from tests.runs.critiques import critique

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
    played = played_with(facts, shows, Desk(actor="The chart is attached."), has_critic=False)
    assert played.ended.outcome is outcome


UNOPENED = CHART.model_copy(update={"could_look": False, "why_not": WhyNot.NO_LIBRARY, "lacks": "pyarrow"})
SEEN_BY_NOBODY = (
    (UNOPENED, "", "no library (pyarrow)"),
    (CHART, "a bar chart with a legend", "a bar chart with a legend"),
    (CHART.model_copy(update={"is_whole": False}), "", "not inspected to its end"),
)


def played_with(facts: FileFacts, shows: str, desk: Desk, **fields: Any) -> Played:
    def perform(effect: AnyEffect) -> Any:
        return FilesInspected(files=(facts,)) if isinstance(effect, InspectFiles) else desk(effect)

    requirements = Requirements(files=(FileRequirement(path="chart.png", shows=shows),))
    return play(protocol_spec(requirements=requirements, **fields), perform)


@pytest.mark.parametrize(("facts", "shows", "why"), SEEN_BY_NOBODY)
@pytest.mark.parametrize("mode", [Mode.REFLECTION_PROTOCOL, Mode.ACTOR_CRITIC])
def test_a_critic_is_told_of_a_file_that_was_not_inspected_and_its_pass_is_unverified(
    mode: Mode, facts: FileFacts, shows: str, why: str
) -> None:
    never_asks = ReviewPolicy(rules=(), audit_share=0)
    desk = Desk(actor="The chart is attached.", critic=critique(100, approved=True))
    played = played_with(facts, shows, desk, mode=mode, review_policy=never_asks)
    assert played.ended.outcome is Outcome.UNVERIFIED
    assert "chart.png" in played.ended.error
    assert why in played.ended.error
    asked = asked_in(played, "attempt-1/critique")
    assert "UNKNOWN: " in asked
    assert why in asked


def test_a_reviewer_is_asked_where_the_policy_asks_about_low_confidence() -> None:
    passed = ReviewDecision(decision=Decision.APPROVE, verdict=Verdict.PASS, score=100)
    desk = Desk(actor="Attached.", critic=critique(100, approved=True, confidence=1.0), reviewer=passed)
    played = played_with(UNOPENED, "", desk)
    [review] = played.of(AskReviewer)
    assert review.judgement.confidence == 0
    assert "chart.png was not inspected" in review.why[0]
    assert played.ended.outcome is Outcome.SUCCEEDED


def test_a_schema_that_the_answer_fits_says_nothing_of_a_file_that_was_not_inspected() -> None:
    desk = Desk(actor="{}")
    played = played_with(UNOPENED, "", desk, mode=Mode.EXTERNAL_LOOP, output_schema={"type": "object"})
    assert played.ended.outcome is Outcome.UNVERIFIED
    assert played_with(CHART, "", desk, mode=Mode.EXTERNAL_LOOP, output_schema={"type": "object"}).ended.outcome is (
        Outcome.SUCCEEDED
    )


def test_a_file_that_takes_more_work_than_allowed_sends_the_attempt_back_without_asking_the_critic() -> None:
    slow = CHART.model_copy(update={"is_whole": False, "faults": (FileFault(code=FaultCode.TOO_SLOW),)})
    played = played_with(slow, "", Desk(actor="Attached."), limits={"max_iterations": 1})
    assert played.ended.outcome is Outcome.EXHAUSTED
    assert "attempt-1/critique" not in played.keys
