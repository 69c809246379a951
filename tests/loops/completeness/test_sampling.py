"""Whether a run is checked: drawn once, journalled, and not at all where all runs are checked."""

from typing import Any

import pytest

from reflection_app.loops.attempts import ended_well
from reflection_app.loops.completeness.checks import CheckChoice, CompletenessSettings
from reflection_app.loops.completeness.sampling import CheckArm, CheckLots, When
from reflection_app.loops.effects import AnyEffect, DrawCheck, RecordCompleteness
from reflection_app.loops.verdicts import Judgement, Outcome, Referee, Verdict
from tests.loops.completeness.scenes import by_key, scene
from tests.loops.completeness.test_supplementing import RESULTS, STORY
from tests.loops.playing import Played, play

PASS, REJECT = Verdict.PASS, Verdict.REJECT


@pytest.mark.parametrize(
    ("sampled_by", "held_by", "arm"),
    [
        (0.1, 0.2, CheckArm.NOT_SAMPLED),
        (0.0999, 0.2, CheckArm.CHECKED),
        (0.0999, 0.1999, CheckArm.HELD_OUT),
        (0.9, 0.0, CheckArm.NOT_SAMPLED),
    ],
)
def test_the_hold_out_is_of_those_that_would_be_checked(sampled_by: float, held_by: float, arm: CheckArm) -> None:
    assert CheckLots(share=0.1, holdout_share=0.2, sampled_by=sampled_by, held_by=held_by).arm is arm


@pytest.mark.parametrize(
    ("settings", "share", "is_drawn"),
    [
        ({}, 1.0, False),
        ({"holdout_share": 0.1}, 1.0, True),
        ({"when": "sampled"}, 0.1, True),
        ({"when": "sampled", "share": 0.01}, 0.05, True),
        ({"when": "sampled", "share": 1}, 1.0, False),
        ({"when": "never"}, 0.05, True),
        ({"when": "never", "least_share": 0}, 0.0, True),
        ({"when": "sampled", "enabled": False}, 0.0, False),
    ],
)
def test_never_still_checks_the_least_share(settings: dict[str, Any], share: float, *, is_drawn: bool) -> None:
    found = CompletenessSettings.model_validate(settings)
    assert (found.checked_share, found.is_drawn) == (share, is_drawn)


def test_whoever_switches_the_check_on_has_it_made_always_unless_they_say_how_often() -> None:
    never = CompletenessSettings(when=When.NEVER)
    assert CheckChoice(enabled=True).over(never).when is When.ALWAYS
    assert CheckChoice(enabled=True, when=When.SAMPLED).over(never).when is When.SAMPLED
    assert CheckChoice(max_supplements=1).over(never).when is When.NEVER


def run_of(settings: CompletenessSettings, *lots: float) -> Played:
    """A run whose lots are these two numbers."""
    told = by_key(STORY, RESULTS)

    def drawn(effect: AnyEffect) -> Any:
        if isinstance(effect, DrawCheck):
            sampled_by, held_by = lots
            shares = {"share": effect.share, "holdout_share": effect.holdout_share}
            return CheckLots(**shares, sampled_by=sampled_by, held_by=held_by)
        return told(effect)

    spec = scene("Find the list.", "search", "write", "mail", settings=settings)
    return play(spec, drawn)


def kinds_of(run: Played) -> list[str]:
    return [effect.kind for effect in run.effects]


def test_where_all_runs_are_checked_nothing_is_drawn() -> None:
    run = run_of(CompletenessSettings())
    assert DrawCheck.kind not in kinds_of(run)
    assert RecordCompleteness.kind in kinds_of(run)


def test_a_run_that_is_held_out_or_left_out_answers_without_a_check() -> None:
    for settings, lots in (
        (CompletenessSettings(holdout_share=0.5), (0.0, 0.4)),
        (CompletenessSettings(when=When.SAMPLED), (0.5, 0.9)),
    ):
        run = run_of(settings, *lots)
        assert kinds_of(run).count(DrawCheck.kind) == 1
        assert RecordCompleteness.kind not in kinds_of(run)
        assert any(effect.key == "attempt-1/answer" for effect in run.effects)


def test_a_run_in_the_sample_is_checked_as_any_other_and_drawn_for_once() -> None:
    run = run_of(CompletenessSettings(when=When.SAMPLED, holdout_share=0.5), 0.01, 0.6)
    without = run_of(CompletenessSettings())
    drawn = [effect for effect in run.effects if isinstance(effect, DrawCheck)]
    assert [(effect.key, effect.share) for effect in drawn] == [("completeness/draw", 0.1)]
    assert [kind for kind in kinds_of(run) if kind != DrawCheck.kind] == kinds_of(without)


@pytest.mark.parametrize(
    ("said", "outcome", "expected"),
    [
        ([], Outcome.SUCCEEDED, True),
        ([], Outcome.UNVERIFIED, None),
        ([], Outcome.CANCELLED, None),
        ([], None, None),
        ([], Outcome.OVER_BUDGET, False),
        ([(Referee.CRITIC, PASS)], Outcome.FAILED, False),
        ([(Referee.PERSON, REJECT)], Outcome.SUCCEEDED, False),
        ([(Referee.PERSON, REJECT), (Referee.PERSON, PASS)], Outcome.UNVERIFIED, True),
        # A person ended it, whatever was said before: it did not come to its end.
        ([(Referee.PERSON, PASS)], Outcome.CANCELLED, None),
    ],
)
def test_a_run_ended_well_by_its_outcome_or_by_a_persons_word(
    said: list[tuple[Referee, Verdict]], outcome: Outcome | None, *, expected: bool | None
) -> None:
    judgements = [Judgement(attempt=2, referee=who, verdict=verdict, score=50) for who, verdict in said]
    judgements.append(Judgement(attempt=1, referee=Referee.PERSON, verdict=PASS, score=90))
    assert ended_well(judgements, outcome=outcome, kept=2) is expected
