import pytest

from reflection_app.loops.attempt_effects import (
    AskReviewer,
    Decision,
    Generate,
    RecordVerdict,
    ReviewDecision,
    ReviewReason,
)
from reflection_app.loops.verdicts import Issue, Outcome, Verdict
from tests.loops.playing import decided, play, said, sequence, text_spec
from tests.runs.critiques import critique


def test_an_approved_attempt_ends_the_loop_as_succeeded() -> None:
    played = play(text_spec(), sequence([said("haiku"), said(critique(90, approved=True))]))

    assert played.ended.outcome is Outcome.SUCCEEDED
    assert played.keys == ["attempt-1/answer", "attempt-1/critique", "attempt-1/verdict"]


def test_the_next_prompt_is_rebuilt_from_the_task_and_never_nests() -> None:
    sent_back = critique(50, feedback={"weaknesses": ["no season word"], "suggestions": ["name a season"]})
    answers = [said("one"), said(sent_back), said("two"), said(critique(60)), said("three"), said(critique(70))]
    played = play(text_spec(), sequence(answers))

    prompts = [effect.messages[-1].content for effect in played.of(Generate) if effect.attempt]
    assert prompts[0] == "write a haiku"
    assert all(text.count("write a haiku") == 1 for text in prompts)
    assert "no season word" in prompts[2]
    assert "one" in prompts[2]
    assert "two" in prompts[2]
    assert played.ended.outcome is Outcome.EXHAUSTED
    assert played.ended.best_attempt == 3


def test_what_an_issue_says_is_not_listed_again_as_a_weakness() -> None:
    issue = {"description": "The season word is missing.", "suggested_fix": "Name a season."}
    feedback = {
        "weaknesses": ["the season word  is missing", "Line 2 is too long", "Line 3 is too long"],
        "suggestions": ["name a season", "Shorten line 2"],
    }
    sent_back = critique(50, issues=[issue], feedback=feedback)
    played = play(text_spec(), sequence([said("one"), said(sent_back), said("two"), said(critique(90, approved=True))]))
    [first, again] = [one.messages[-1].content for one in played.of(Generate) if one.attempt]
    assert again.casefold().count("season word") == 1
    assert again.casefold().count("name a season") == 1
    for other in ("Line 2 is too long", "Line 3 is too long", "Shorten line 2"):
        assert other in again
    assert "season" not in first


@pytest.mark.parametrize(
    ("issue", "weakness"),
    [
        ("It returns True where a > b", "It returns True where a < b"),
        ("It adds +5", "It adds -5"),
        ("The list ends in ✅", "The list ends in ❌"),
        ("Do not add a test of the empty list", "add a test"),
    ],
)
def test_a_weakness_with_other_signs_or_less_text_is_listed(issue: str, weakness: str) -> None:
    sent_back = critique(
        50,
        issues=[{"description": issue, "suggested_fix": issue}],
        feedback={"weaknesses": [weakness], "suggestions": [weakness]},
    )
    played = play(text_spec(), sequence([said("one"), said(sent_back), said("two"), said(critique(90, approved=True))]))
    [_, again] = [one.messages[-1].content for one in played.of(Generate) if one.attempt]
    assert f"- {weakness}\n- To do: {weakness}" in again


def test_under_a_critic_the_first_score_that_falls_is_an_over_correction() -> None:
    answers = [said("one"), said(critique(60)), said("two"), said(critique(50))]
    played = play(text_spec(max_iterations=9), sequence(answers))
    assert (played.ended.outcome, played.ended.error) == (Outcome.OVER_CORRECTED, "")


def test_under_a_critic_the_first_attempt_that_does_not_improve_stops_the_loop() -> None:
    answers = [said("one"), said(critique(60)), said("two"), said(critique(60))]
    played = play(text_spec(max_iterations=9), sequence(answers))

    # No score fell, so nothing was over-corrected.
    assert played.ended.outcome is Outcome.EXHAUSTED
    assert played.ended.error == "Attempt 2 scored no higher than an earlier one (60)."
    assert played.ended.best_attempt == 1


def test_a_rejection_waits_for_a_person_who_may_uphold_it() -> None:
    upheld = ReviewDecision(decision=Decision.APPROVE, verdict=Verdict.REJECT, score=10)
    played = play(text_spec(), sequence([said("one"), said(critique(10)), upheld]))

    asked = played.of(AskReviewer)
    assert [effect.reason for effect in asked] == [ReviewReason.REJECTED]
    assert played.ended.outcome is Outcome.REJECTED
    assert played.ended.best_attempt == 1


def test_a_person_who_sends_an_attempt_back_is_heard_by_the_next_one() -> None:
    issue = Issue(description="five syllables too many", suggested_fix="cut the last line")
    back = decided(Verdict.REVISE, score=40, issues=(issue,), reason="Keep the frog.")
    answers = [said("one"), said(critique(10)), back, said("two"), said(critique(80, approved=True))]
    played = play(text_spec(), sequence(answers))

    second = next(effect for effect in played.of(Generate) if effect.attempt == 2)
    told = second.messages[-1].content
    assert "five syllables too many (cut the last line)" in told
    assert "Keep the frog." in told
    assert played.ended.best_attempt == 2


def test_a_critic_that_never_answers_usably_leaves_the_attempt_unverified_and_invents_no_verdict() -> None:
    played = play(text_spec(), sequence([said("one"), said("no"), said("{}"), said('{"approved": "maybe"}')]))

    assert played.ended.outcome is Outcome.UNVERIFIED
    assert "no usable answer in 3 tries" in played.ended.error
    assert "maybe" in played.ended.error
    assert not played.of(RecordVerdict)
    assert played.ended.best_attempt == 1


def test_a_critic_that_has_to_be_asked_again_stops_at_the_budget_and_it_is_named() -> None:
    played = play(text_spec(token_budget=100), sequence([said("one"), said("hm", tokens=95)]))

    assert played.ended.outcome is Outcome.OVER_BUDGET
    assert "attempt-1/critique/again-1" not in played.keys


def test_scores_that_a_person_corrected_do_not_count_as_over_correction() -> None:
    back = decided(Verdict.REVISE, score=40, reason="Too proud.")
    proud = critique(95, approved=True, confidence=0.3)
    answers = [said("one"), said(proud), back, said("two"), said(critique(80)), said("three"), said(critique(85))]
    assert play(text_spec(), sequence(answers)).ended.outcome is Outcome.EXHAUSTED
