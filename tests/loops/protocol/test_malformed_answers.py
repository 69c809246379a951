"""Whatever the reflector and the critic say, no run is lost and no PASS is made up."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from reflection_app.loops.attempt_effects import Generate, RecordVerdict
from reflection_app.loops.effect import EffectFailed, EffectTimedOut, Performed, Spent
from reflection_app.loops.storable import is_storable
from reflection_app.loops.verdicts import Outcome, Verdict
from tests.loops.malformed import MALFORMED
from tests.loops.playing import decided, play, said
from tests.loops.protocol.playing import (
    PAPERS,
    PLAN,
    REFLECTION,
    Desk,
    missing,
    papers,
    passing,
    plan_of,
    protocol_spec,
    repairs_of,
    reports_of,
    stages,
)

WHOLE = json.dumps(REFLECTION | PLAN)
REFLECTIONS = MALFORMED | {
    "prose around": f"Here you are:\n```json\n{WHOLE}\n```\nI hope that it helps!",
    "wrong types": json.dumps({"surface_issue": 7, "root_cause": ["a", "b"], "repair_steps": "one", "hint": {"a": 1}}),
    "nulls": json.dumps(dict.fromkeys([*REFLECTION, *PLAN])),
    "nested wrongly": json.dumps({"analysis": REFLECTION, "plan": PLAN}),
    "unknown kinds": json.dumps(
        REFLECTION
        | PLAN
        | {"repair_steps": [{"action": "x", "kind": "robot", "tool": "rm -rf"}], "estimated_effort": 9}
    ),
    "chinese values": json.dumps(
        {
            "surface_issue": "仅收集了 3 篇论文",
            "root_cause": "搜索策略过于保守",
            "remediation": "扩展",
            "repair_steps": ["扩展搜索词"],
        },
        ensure_ascii=False,
    ),
    "huge": json.dumps({"surface_issue": "x" * 50_000, "root_cause": "y" * 40_000, "repair_steps": ["z" * 5_000] * 90}),
    "deep object": '{"a":' * 900 + "1" + "}" * 900,
    "twins": '{"surface_issue": "a", "surface_issue": "b", "root_cause": "c", "repair_steps": []}',
    "two objects": json.dumps(REFLECTION) + json.dumps(REFLECTION | {"root_cause": "another"}),
    "nul and surrogates": '{"surface_issue": "a\\u0000b\\ud800", "root_cause": "c", "repair_steps": ["d\\u0000"]}',
    "python": "{'surface_issue': 'a', 'root_cause': 'b', 'repair_steps': ['c'], 'remediation': None}",
    "not a number": '{"surface_issue": NaN, "root_cause": Infinity, "repair_steps": [NaN]}',
}


@pytest.mark.parametrize("text", REFLECTIONS.values(), ids=REFLECTIONS)
def test_a_reflector_that_says_anything_never_loses_the_run(text: str) -> None:
    desk = Desk(critic=[missing(), passing()], reflect=text, plan=text)
    played = play(protocol_spec(), desk)

    assert played.ended.outcome is Outcome.SUCCEEDED
    assert played.ended.best_attempt == 2
    assert stages(played)[:4] == ["explore", "reflect", "classify", "plan"]
    first, final = reports_of(played)
    assert final.surface_issue
    assert final.root_cause
    assert 1 <= len(repairs_of(played)) <= 8
    assert len(first.repair_actions) == len(plan_of(played).repair_steps)
    values = [effect.model_dump(mode="json") for effect in played.effects]
    assert is_storable(values) or not is_storable(text)
    assert len(json.dumps(final.model_dump(mode="json"))) < 100_000


@pytest.mark.parametrize("by", ["critic", "actor"])
@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_no_word_passes_what_misses_its_requirements(text: str, by: str) -> None:
    said_by: dict[str, Any] = {"actor": papers(1), "critic": passing()} | {by: text}
    played = play(protocol_spec(requirements=PAPERS), Desk(reviewer=decided(Verdict.REVISE), **said_by))
    assert played.ended.outcome in {Outcome.EXHAUSTED, Outcome.OVER_CORRECTED}
    assert not any(effect.judgement.verdict is Verdict.PASS for effect in played.of(RecordVerdict))


ENDS: dict[str, tuple[Callable[[], Any], set[Outcome]]] = {
    "fails for good": (lambda: EffectFailed("no"), {Outcome.FAILED, Outcome.SUCCEEDED}),
    "times out": (lambda: EffectTimedOut("late"), {Outcome.TIMED_OUT}),
    "uses up the tokens": (lambda: said("{}", tokens=10**7), {Outcome.OVER_BUDGET, Outcome.SUCCEEDED}),
    "uses up the time": (lambda: said("{}", duration_s=10**5), {Outcome.TIMED_OUT, Outcome.SUCCEEDED}),
}


@pytest.mark.parametrize("how", ENDS)
def test_whichever_call_ends_the_run_keeps_its_attempts_and_its_report(how: str) -> None:
    make, outcomes = ENDS[how]
    whole = play(protocol_spec(), Desk(critic=[missing(), passing()]))
    for place in range(sum(isinstance(effect, Generate) for effect in whole.effects)):
        played = play(protocol_spec(), stopped_at(place, make()))
        assert played.ended.outcome in outcomes, (how, place)
        if played.ended.outcome is Outcome.SUCCEEDED:
            continue
        assert played.ended.best_attempt is not None or place == 0
        assert bool(reports_of(played)) == ("attempt-1/plan-kept" in played.keys)
        assert len(set(played.keys)) == len(played.keys)


def stopped_at(place: int, result: Any) -> Any:
    desk, made = Desk(critic=[missing(), passing()]), iter(range(1_000))

    def answer(effect: Any) -> Any:
        return result if isinstance(effect, Generate) and next(made) == place else desk(effect)

    return answer


def test_a_price_that_is_not_known_stops_a_run_with_a_money_budget_at_any_call() -> None:
    spec = protocol_spec(limits={"cost_budget_usd": "5"})
    whole = play(spec, Desk(critic=[missing(), passing()]))
    for place in range(sum(isinstance(effect, Generate) for effect in whole.effects)):
        unpriced: Performed[Any] = Performed(value=said("hm").value, spent=Spent(cost_known=False))
        played = play(spec, stopped_at(place, unpriced))
        assert played.ended.outcome is Outcome.FAILED
        assert "price" in played.ended.error
        assert played.ended.best_attempt == 1
