"""A person's own text ends whatever loop asked, as an attempt of its own that has passed."""

from typing import Any

import pytest

from reflection_app.loops.attempt_effects import Decision, EditedAnswer, KeepAttempt, RecordVerdict, ReviewDecision
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.verdicts import Outcome, Referee, Verdict
from tests.loops.playing import play, said, sequence, text_spec
from tests.loops.test_reflexion import evaluation
from tests.loops.test_reflexion import spec as reasoning_spec
from tests.runs.critiques import critique

EDITED = ReviewDecision(
    decision=Decision.OVERRULE,
    verdict=Verdict.REVISE,
    score=80,
    reviewer="ann",
    edited=EditedAnswer(content="Mine.", score=80),
)


@pytest.mark.parametrize(
    ("spec", "answers"),
    [
        (text_spec(max_iterations=1), [said("one"), said(critique(80, approved=True, confidence=0.2))]),
        (reasoning_spec(max_iterations=1), [said("16"), said(evaluation(True, confidence=0.2))]),
    ],
    ids=["actor_critic", "reflexion"],
)
def test_the_text_is_the_next_attempt_and_the_run_succeeds_though_no_attempt_is_left(
    spec: TaskSpec, answers: list[Any]
) -> None:
    played = play(spec, sequence([*answers, EDITED]))
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 2)
    assert played.keys[-2:] == ["attempt-2/edited", "attempt-2/verdict"]
    kept, judged = played.effects[-2:]
    assert isinstance(kept, KeepAttempt)
    assert (kept.content, kept.edited_from, kept.edited_by) == ("Mine.", 1, "ann")
    assert isinstance(judged, RecordVerdict)
    assert (judged.judgement.referee, judged.judgement.verdict) == (Referee.PERSON, Verdict.PASS)
