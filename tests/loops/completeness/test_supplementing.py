from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from reflection_app.loops.attempt_effects import CallTool
from reflection_app.loops.completeness.checks import (
    CheckState,
    Completeness,
    CompletenessSettings,
    Supplement,
    state_after,
)
from reflection_app.loops.completeness.dropped import DropCode
from reflection_app.loops.completeness.records import Records
from reflection_app.loops.completeness.sampling import CheckArm, CheckLots, When
from reflection_app.loops.completeness.supplementing import NO_STEP, results_of, served_by
from reflection_app.loops.effect import EffectFailed, Performed
from reflection_app.loops.effects import (
    AnyEffect,
    DrawCheck,
    EstimateSupplements,
    RecordCompleteness,
    RecordSecondLook,
)
from reflection_app.loops.plan_steps import StepRun
from reflection_app.loops.plans import PlanStep, PlanStepOutcome, PlanStepState
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_calls import ToolFailure
from reflection_app.loops.verdicts import Outcome, Verdict
from tests.house.test_recorded_journals import replay
from tests.loops.completeness.scenes import (
    SECOND_LOOK,
    by_key,
    call_of,
    checked,
    done_by,
    found_by,
    planned,
    played,
    scene,
    wanted,
)
from tests.loops.completeness.test_ordering import known
from tests.loops.playing import Played, play, said
from tests.loops.tool_playing import asked_for, failed, verdicts_of, worked

SAVE = wanted("Save the list to a file", "so that it lasts", "write", quote="the list")
MAIL = wanted("Mail the list to the team", "they asked for it", "mail", quote="the list")
STORY: dict[str, Any] = {
    "attempt-1/plan/make": planned(("find", "find the list", "search")),
    "attempt-1/step-1/arguments": call_of("search", q="list"),
    "attempt-1/completeness": checked(
        SAVE, MAIL, analysis="nothing was saved or mailed", missing=["saving", "mailing"]
    ),
    "attempt-1/supplement/plan/make": planned(
        ("s1-save", "save it", "write"), ("s2-mail", "mail it", "mail"), requires={"s2-mail": ["find"]}
    ),
    "attempt-1/supplement/step-1/arguments": call_of("write", path="list.txt"),
    "attempt-1/supplement/step-2/arguments": call_of("mail", to="team"),
    "attempt-1/answer": "Done.",
}
SPEC = scene("Find the list.", "search", "write", "mail")
RESULTS = {"search": worked("a, b, c"), "write": worked("written"), "mail": worked("sent")}


def test_each_supplement_is_told_with_how_it_went_and_what_it_cost() -> None:
    priced = said(STORY["attempt-1/supplement/plan/make"], tokens=101, cost_usd="0.003")
    mailing = said(STORY["attempt-1/supplement/step-2/arguments"], tokens=40, cost_usd="0.002")
    answers = STORY | {"attempt-1/supplement/plan/make": priced, "attempt-1/supplement/step-2/arguments": mailing}
    done = done_by(played(SPEC, answers, RESULTS))
    saved, mailed = done.results
    assert (saved.succeeded, saved.tools, saved.tokens, saved.cost_usd) == (True, ("write",), 61, Decimal("0.0015"))
    assert (mailed.succeeded, mailed.tools, mailed.tokens, mailed.cost_usd) == (True, ("mail",), 90, Decimal("0.0035"))
    assert (done.attempted, done.succeeded, done.success_rate) == (3, 3, 1.0)


def test_a_supplement_that_fails_costs_nothing_of_the_first_plan_and_is_told_honestly() -> None:
    broken = RESULTS | {"mail": failed(error="the mail server is down")}
    answers = STORY | {f"attempt-1/supplement/step-2/arguments-{n}": call_of("mail", to=f"team {n}") for n in (2, 3)}
    run = played(SPEC, answers, broken)
    done = done_by(run)
    assert [(one.attempted, one.succeeded) for one in done.results] == [(True, True), (True, False)]
    assert "the mail server is down" in done.results[1].error
    assert (done.attempted, done.succeeded) == (3, 2)
    final = asked_for(run, "attempt-1/answer")
    assert all(part in final for part in ("a, b, c", "written", "the mail server is down"))
    assert "still missing" in final
    assert "Mail the list to the team" in final
    [verdict] = verdicts_of(run)
    assert (verdict.verdict, verdict.score) == (Verdict.PASS, 100), "the plan's own steps all worked"
    assert [issue.description for issue in verdict.issues] == [
        "A check found that this is missing: Mail the list to the team"
    ]


def test_a_supplementary_plan_that_cannot_be_made_loses_nothing() -> None:
    nonsense = planned(("s1", "save it", "telepathy"))
    keys = ("make", "revise-1", "revise-2")
    run = played(SPEC, STORY | {f"attempt-1/supplement/plan/{key}": nonsense for key in keys}, RESULTS)
    done = done_by(run)
    assert [(one.attempted, one.succeeded) for one in done.results] == [(False, False)] * 2
    assert "telepathy" in done.results[0].error
    assert (done.used, done.attempted, done.succeeded) == (False, 1, 1)
    assert "a, b, c" in asked_for(run, "attempt-1/answer")
    assert run.ended.outcome is Outcome.UNVERIFIED


