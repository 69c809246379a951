from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.attempt_effects import CallTool, Generate, KeepAttempt
from reflection_app.loops.completeness.checks import CheckState, CompletenessSettings, Supplement, state_after
from reflection_app.loops.completeness.supplementing import NO_STEP, results_of, served_by
from reflection_app.loops.effect import EffectTimedOut
from reflection_app.loops.effects import RecordCompleteness, RecordSupplements
from reflection_app.loops.plan_steps import StepRun
from reflection_app.loops.plans import PlanStep, PlanStepOutcome, PlanStepState
from reflection_app.loops.tool_calls import ToolFailure
from reflection_app.loops.verdicts import Outcome, Verdict
from tests.loops.completeness.scenes import call_of, checked, done_by, found_by, planned, played, scene, wanted
from tests.loops.playing import noted, play, said
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


def test_a_limit_that_is_reached_among_supplements_ends_the_run_with_all_results_kept() -> None:
    answers = STORY | {"attempt-1/supplement/step-2/arguments": EffectTimedOut("the time was up")}
    run = played(SPEC, answers, RESULTS)
    assert (run.ended.outcome, run.ended.best_attempt) == (Outcome.TIMED_OUT, 1)
    [kept] = [effect.content for effect in run.effects if isinstance(effect, KeepAttempt)]
    assert all(part in kept for part in ("a, b, c", "written", "Still missing: saving"))


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
    checks = [effect.found for effect in run.effects if isinstance(effect, RecordCompleteness)]
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


plans = [planned(("s1", "a", "write")), planned(("a", "a", "search"), ("b", "b", None))]
calls = [call_of("write"), call_of("search"), call_of("nothing")]
checks_said = [checked(), checked(SAVE), checked(SAVE, MAIL), checked(missing=["x"])]
texts = st.sampled_from(["", "er", *checks_said, *plans, *calls])


@given(st.data(), st.integers(1, 3), st.integers(0, 2))
def test_whatever_is_said_the_loop_ends_within_its_limits_and_counts_what_it_did(
    data: st.DataObject, iterations: int, most: int
) -> None:
    settings = CompletenessSettings(max_supplements=most)
    spec = scene("Find it.", "search", "write", settings=settings, max_iterations=iterations, token_budget=5_000)

    def answer(effect: Any) -> Any:
        match effect:
            case Generate():
                return said(data.draw(texts), tokens=data.draw(st.integers(1, 400)))
            case CallTool():
                return data.draw(st.sampled_from([worked(), failed()]))
        return noted(effect)

    run = play(spec, answer)
    assert len(run.keys) == len(set(run.keys))
    checks = [effect for effect in run.effects if isinstance(effect, RecordCompleteness)]
    assert len({one.found.attempt for one in checks}) == len(checks) <= iterations
    for effect in run.effects:
        if isinstance(effect, RecordSupplements):
            assert len(effect.done.results) <= most
            assert effect.done.succeeded <= effect.done.attempted


@pytest.mark.parametrize("unasked", ["attempt-1/completeness/found", "attempt-1/supplement/done"])
def test_records_have_keys_of_their_own(unasked: str) -> None:
    assert unasked in played(SPEC, STORY, RESULTS).keys


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
    return [effect.arguments for effect in run.effects if isinstance(effect, CallTool) and effect.tool == tool]


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


def test_a_supplement_that_is_delivered_twice_in_other_words_is_carried_out_once() -> None:
    other = wanted("Send out the list by mail, list and all", "urgent", "mail", quote="the list")
    story = STORY | {
        "attempt-1/completeness": checked(MAIL, other, missing=["mailing", "sending"]),
        "attempt-1/supplement/plan/make": planned(("s1-mail", "mail it", "mail"), ("s2-send", "send it", "mail")),
        "attempt-1/supplement/step-1/arguments": call_of("mail", to="team"),
        "attempt-1/supplement/step-2/arguments": call_of("mail", to="TEAM"),
    }
    run = played(SPEC, story, RESULTS)
    assert calls_of(run, "mail") == [{"to": "team"}]
    assert [(one.succeeded, one.done_already) for one in done_by(run).results] == [(True, False), (False, True)]
    assert done_by(run).completes


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
