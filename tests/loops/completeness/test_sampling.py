"""Whether a run is checked: drawn once, journalled, and not at all where all runs are checked."""

from typing import Any

import pytest

from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.loops.completeness.sampling import CheckArm, CheckLots, When
from reflection_app.loops.effects import AnyEffect, DrawCheck, RecordCompleteness
from tests.loops.completeness.scenes import by_key, scene
from tests.loops.completeness.test_supplementing import RESULTS, STORY
from tests.loops.playing import Played, play


@pytest.mark.parametrize(
    ("recorded", "arm"),
    [
        ({"share": 0.1, "sampled_by": 0.1}, CheckArm.NOT_SAMPLED),
        ({"share": 0.1, "sampled_by": 0.0999}, CheckArm.CHECKED),
        ({"share": 0.1, "holdout_share": 0.2, "sampled_by": 0.0999, "held_by": 0.2}, CheckArm.CHECKED),
        ({"share": 0.1, "holdout_share": 0.2, "sampled_by": 0.0999, "held_by": 0.1999}, CheckArm.NOT_SAMPLED),
        ({"share": 0.1, "holdout_share": 0.2, "sampled_by": 0.9, "held_by": 0.9}, CheckArm.NOT_SAMPLED),
    ],
)
def test_a_draw_checks_the_share_also_one_recorded_with_a_holdout(recorded: dict[str, float], arm: CheckArm) -> None:
    lots = CheckLots.model_validate(recorded)
    assert lots.arm is arm
    assert CheckLots.model_validate(lots.model_dump()) == lots


@pytest.mark.parametrize(
    ("former", "when", "share"),
    [
        ({"enabled": True, "when": "always", "share": 0.1, "least_share": 0.05, "holdout_share": 0.0}, When.ON, 0.1),
        ({"enabled": True, "when": "always", "holdout_share": 0.25}, When.SAMPLED, 0.75),
        ({"enabled": True, "when": "sampled", "share": 0.4, "least_share": 0.05}, When.SAMPLED, 0.4),
        ({"when": "never", "least_share": 0.0}, When.OFF, 0.1),
        ({"enabled": False, "when": "always"}, When.OFF, 0.1),
        ({"enabled": True, "least_worth": 0.2, "max_cost_per_completed_usd": "1"}, When.ON, 0.1),
        ({"when": "off"}, When.OFF, 0.1),
        ({"when": "sampled", "share": 0.3}, When.SAMPLED, 0.3),
    ],
)
def test_former_settings_are_read(former: dict[str, Any], when: When, share: float) -> None:
    found = CompletenessSettings.model_validate(former)
    assert (found.when, found.share) == (when, share)
    assert CompletenessSettings.model_validate(found.model_dump()) == found


def run_of(settings: CompletenessSettings, *, sampled_by: float = 0.0) -> Played:
    told = by_key(STORY, RESULTS)

    def drawn(effect: AnyEffect) -> Any:
        if isinstance(effect, DrawCheck):
            return CheckLots(share=effect.share, sampled_by=sampled_by)
        return told(effect)

    spec = scene("Find the list.", "search", "write", "mail", settings=settings)
    return play(spec, drawn)


def kinds_of(run: Played) -> list[str]:
    return [effect.kind for effect in run.effects]


def test_where_all_runs_are_checked_nothing_is_drawn() -> None:
    run = run_of(CompletenessSettings())
    assert DrawCheck.kind not in kinds_of(run)
    assert RecordCompleteness.kind in kinds_of(run)


def test_a_run_outside_the_sample_answers_without_a_check() -> None:
    run = run_of(CompletenessSettings(when=When.SAMPLED), sampled_by=0.5)
    assert kinds_of(run).count(DrawCheck.kind) == 1
    assert RecordCompleteness.kind not in kinds_of(run)
    assert any(effect.key == "attempt-1/answer" for effect in run.effects)


def test_a_run_in_the_sample_is_checked_as_any_other_and_drawn_for_once() -> None:
    run = run_of(CompletenessSettings(when=When.SAMPLED), sampled_by=0.01)
    without = run_of(CompletenessSettings())
    drawn = [effect for effect in run.effects if isinstance(effect, DrawCheck)]
    assert [(effect.key, effect.share) for effect in drawn] == [("completeness/draw", 0.1)]
    assert [kind for kind in kinds_of(run) if kind != DrawCheck.kind] == kinds_of(without)


def test_where_the_check_is_off_nothing_is_drawn_or_checked() -> None:
    kinds = kinds_of(run_of(CompletenessSettings(when=When.OFF)))
    assert DrawCheck.kind not in kinds
    assert RecordCompleteness.kind not in kinds
