"""What a model sends that is no whole answer: asked for again, asked to go on, and never judged."""

from collections.abc import Callable
from typing import Any

import pytest

from reflection_app.loops.answers import MOST_CONTINUATIONS, MOST_REASKS
from reflection_app.loops.attempt_effects import AnswerFault, Generate, Generation, KeepAttempt, RecordVerdict, RunTests
from reflection_app.loops.effect import Performed, Spent
from reflection_app.loops.effects import AnyEffect
from reflection_app.loops.task_spec import Limits, Mode, TaskSpec
from reflection_app.loops.verdicts import Outcome
from tests.loops.playing import NO_AUDIT, TESTS, Played, noted, play, report, said
from tests.runs.critiques import critique

NOTHING: dict[AnswerFault, dict[str, Any]] = {
    AnswerFault.EMPTY: {"text": ""},
    AnswerFault.REFUSED: {"text": "", "refusal": "I must not do that."},
    AnswerFault.FILTERED: {"text": "Half of", "finish_reason": "content_filter"},
    AnswerFault.TOOL_CALL: {"text": "", "tool_calls": ("search",)},
}
TOLD = {
    AnswerFault.EMPTY: "It sent nothing.",
    AnswerFault.REFUSED: "It refused: I must not do that.",
    AnswerFault.FILTERED: "The provider's content filter stopped it.",
    AnswerFault.TOOL_CALL: "It called a tool in place of answering: search.",
}
JUDGES = {"critic": critique(90, approved=True), "self": '{"is_satisfactory": true, "issues": [], "confidence": 0.9}'}
JUDGED: dict[Mode, dict[str, Any]] = {
    Mode.ACTOR_CRITIC: {},
    Mode.REFLEXION: {},
    Mode.REFLECTION_PROTOCOL: {},
    Mode.EXTERNAL_LOOP: {"tests": TESTS},
}


def none(fault: AnswerFault) -> Performed[Generation]:
    return sent(fault, **NOTHING[fault])


def sent(fault: AnswerFault, *, tokens: int = 10, **fields: Any) -> Performed[Generation]:
    return Performed(value=Generation(model="m", fault=fault, **fields), spent=Spent(completion_tokens=tokens))


def cut(text: str, *, tokens: int = 10) -> Performed[Generation]:
    return sent(AnswerFault.CUT_OFF, text=text, finish_reason="length", tokens=tokens)


def spec(mode: Mode = Mode.ACTOR_CRITIC, **fields: Any) -> TaskSpec:
    limits = Limits(**{"max_iterations": 2, "time_budget_s": 600} | fields.pop("limits", {}))
    return TaskSpec(objective="say it", mode=mode, limits=limits, review_policy=NO_AUDIT, **fields)


def acting(*answers: Any) -> Callable[[AnyEffect], Any]:
    """The actor says these in turn, the last for ever; every judge passes what it is shown."""
    left = list(answers)

    def answer(effect: AnyEffect) -> Any:
        match effect:
            case Generate(role="actor"):
                sent_back = left.pop(0) if len(left) > 1 else left[0]
                return said(sent_back) if isinstance(sent_back, str) else sent_back
            case Generate(role=role):
                return said(JUDGES[role])
            case RunTests():
                return report(True, True)
        return noted(effect)

    return answer


def judged(played: Played) -> list[str]:
    kinds = (RecordVerdict, RunTests)
    return [
        effect.key
        for effect in played.effects
        if isinstance(effect, kinds) or (isinstance(effect, Generate) and effect.role in JUDGES)
    ]


MODES = pytest.mark.parametrize(("mode", "fields"), JUDGED.items(), ids=[mode.value for mode in JUDGED])


@MODES
@pytest.mark.parametrize("fault", NOTHING)
def test_what_is_no_answer_is_never_judged_and_the_run_says_what_it_was(
    mode: Mode, fields: dict[str, Any], fault: AnswerFault
) -> None:
    played = play(spec(mode, **fields), acting(none(fault)))
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.FAILED, None)
    assert played.ended.error == f"The actor gave no answer in {MOST_REASKS + 1} tries. {TOLD[fault]}"
    assert judged(played) == []
    assert played.keys == ["attempt-1/answer", "attempt-1/answer/again-1", "attempt-1/answer/again-2"]


