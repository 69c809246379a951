import json
from typing import Any

import pytest

from reflection_app.loops.answer_reading import read_answer
from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.catalogue import LOOPS, Classification, mode_for, question, route_by_facts, route_by_kind
from reflection_app.loops.effect import EffectTimedOut
from reflection_app.loops.effects import ChooseLoop, Route
from reflection_app.loops.task_spec import Mode, TaskKind, TaskSpec
from reflection_app.loops.tool_calls import ToolCall, ToolSpec
from reflection_app.loops.verdicts import Outcome
from tests.loops.playing import NO_AUDIT, TESTS, Played, play, said, sequence
from tests.runs.critiques import critique

TOOL = ToolSpec(name="search")


def spec(**fields: Any) -> TaskSpec:
    return TaskSpec(objective="Do it.", mode=Mode.ADAPTIVE, review_policy=NO_AUDIT, **fields)


def classified(kind: str, **more: Any) -> str:
    return json.dumps({"task_kind": kind, "confidence": 0.8, "why": "It says so.", **more})


def answering(classes: list[Any]) -> Any:
    """Classifies by `classes` in turn, notes the route, and passes the first attempt in whichever loop it is."""
    waiting = iter(classes)
    inner = sequence([])

    def answer(effect: Any) -> Any:
        if isinstance(effect, ChooseLoop):
            return effect.route
        if not isinstance(effect, Generate):
            return inner(effect)
        if effect.role == "classifier":
            return next(waiting)
        by_role = {"critic": critique(90, approved=True), "self": '{"is_satisfactory": true, "confidence": 0.9}'}
        return said(by_role.get(effect.role, "an answer"))

    return answer


def route_of(played: Played) -> Route:
    return next(effect.route for effect in played.of(ChooseLoop))


@pytest.mark.parametrize(
    ("fields", "mode"),
    [
        ({"tests": TESTS}, Mode.EXTERNAL_LOOP),
        ({"tests": TESTS, "kind": "creative_writing"}, Mode.EXTERNAL_LOOP),
        ({"output_schema": {}}, Mode.EXTERNAL_LOOP),
        ({"tool_call": ToolCall(tool="search"), "tools": (TOOL,)}, Mode.EXTERNAL_LOOP),
        ({"tools": (TOOL,)}, Mode.PLANNING),
        ({"kind": "code_generation"}, Mode.EXTERNAL_LOOP),
        ({"kind": "creative_writing"}, Mode.ACTOR_CRITIC),
        ({"kind": "reasoning"}, Mode.REFLEXION),
        ({"kind": "other"}, Mode.ACTOR_CRITIC),
        ({"kind": "other", "has_critic": False}, Mode.REFLEXION),
        ({"kind": "creative_writing", "has_critic": False}, Mode.REFLEXION),
        ({"kind": "a kind of ours"}, Mode.ADAPTIVE),
        ({}, Mode.ADAPTIVE),
    ],
)
def test_what_comes_with_a_task_decides_where_it_can(fields: dict[str, Any], mode: Mode) -> None:
    assert mode_for(spec(**fields)) is mode
    route = route_by_facts(spec(**fields), built=LOOPS)
    assert (route is None) == (mode is Mode.ADAPTIVE)
    assert route is None or route.why


def test_every_route_leads_to_a_loop() -> None:
    for kind in TaskKind:
        for has_critic in (True, False):
            assert route_by_kind(spec(has_critic=has_critic), kind).mode in LOOPS
    assert set(LOOPS) == set(Mode)


def test_a_task_that_says_nothing_is_classified_and_goes_on_in_the_same_journal() -> None:
    played = play(spec(), answering([said(classified("creative_writing"))]))

    assert played.keys == ["classify", "route", "attempt-1/answer", "attempt-1/critique", "attempt-1/verdict"]
    asked = played.effects[0]
    assert isinstance(asked, Generate)
    assert (asked.role, asked.temperature) == ("classifier", 0)
    route = route_of(played)
    assert (route.mode, route.task_kind) == (Mode.ACTOR_CRITIC, "creative_writing")
    assert route.why == "It says so. A text is best judged by a critic."
    assert played.ended.outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize("said_kind", ["poetry", "", None, 3])
def test_an_unknown_kind_is_other(said_kind: Any) -> None:
    assert read_answer(json.dumps({"task_kind": said_kind}), schema=Classification).task_kind is TaskKind.OTHER


def test_a_classifier_that_gives_no_usable_answer_costs_no_run() -> None:
    played = play(spec(), answering([said("hm"), said("{}"), said("well")]))
    assert played.keys[:4] == ["classify", "classify/again-1", "classify/again-2", "route"]
    assert route_of(played).task_kind == "other"
    assert "could not be classified" in route_of(played).why
    assert played.ended.outcome is Outcome.SUCCEEDED


def test_a_classifier_that_takes_all_the_time_or_money_ends_the_run_by_that_name() -> None:
    assert play(spec(), answering([EffectTimedOut("up")])).ended.outcome is Outcome.TIMED_OUT
    spent = [said(classified("other"), tokens=10_000)]
    assert play(spec(), answering(spent)).ended.outcome is Outcome.OVER_BUDGET


def test_a_replayed_run_goes_the_way_that_was_recorded() -> None:
    """A classifier that would answer otherwise today does not move a run that is under way."""

    def answer(effect: Any) -> Any:
        if isinstance(effect, ChooseLoop):
            return Route(mode=Mode.REFLEXION, task_kind="reasoning")
        return answering([said(classified("creative_writing"))])(effect)

    assert "attempt-1/self-evaluation" in play(spec(), answer).keys


def test_a_long_task_is_shown_in_part_and_in_a_frame() -> None:
    (asked,) = question("Write a poem. " * 2_000)
    assert "[The rest is not shown.]" in asked.content
    assert len(asked.content) < 8_000
    assert "<work-" in asked.content