def test_it_is_checked_once_for_each_plan_that_was_carried_out_over_the_whole_history() -> None:
    again = {
        "attempt-2/plan/make": planned(("write", "write it down", "write")),
        "attempt-2/step-1/arguments": call_of("write"),
        "attempt-2/completeness": checked(analysis="all is there"),
        "attempt-2/answer": "Done.",
    }
    story = STORY | {
        "attempt-1/plan/make": planned(("find", "find the list", "search"), ("tell", "tell it", None)),
        "attempt-1/step-2/answer": "",
        "attempt-1/completeness": checked(missing=["the telling"]),
    }
    run = played(scene("Find it.", "search", "write", max_iterations=2), story | again, RESULTS)
    checks = [effect.found for effect in run.of(RecordCompleteness)]
    assert [(one.attempt, one.state.value, one.steps_ok) for one in checks] == [
        (1, "incomplete", False),
        (2, "complete", True),
    ]
    history = asked_for(run, "attempt-2/completeness")
    assert "Step 2: tell it — failed" in history
    assert "Step 3: write it down [tool: write] — worked" in history
    assert "still missing" not in asked_for(run, "attempt-2/answer")


def step(name: str, what: str, tool: str | None = None) -> PlanStep:
    return PlanStep(id=name, description=what, tool=tool, requires=())


def test_a_step_is_put_to_the_supplement_that_it_serves() -> None:
    two = [Supplement(operation="保存图片到文件", suggested_tools=("write",)), Supplement(operation="发送通知给用户")]
    assert served_by(step("s2-anything", "保存图片"), two, place=0) == 1
    assert served_by(step("s9", "发送通知"), two, place=0) == 1
    assert served_by(step("a", "do it", "write"), two, place=1) == 0
    assert served_by(step("b", "something else"), two, place=5) == 1


def test_a_supplement_without_a_step_of_its_own_was_not_attempted() -> None:
    ran = StepRun(step=step("s1", "save it"), outcome=PlanStepOutcome(step="s1", state=PlanStepState.DONE), tokens=5)
    two = [Supplement(operation="save"), Supplement(operation="send")]
    saved, sent = results_of(two, [ran], tokens=8, cost_usd=Decimal(0))
    assert (saved.succeeded, saved.tokens) == (True, 7)
    assert (sent.attempted, sent.succeeded, sent.error, sent.tokens) == (False, False, NO_STEP, 1)


@pytest.mark.parametrize("stops_at", ["attempt-1/supplement/plan/make", "attempt-1/supplement/step-2/arguments"])
def test_supplements_that_a_limit_stops_are_told_with_what_they_cost_until_then(stops_at: str) -> None:
    answers = STORY | {stops_at: said(STORY[stops_at], tokens=10_000_000)}
    run = played(SPEC, answers, RESULTS)
    done = done_by(run)
    assert run.ended.outcome is Outcome.OVER_BUDGET
    assert sum(result.tokens for result in done.results) >= 10_000_000
    assert [result.attempted for result in done.results] == [stops_at.endswith("arguments"), False]
    assert all("over budget" in result.error for result in done.results)
    assert not any(effect.key == "attempt-1/answer" for effect in run.effects)


AGAIN = wanted("Mail the list to the team at once", "Do it again, 再次！", "mail", quote="the list")


def calls_of(run: Any, tool: str) -> list[dict[str, Any]]:
    return [effect.arguments for effect in run.of(CallTool) if effect.tool == tool]


def mailed_before(objective: str, supplement: dict[str, Any], again: dict[str, Any]) -> Any:
    """A run whose plan has mailed the list already, and whose check wants something mailed."""
    first = {"to": "team@example.com", "subject": "List", "body": "Here is the list that you asked for: a, b, c."}
    answers = {
        "attempt-1/plan/make": planned(("0", "tell them", "mail")),
        "attempt-1/step-1/arguments": call_of("mail", **first),
        "attempt-1/completeness": checked(supplement, missing=["mailing"]),
        "attempt-1/supplement/plan/make": planned(("s1-mail", "mail it", "mail")),
        "attempt-1/supplement/step-1/arguments": call_of("mail", **first | again),
        "attempt-1/answer": "Done.",
    }
    return played(scene(objective, "search", "write", "mail"), answers, RESULTS)