@MODES
@pytest.mark.parametrize("fault", NOTHING)
def test_it_is_asked_for_again_and_told_why(mode: Mode, fields: dict[str, Any], fault: AnswerFault) -> None:
    played = play(spec(mode, **fields), acting(none(fault), "Said."))
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 1)
    again = played.effects[1]
    assert isinstance(again, Generate)
    assert (again.key, again.attempt) == ("attempt-1/answer/again-1", 1)
    assert TOLD[fault] in again.messages[-1].content
    assert judged(played)


def test_the_best_earlier_attempt_is_kept_where_the_next_is_refused() -> None:
    def answer(effect: AnyEffect) -> Any:
        if isinstance(effect, Generate) and effect.role == "critic":
            return said(critique(40))
        return actor(effect)

    actor = acting("A draft.", none(AnswerFault.REFUSED))
    played = play(spec(), answer)
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.FAILED, 1)
    assert "I must not do that." in played.ended.error


@MODES
def test_an_answer_that_is_cut_off_goes_on_and_is_judged_whole(mode: Mode, fields: dict[str, Any]) -> None:
    played = play(spec(mode, **fields), acting(cut("One, "), cut("two, "), "three."))
    (kept,) = played.of(KeepAttempt)
    assert (kept.attempt, kept.content, kept.cut_off) == (1, "One, two, three.", False)
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 1)
    asked = played.effects[2]
    assert isinstance(asked, Generate)
    assert (asked.key, asked.attempt) == ("attempt-1/answer/more-2", None)
    assert [message.content for message in asked.messages][-2] == "One, two, "


@MODES
def test_one_that_never_ends_is_kept_as_cut_off_and_never_judged(mode: Mode, fields: dict[str, Any]) -> None:
    played = play(spec(mode, **fields), acting(cut("more and ")))
    kept = played.of(KeepAttempt)
    assert [(one.attempt, one.cut_off) for one in kept] == [(1, True), (2, True)]
    assert kept[0].content == "more and " * (MOST_CONTINUATIONS + 1)
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.EXHAUSTED, 1)
    assert judged(played) == []


@MODES
def test_a_whole_attempt_is_kept_before_one_that_was_cut_off(mode: Mode, fields: dict[str, Any]) -> None:
    played = play(spec(mode, **fields), acting(cut("a"), cut("b"), cut("c"), "Whole."))
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 2)


def test_no_room_for_the_rest_keeps_what_there_is_and_says_so() -> None:
    played = play(spec(limits={"token_budget": 50}), acting(cut("One, ", tokens=50)))
    assert played.keys == ["attempt-1/answer", "attempt-1/kept"]
    assert (played.ended.outcome, played.ended.error) == (
        Outcome.OVER_BUDGET,
        "The answer was cut off before its end.",
    )


def test_a_model_that_thinks_until_its_room_is_gone_is_given_more() -> None:
    played = play(spec(), acting(cut(""), cut(" "), "Said."))
    rooms = [effect.room for effect in played.of(Generate) if effect.role == "actor"]
    assert rooms == [1, 2, 4]
    assert played.ended.outcome is Outcome.SUCCEEDED


def test_what_an_older_journal_holds_goes_on_as_it_once_did() -> None:
    played = play(spec(), acting(Performed(value=Generation(text="", model="m", finish_reason="stop"))))
    assert played.keys[:2] == ["attempt-1/answer", "attempt-1/critique"]


def test_tests_that_broke_off_lose_their_last_line() -> None:
    broken = sent(
        AnswerFault.CUT_OFF,
        text="```python\nassert f(1) == 2\nassert f(2) == 3\nassert f(11) == 1",
        finish_reason="length",
    )

    def answer(effect: AnyEffect) -> Any:
        if isinstance(effect, Generate) and effect.role == "tester":
            return broken
        return actor(effect)

    actor = acting("```python\ndef f(x):\n    return x + 1\n```")
    played = play(TaskSpec(objective="add one", mode=Mode.EXTERNAL_LOOP, review_policy=NO_AUDIT), answer)
    (run, *_) = played.of(RunTests)
    assert "f(2) == 3" in (run.tests.script or "")
    assert "f(11)" not in (run.tests.script or "")
