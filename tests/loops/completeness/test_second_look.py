"""A run whose supplements worked is looked at again; money that is spent stops what is not begun."""

from collections.abc import Callable
from typing import Any

from reflection_app.loops.attempt_effects import CallTool
from reflection_app.loops.completeness.checks import CheckState, Completeness, CompletenessSettings, state_after
from reflection_app.loops.completeness.dropped import DropCode
from reflection_app.loops.completeness.records import Records
from reflection_app.loops.effect import EffectFailed, Performed
from reflection_app.loops.effects import AnyEffect, EstimateSupplements, RecordSecondLook
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.verdicts import Outcome
from tests.house.test_recorded_journals import replay
from tests.loops.completeness.scenes import (
    SECOND_LOOK,
    by_key,
    checked,
    done_by,
    found_by,
    planned,
    played,
    scene,
    wanted,
)
from tests.loops.completeness.test_ordering import known
from tests.loops.completeness.test_supplementing import RESULTS, SPEC, STORY
from tests.loops.playing import Played, play, said
from tests.loops.tool_playing import asked_for, failed, verdicts_of


def looks_of(one: Played) -> list[Completeness]:
    return [effect.found for effect in one.effects if isinstance(effect, RecordSecondLook)]


def state_of(one: Played) -> CheckState:
    looked = looks_of(one)
    return state_after(found_by(one), done_by(one), second_look=looked[0] if looked else None)


def settings(**fields: Any) -> TaskSpec:
    chosen = CompletenessSettings(**fields)
    return scene("Find the list.", "search", "write", "mail", settings=chosen)


def test_it_ends_complete_by_the_word_of_the_second_look() -> None:
    run = played(SPEC, STORY, RESULTS)
    assert (done_by(run).completes, done_by(run).looks_again) == (True, True)
    [look] = looks_of(run)
    assert (look.state, look.attempt, look.analysis) == (CheckState.COMPLETE, 1, "all is there now")
    assert state_of(run) is CheckState.SUPPLEMENTED
    asked = asked_for(run, SECOND_LOOK)
    assert "Step 2: save it [tool: write] — worked" in asked, "it is asked with what the supplements did"
    assert "still missing" not in asked_for(run, "attempt-1/answer")


def test_what_it_still_misses_is_told_to_the_answer_and_no_second_round_is_made() -> None:
    more = checked(wanted("Mail the list to the board", "", "mail", quote="the list"), missing=["the board's copy"])
    run = played(SPEC, STORY | {SECOND_LOOK: more}, RESULTS)
    assert state_of(run) is CheckState.INCOMPLETE
    [look] = looks_of(run)
    assert (look.supplements, [one.code for one in look.dropped]) == ((), [DropCode.CHECK_ONLY])
    assert "- the board's copy" in asked_for(run, "attempt-1/answer")
    [verdict] = verdicts_of(run)
    assert [issue.description for issue in verdict.issues] == ["A check found that this is missing: the board's copy"]
    assert len([effect for effect in run.effects if isinstance(effect, CallTool)]) == 3


def test_a_second_look_that_fails_says_nothing_and_so_not_that_it_is_complete() -> None:
    run = played(SPEC, STORY | {SECOND_LOOK: EffectFailed("the model is gone")}, RESULTS)
    assert (looks_of(run)[0].state, state_of(run)) == (CheckState.UNCHECKED, CheckState.INCOMPLETE)
    assert "still missing" not in asked_for(run, "attempt-1/answer"), "nobody said that anything is"
    assert run.ended.outcome is Outcome.UNVERIFIED


def test_what_did_not_all_work_is_not_looked_at_again() -> None:
    broken = RESULTS | {"mail": failed(error="down")}
    answers = STORY | {f"attempt-1/supplement/step-2/arguments-{n}": "none" for n in (2, 3)}
    run = played(SPEC, answers, broken)
    assert (looks_of(run), done_by(run).looks_again, state_of(run)) == ([], False, CheckState.INCOMPLETE)


def test_without_a_second_look_the_tools_word_stands() -> None:
    run = played(settings(look_again=False), STORY, RESULTS)
    assert (looks_of(run), state_of(run)) == ([], CheckState.SUPPLEMENTED)