@pytest.mark.parametrize(
    "again", [{}, {"to": " Team@Example.com"}, {"body": "Once more, in other words: a and b and also c."}]
)
def test_a_call_that_was_made_is_not_made_again_whatever_the_supplement_says(again: dict[str, Any]) -> None:
    run = mailed_before("Mail the list to the team.", AGAIN, again)
    assert len(calls_of(run, "mail")) == 1
    done = done_by(run)
    [result] = done.results
    assert (result.attempted, result.succeeded, result.done_already) == (False, False, True)
    assert (done.attempted, done.succeeded, done.completes) == (1, 1, True)
    assert "still missing" not in asked_for(run, "attempt-1/answer"), "by the record it was done"


def test_a_call_is_made_again_where_the_task_asks_for_it() -> None:
    twice = AGAIN | {"repeat_quote": "mail the list twice"}
    assert len(calls_of(mailed_before("Please mail the list twice.", twice, {}), "mail")) == 2
    assert len(calls_of(mailed_before("Please mail the list.", twice, {}), "mail")) == 1


def test_a_call_that_nobody_knows_the_end_of_is_not_made_again_by_a_supplement() -> None:
    story = STORY | {
        "attempt-1/plan/make": planned(("0", "mail it", "mail")),
        "attempt-1/step-1/arguments": call_of("mail", to="team"),
        "attempt-1/step-1/arguments-2": call_of("mail", to="team"),
        "attempt-1/completeness": checked(MAIL),
        "attempt-1/supplement/plan/make": planned(("s1-mail", "mail it", "mail")),
        "attempt-1/supplement/step-1/arguments": call_of("mail", to="team"),
    }
    lost = failed(ToolFailure.TIMED_OUT, error="no answer came")
    run = played(SPEC, story, RESULTS | {"mail": lost})
    assert not [key for key in run.keys if key.startswith("attempt-1/supplement/step-1/call")]


def test_a_step_calls_only_the_tools_that_were_left_to_its_supplement() -> None:
    swapped = planned(("s1-save", "save it", "mail"), ("s2-mail", "mail it", "write"))
    run = played(SPEC, STORY | {"attempt-1/supplement/plan/make": swapped}, RESULTS)
    assert not calls_of(run, "mail")
    assert not calls_of(run, "write")
    assert not done_by(run).completes


def test_it_is_complete_once_every_missing_aspect_was_supplied() -> None:
    assert done_by(played(SPEC, STORY, RESULTS)).completes
    one_alone = checked(SAVE | {"missing": "saving"}, missing=["saving", "mailing"])
    story = STORY | {
        "attempt-1/completeness": one_alone,
        "attempt-1/supplement/plan/make": planned(("s1-save", "save it", "write")),
    }
    run = played(SPEC, story, RESULTS)
    assert not done_by(run).completes
    assert "- mailing" in asked_for(run, "attempt-1/answer")
    assert state_after(found_by(run), done_by(run)) is CheckState.INCOMPLETE


# Whether a run is checked: drawn once, journalled, and not at all where all runs are checked.


@pytest.mark.parametrize(
    ("recorded", "arm"),
    [
        ({"share": 0.1, "sampled_by": 0.1}, CheckArm.NOT_SAMPLED),
        ({"share": 0.1, "sampled_by": 0.0999}, CheckArm.CHECKED),
        ({"share": 0.1, "holdout_share": 0.2, "sampled_by": 0.0999, "held_by": 0.2}, CheckArm.CHECKED),
        ({"share": 0.1, "holdout_share": 0.2, "sampled_by": 0.0999, "held_by": 0.1999}, CheckArm.NOT_SAMPLED),
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
        ({"when": "never", "least_share": 0.0}, When.OFF, 0.1),
        ({"enabled": True, "least_worth": 0.2, "max_cost_per_completed_usd": "1"}, When.ON, 0.1),
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


def test_a_run_outside_the_sample_answers_without_a_check() -> None:
    run = run_of(CompletenessSettings(when=When.SAMPLED), sampled_by=0.5)
    assert kinds_of(run).count(DrawCheck.kind) == 1
    assert RecordCompleteness.kind not in kinds_of(run)
    assert any(effect.key == "attempt-1/answer" for effect in run.effects)


def test_a_run_in_the_sample_is_checked_as_any_other_and_drawn_for_once() -> None:
    run = run_of(CompletenessSettings(when=When.SAMPLED), sampled_by=0.01)
    without = run_of(CompletenessSettings())
    drawn = run.of(DrawCheck)
    assert [(effect.key, effect.share) for effect in drawn] == [("completeness/draw", 0.1)]
    assert [kind for kind in kinds_of(run) if kind != DrawCheck.kind] == kinds_of(without)


def test_where_the_check_is_off_nothing_is_drawn_or_checked() -> None:
    kinds = kinds_of(run_of(CompletenessSettings(when=When.OFF)))
    assert DrawCheck.kind not in kinds
    assert RecordCompleteness.kind not in kinds


# A run whose supplements worked is looked at again; money that is spent stops what is not begun.


def looks_of(one: Played) -> list[Completeness]:
    return [effect.found for effect in one.of(RecordSecondLook)]


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
    assert len(run.of(CallTool)) == 3


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
