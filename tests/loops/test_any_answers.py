"""Whatever models, tests and people answer, a loop ends within its limits and says how."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.effects import (
    AskReviewer,
    Decision,
    Draw,
    Drawn,
    EffectFailed,
    EffectTimedOut,
    Generate,
    RecordVerdict,
    ReviewDecision,
    RunTests,
)
from reflection_app.loops.ends import Outcome
from reflection_app.loops.task_spec import ReviewPolicy
from reflection_app.loops.verdicts import Verdict
from tests.critiques import critique
from tests.loops.playing import code_spec, play, report, said, text_spec

texts = st.one_of(
    st.text(max_size=60),
    st.builds(critique, st.floats(0, 100), approved=st.booleans(), confidence=st.floats(0, 1)),
    st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), st.lists, max_leaves=5).map(json.dumps),
)
answers = st.one_of(
    st.builds(said, texts, tokens=st.integers(0, 3000), duration_s=st.floats(0, 12)),
    st.builds(EffectFailed, st.text(max_size=10)),
    st.builds(EffectTimedOut, st.text(max_size=10)),
)
decisions = st.builds(
    lambda verdict, score: ReviewDecision(decision=Decision.OVERRULE, verdict=verdict, score=score),
    st.sampled_from(Verdict),
    st.floats(0, 100),
)


def answering(data: st.DataObject) -> Any:
    def answer(effect: Any) -> Any:
        match effect:
            case Generate():
                return data.draw(answers)
            case RunTests():
                return report(*data.draw(st.lists(st.booleans(), min_size=1, max_size=4)))
            case AskReviewer():
                return data.draw(decisions)
            case Draw(share=share):
                return Drawn(value=data.draw(st.floats(0, 0.99)), share=share)
            case RecordVerdict(judgement=judgement):
                return judgement
        return None

    return answer


def check(played: Any, *, max_iterations: int, calls_per_attempt: int) -> None:
    calls = [effect for effect in played.effects if isinstance(effect, Generate)]
    made = {effect.attempt for effect in calls if effect.attempt}
    assert isinstance(played.ended.outcome, Outcome)
    assert len(made) <= max_iterations
    assert len(calls) <= max_iterations * calls_per_attempt
    assert len(set(played.keys)) == len(played.keys)
    assert played.ended.best_attempt is None or played.ended.best_attempt in made
    assert (played.ended.outcome is Outcome.FAILED) or not played.ended.error


@given(st.data(), st.integers(1, 5))
def test_the_external_loop_always_ends_within_its_limits(data: st.DataObject, iterations: int) -> None:
    played = play(code_spec(max_iterations=iterations), answering(data))
    check(played, max_iterations=iterations, calls_per_attempt=1)


@given(st.data(), st.integers(1, 5))
def test_actor_and_critic_always_end_within_their_limits(data: st.DataObject, iterations: int) -> None:
    played = play(text_spec(max_iterations=iterations, policy=ReviewPolicy(audit_share=0.5)), answering(data))
    check(played, max_iterations=iterations, calls_per_attempt=4)