def test_a_run_at_its_limit_is_not_looked_at_again_and_ends_as_it_would_have() -> None:
    dear = said(STORY["attempt-1/supplement/step-2/arguments"], tokens=10_000_000)
    run = played(SPEC, STORY | {"attempt-1/supplement/step-2/arguments": dear}, RESULTS)
    assert not looks_of(run)
    assert run.ended.outcome is Outcome.OVER_BUDGET


def paid(text: str, usd: str, *, is_priced: bool = True) -> Performed[Any]:
    answer = said(text, cost_usd=usd)
    return answer.model_copy(update={"spent": answer.spent.model_copy(update={"cost_known": is_priced})})


def test_money_that_is_spent_in_the_middle_stops_what_is_not_begun_and_says_so() -> None:
    story = STORY | {
        "attempt-1/completeness": paid(STORY["attempt-1/completeness"], "0.01"),
        "attempt-1/supplement/step-1/arguments": paid(STORY["attempt-1/supplement/step-1/arguments"], "0.09"),
    }
    run = played(settings(max_cost_usd="0.10"), story, RESULTS)
    saved, mailed = done_by(run).results
    assert (saved.succeeded, saved.left_out) == (True, None)
    assert (mailed.attempted, mailed.left_out) == (False, DropCode.MONEY_SPENT)
    assert not [key for key in run.keys if key.startswith("attempt-1/supplement/step-2/a")]
    assert not looks_of(run), "there is no money for it, and it is not complete"
    assert "Mail the list to the team" in asked_for(run, "attempt-1/answer")
    assert run.ended.outcome is Outcome.UNVERIFIED, "the rest of the run goes on"


def test_money_that_the_check_alone_has_spent_lets_nothing_be_planned() -> None:
    story = STORY | {"attempt-1/completeness": paid(STORY["attempt-1/completeness"], "0.10")}
    run = played(settings(max_cost_usd="0.10"), story, RESULTS)
    assert {one.code for one in found_by(run).dropped} == {DropCode.MONEY_SPENT}
    assert not [key for key in run.keys if key.startswith("attempt-1/supplement")]
    assert "- saving\n- mailing" in asked_for(run, "attempt-1/answer")


def test_the_money_of_a_second_look_is_kept_back() -> None:
    story = STORY | {"attempt-1/completeness": paid(STORY["attempt-1/completeness"], "0.06")}
    assert found_by(played(settings(max_cost_usd="0.10"), story, RESULTS)).supplements == ()
    assert found_by(played(settings(max_cost_usd="0.10", look_again=False), story, RESULTS)).supplements


def test_a_call_without_a_price_stops_what_is_under_a_limit_of_money() -> None:
    plan = paid(STORY["attempt-1/supplement/plan/make"], "0", is_priced=False)
    run = played(settings(max_cost_usd="0.10"), STORY | {"attempt-1/supplement/plan/make": plan}, RESULTS)
    assert [one.left_out for one in done_by(run).results] == [DropCode.PRICE_UNKNOWN] * 2
    assert not any(one.cost_known for one in done_by(run).results)
    unbounded = played(SPEC, STORY | {"attempt-1/supplement/plan/make": plan}, RESULTS)
    assert [one.succeeded for one in done_by(unbounded).results] == [True, True]


def with_records(records: Records, answers: dict[str, Any]) -> Callable[[AnyEffect], Any]:
    usual = by_key(answers, RESULTS)
    return lambda effect: records if isinstance(effect, EstimateSupplements) else usual(effect)


def test_a_replay_goes_by_the_journal_whatever_the_record_says_by_then() -> None:
    told = Records(supplements=(known(0, 60), known(9, 10, tokens=5_000)))
    spec, steps = settings(max_supplements=1), []
    one_left = planned(("s1-mail", "mail it", "mail"))
    answer = with_records(told, STORY | {"attempt-1/supplement/plan/make": one_left})

    def recording(effect: AnyEffect) -> Any:
        result = answer(effect)
        performed = result if isinstance(result, Performed) else Performed(value=result)
        value = effect.results.dump_python(performed.value, mode="json")
        kept = {"key": effect.key, "kind": effect.kind, "state": "done", "result": value}
        steps.append(kept | {"spent": performed.spent.model_dump(mode="json")})
        return result

    run = play(spec, recording)
    assert "attempt-1/completeness/estimates" in run.keys
    assert replay({"spec": spec.model_dump(mode="json"), "steps": steps}) == run.ended
