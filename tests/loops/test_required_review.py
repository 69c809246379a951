"""A task that requires a review: the verdict or limit that would end its run waits for a reviewer."""

from typing import Any

import pytest

from reflection_app.loops.attempt_effects import (
    AskReviewer,
    AwaitAttempt,
    EditedAnswer,
    Generate,
    HandedIn,
    KeepAttempt,
    RecordVerdict,
    RequestAudit,
    ReviewReason,
)
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.effects import AnyEffect
from reflection_app.loops.required_review import END_REVIEW
from reflection_app.loops.task_spec import Execution, Limits, Mode, ReviewDemand, ReviewPolicy, ReviewRule, TaskSpec
from reflection_app.loops.verdicts import Outcome, Referee, Verdict
from tests.loops.playing import (
    NO_AUDIT,
    Answer,
    Played,
    code_spec,
    decided,
    noted,
    play,
    report,
    said,
    sequence,
    text_spec,
)
from tests.loops.test_reflexion import evaluation
from tests.loops.test_reflexion import spec as reasoning_spec
from tests.loops.tool_playing import call_text, in_turn, plan_text, planning_spec, tool_spec, worked
from tests.runs.critiques import critique

CODE = "```python\ndef f(n): return n + 1\n```"
GOOD = critique(90, approved=True)


def required(spec: TaskSpec, **changes: Any) -> TaskSpec:
    return spec.model_copy(update={"review": ReviewDemand.REQUIRED, **changes})


def prompts(played: Played) -> list[str]:
    made = [one for one in played.effects if isinstance(one, Generate | AwaitAttempt)]
    return ["\n".join(message.content for message in one.messages) for one in made]


@pytest.mark.parametrize(
    ("verdict", "outcome"), [(Verdict.PASS, Outcome.SUCCEEDED), (Verdict.REJECT, Outcome.REJECTED)]
)
def test_what_the_critic_passes_waits_and_the_reviewer_ends_the_run(verdict: Verdict, outcome: Outcome) -> None:
    played = play(required(text_spec()), sequence([said("a haiku"), said(GOOD), decided(verdict)]))
    [review] = played.of(AskReviewer)
    assert (review.key, review.reason) == ("attempt-1/review", ReviewReason.REQUIRED)
    assert played.ended.outcome is outcome
    assert not played.of(RequestAudit)


def test_what_the_reviewer_sends_back_is_followed_by_an_attempt_that_waits_again() -> None:
    answers = [said("one"), said(GOOD), decided(Verdict.REVISE), said("two"), said(GOOD), decided(Verdict.PASS)]
    played = play(required(text_spec()), sequence(answers))
    assert [review.key for review in played.of(AskReviewer)] == ["attempt-1/review", "attempt-2/review"]
    assert "Name the season." in prompts(played)[2]
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 2)


def test_only_the_last_attempt_that_a_critic_sends_back_waits() -> None:
    answers = [said("one"), said(critique(40)), said("two"), said(critique(45)), decided(Verdict.PASS)]
    played = play(required(text_spec(max_iterations=2)), sequence(answers))
    [review] = played.of(AskReviewer)
    assert (review.key, review.judgement.attempt, review.judgement.verdict) == (END_REVIEW, 2, Verdict.REVISE)
    assert played.ended.outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [(Verdict.PASS, Outcome.SUCCEEDED), (Verdict.REVISE, Outcome.EXHAUSTED), (Verdict.REJECT, Outcome.REJECTED)],
)
def test_a_run_out_of_attempts_ends_by_one_decision(verdict: Verdict, outcome: Outcome) -> None:
    played = play(required(text_spec(max_iterations=1)), sequence([said("one"), said(critique(45)), decided(verdict)]))
    assert len(played.of(AskReviewer)) == 1
    assert played.ended.outcome is outcome


def test_after_a_decision_on_an_earlier_attempt_the_end_still_waits() -> None:
    answers = [said("one"), said(GOOD), decided(Verdict.REVISE, score=80), said("two"), said(critique(45))]
    played = play(required(text_spec(max_iterations=2)), sequence([*answers, decided(Verdict.PASS)]))
    assert [(review.key, review.judgement.attempt) for review in played.of(AskReviewer)] == [
        ("attempt-1/review", 1),
        (END_REVIEW, 2),
    ]
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 2)


def test_the_policy_decides_how_many_judge_where_one_of_its_rules_fits() -> None:
    policy = ReviewPolicy(rules=(ReviewRule(reviewers=3),), audit_share=0)
    played = play(required(text_spec(policy=policy)), sequence([said("a"), said(GOOD), decided(Verdict.PASS)]))
    [review] = played.of(AskReviewer)
    assert (review.reason, review.rule, review.reviewers) == (ReviewReason.POLICY, 1, 3)


def test_an_audit_draws_nothing_that_a_reviewer_decides_anyway() -> None:
    policy = ReviewPolicy(audit_share=1)
    played = play(required(text_spec(policy=policy)), sequence([said("a"), said(GOOD), decided(Verdict.PASS)]))
    assert played.keys[-1] == "attempt-1/review"


def test_an_edited_answer_ends_a_run_without_attempts_left() -> None:
    edit = decided(Verdict.REVISE, edited=EditedAnswer(content="mine", score=95))
    played = play(required(text_spec(max_iterations=1)), sequence([said("one"), said(critique(45)), edit]))
    [kept] = played.of(KeepAttempt)
    assert (kept.content, kept.edited_from) == ("mine", 1)
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 2)


def test_where_the_critic_fails_the_reviewer_judges_what_nothing_has_judged() -> None:
    nonsense = [said("no verdict")] * 5
    answers: Answer = sequence([said("one"), *nonsense])

    def answer(effect: AnyEffect) -> Any:
        return decided(Verdict.PASS) if isinstance(effect, AskReviewer) else answers(effect)

    played = play(required(text_spec()), answer)
    [review] = played.of(AskReviewer)
    assert review.judgement.is_void
    assert review.reason is ReviewReason.UNSETTLED_PICK
    assert review.why == ("Nothing has judged attempt 1.",)
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 1)


def test_an_error_after_an_attempt_is_shown_to_the_reviewer() -> None:
    answers = [said("one"), said(critique(45)), EffectFailed("the model is gone"), decided(Verdict.REVISE)]
    played = play(required(text_spec()), sequence(answers))
    [review] = played.of(AskReviewer)
    assert review.why == ("the model is gone",)
    assert (played.ended.outcome, played.ended.error) == (Outcome.FAILED, "the model is gone")


def test_a_run_without_an_attempt_asks_nobody() -> None:
    played = play(required(text_spec()), sequence([EffectFailed("the model is gone")]))
    assert played.of(AskReviewer) == []
    assert played.ended.outcome is Outcome.FAILED


# The loops that a real signal ends, in which no policy makes a verdict wait.


def test_code_that_passes_its_tests_waits_for_a_reviewer() -> None:
    answers = [said(CODE), report(True), decided(Verdict.REVISE, reason="No comment says why.")]
    played = play(required(code_spec()), sequence([*answers, said(CODE), report(True), decided(Verdict.PASS)]))
    assert [review.reason for review in played.of(AskReviewer)] == [ReviewReason.REQUIRED] * 2
    assert "No comment says why." in prompts(played)[1]
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 2)


def test_data_that_fits_its_schema_waits_for_a_reviewer() -> None:
    schema = {"type": "object", "required": ["a"]}
    spec = TaskSpec(objective="x", mode=Mode.EXTERNAL_LOOP, output_schema=schema, review_policy=NO_AUDIT)
    answers = [said('{"a": 1}'), decided(Verdict.REVISE), said('{"a": 2}'), decided(Verdict.PASS)]
    played = play(required(spec), sequence(answers))
    assert "Name the season." in prompts(played)[1]
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 2)


def test_a_call_that_works_waits_for_a_reviewer() -> None:
    answers = [worked("21 degrees"), decided(Verdict.REVISE, reason="The other Rome.")]
    answers += [said(call_text(city="Rome, Georgia")), worked("25 degrees"), decided(Verdict.PASS)]
    played = play(required(tool_spec({"city": "Rome"})), in_turn(answers))
    assert "The other Rome." in prompts(played)[0]
    assert '"Rome"' in prompts(played)[0]
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 2)


@pytest.mark.parametrize(
    ("passed", "reason"),
    [
        ((True, True), ReviewReason.REQUIRED),
        ((True, False), ReviewReason.REQUIRED),
        ((False, False), ReviewReason.UNSETTLED_PICK),
    ],
)
def test_code_under_tests_that_a_model_wrote_waits(passed: tuple[bool, bool], reason: ReviewReason) -> None:
    policy = ReviewPolicy(unsettled_waits=False, audit_share=0)
    spec = TaskSpec(objective="Write f.", mode=Mode.EXTERNAL_LOOP, kind="code_generation", review_policy=policy)
    written = said("```python\nassert f(1) == 2\nassert f(2) == 3\n```")
    answers = [written, said(CODE), report(*passed), decided(Verdict.REVISE)]
    played = play(required(spec, limits=Limits(max_iterations=1)), sequence(answers))
    assert [review.reason for review in played.of(AskReviewer)] == [reason]
    assert played.ended.outcome is Outcome.EXHAUSTED


def test_an_agents_work_that_nothing_can_judge_is_judged_by_the_reviewer() -> None:
    spec = required(
        TaskSpec(
            objective="Draw it.",
            mode=Mode.REFLECTION_PROTOCOL,
            execution=Execution.EXTERNAL,
            has_critic=False,
            review_policy=NO_AUDIT,
        )
    )

    def answer(effect: AnyEffect) -> Any:
        if isinstance(effect, AwaitAttempt):
            return HandedIn(content="drawn")
        if isinstance(effect, AskReviewer):
            return decided(Verdict.PASS)
        return noted(effect)

    played = play(spec, answer)
    [review] = played.of(AskReviewer)
    assert (review.key, review.reason) == ("attempt-1/review", ReviewReason.UNSETTLED_PICK)
    assert played.ended.outcome is Outcome.SUCCEEDED


def test_a_plan_without_a_critic_waits_instead_of_ending_unverified() -> None:
    plan = said(plan_text(("look", "weather", [])))
    answers = [plan, said(call_text(city="Rome")), worked(), said("Pack light.")]
    answers += [decided(Verdict.REVISE), said("Pack a coat."), decided(Verdict.PASS)]
    played = play(required(planning_spec()), in_turn(answers))
    assert [review.reason for review in played.of(AskReviewer)] == [ReviewReason.REQUIRED] * 2
    assert "Name the season." in prompts(played)[-1]
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 2)


# A person's own text ends whatever loop asked, as an attempt of its own that has passed.


EDITED = decided(Verdict.REVISE, score=80, edited=EditedAnswer(content="Mine.", score=80))


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
