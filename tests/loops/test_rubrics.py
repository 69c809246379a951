"""Ratings by a rubric: what each is worth, what they come to, and what a critic's words are read as."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from reflection_app.loops.actor_critic import answer_for, judge, question, schema_for
from reflection_app.loops.attempt_effects import Generate, RecordVerdict
from reflection_app.loops.rubrics import (
    Category,
    Criterion,
    Fault,
    Given,
    Rating,
    RatingFault,
    Rubric,
    Scale,
    failed_of,
    rated,
    read_as_value,
    score_of,
    shortcomings,
    together,
)
from reflection_app.loops.task_spec import Limits, Mode, TaskSpec, Thresholds
from reflection_app.loops.verdicts import Outcome, Verdict
from tests.loops.playing import NO_AUDIT, decided, play, said, sequence

RUBRIC = Rubric(
    number=1,
    criteria=(
        Criterion(key="correct", name="Correct", weight=3, must_hold=True),
        Criterion(key="tone", name="Tone", scale=Scale.PASS_FAIL),
        Criterion(
            key="ready",
            name="Ready",
            scale=Scale.CATEGORY,
            choices=(
                Category(name="no", worth=0),
                Category(name="after an edit", worth=60),
                Category(name="yes", worth=100),
            ),
        ),
        Criterion(key="remark", name="Remark", scale=Scale.TEXT),
    ),
)


def rating(correct: int = 5, tone: str = "pass", ready: str = "yes", **more: Any) -> dict[str, Given]:
    values = {"correct": correct, "tone": tone, "ready": ready} | more
    return {key: Given(value=value) for key, value in values.items()}


def test_the_score_is_the_mean_worth_by_weight() -> None:
    # 3 of 5 points are worth 50: (3·50 + 1·100 + 1·60) / 5 = 62.
    assert score_of(RUBRIC, rated(RUBRIC, rating(3, "pass", "after an edit"))) == 62
    assert score_of(RUBRIC, rated(RUBRIC, rating())) == 100
    assert score_of(RUBRIC, rated(RUBRIC, rating(1, "fail", "no"))) == 0


def test_what_must_hold_fails_under_half_of_its_worth() -> None:
    assert failed_of(RUBRIC, rated(RUBRIC, rating(2))) == ("correct",)
    assert failed_of(RUBRIC, rated(RUBRIC, rating(3))) == ()
    assert failed_of(RUBRIC, rated(RUBRIC, rating(5, "fail"))) == ()


@pytest.mark.parametrize(
    ("given_", "key", "fault"),
    [
        ({"correct": 5, "tone": "pass"}, "ready", Fault.MISSING),
        ({"correct": 6, "tone": "pass", "ready": "yes"}, "correct", Fault.NO_VALUE),
        ({"correct": 5, "tone": "maybe", "ready": "yes"}, "tone", Fault.NO_VALUE),
        ({"correct": 5, "tone": "pass", "ready": "yes", "style": 3}, "style", Fault.UNKNOWN),
        ({"correct": " ", "tone": "pass", "ready": "yes"}, "correct", Fault.MISSING),
    ],
)
def test_a_rating_that_makes_no_sense_is_named(given_: dict[str, Any], key: str, fault: Fault) -> None:
    with pytest.raises(RatingFault) as raised:
        rated(RUBRIC, {name: Given(value=value) for name, value in given_.items()})
    assert (raised.value.key, raised.value.fault) == (key, fault)


def test_a_remark_may_be_left_out_and_is_worth_nothing() -> None:
    ratings = rated(RUBRIC, rating(remark="Names a customer."))
    assert (ratings[-1].value, ratings[-1].worth) == ("Names a customer.", None)
    assert score_of(RUBRIC, ratings) == 100
    assert [one.criterion for one in rated(RUBRIC, rating())] == ["correct", "tone", "ready"]


@pytest.mark.parametrize(
    "criteria",
    [
        [{"key": "a", "name": "A"}, {"key": "a", "name": "B"}],
        [{"key": "a", "name": "A", "scale": "text"}],
        [{"key": "a", "name": "A", "scale": "category", "choices": [{"name": "x", "worth": 1}]}],
        [{"key": "a", "name": "A", "scale": "category", "choices": [{"name": "x", "worth": 1}] * 2}],
        [{"key": "a", "name": "A", "choices": [{"name": "x", "worth": 1}, {"name": "y", "worth": 2}]}],
        [{"key": "a", "name": "A", "scale": "text", "must_hold": True}, {"key": "b", "name": "B"}],
        [{"key": "a", "name": "A", "points": 1}],
        [],
    ],
)
def test_a_rubric_that_gives_no_score_is_refused(criteria: list[dict[str, Any]]) -> None:
    with pytest.raises(ValidationError):
        Rubric.model_validate({"number": 1, "criteria": criteria})


@pytest.mark.parametrize(
    ("key", "written", "value"),
    [
        ("correct", 4, "4"),
        ("correct", "4/5", "4"),
        ("correct", " 4 out of 5 ", "4"),
        ("correct", True, "True"),
        ("tone", True, "pass"),
        ("tone", "Yes", "pass"),
        ("ready", "After an Edit", "after an edit"),
        ("remark", None, ""),
    ],
)
def test_what_a_model_writes_is_read_where_it_is_clear(key: str, written: object, value: str) -> None:
    criterion = next(one for one in RUBRIC.criteria if one.key == key)
    assert read_as_value(criterion, written) == value


def test_several_people_come_to_the_rating_in_the_middle() -> None:
    each = [rated(RUBRIC, rating(points, tone)) for points, tone in ((2, "pass"), (5, "fail"), (4, "pass"))]
    assert [one.value for one in together(each)] == ["4", "pass", "yes"]
    # Of two the lower one, so that it is a rating that somebody gave.
    assert [one.value for one in together(each[:2])] == ["2", "fail", "yes"]
    assert together([each[0], ()]) == ()


@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from(["pass", "fail"])), min_size=1, max_size=7))
def test_what_people_come_to_lies_between_what_they_gave(said_: list[tuple[int, str]]) -> None:
    each = [rated(RUBRIC, rating(points, tone)) for points, tone in said_]
    merged = together(each)
    assert min(points for points, _ in said_) <= int(merged[0].value) <= max(points for points, _ in said_)
    assert 0 <= score_of(RUBRIC, merged) <= 100


def critic_says(**ratings: Any) -> str:
    told = {key: {"why": f"why {key}", "value": value} for key, value in ratings.items()}
    return json.dumps({"ratings": told, "confidence": 0.9, "feedback": {}, "issues": []})


def test_the_verdict_follows_from_the_critics_ratings_alone() -> None:
    read = answer_for(RUBRIC).model_validate(json.loads(critic_says(correct=2, tone="pass", ready="yes")))
    judged = judge(read, attempt=1, thresholds=Thresholds(), rubric=RUBRIC)
    # (3·25 + 100 + 100) / 5 = 55 would pass, but the criterion that must hold does not.
    assert (judged.score, judged.verdict) == (55, Verdict.REVISE)
    assert judged.ratings[0] == Rating(criterion="correct", name="Correct", value="2", worth=25, why="why correct")
    assert judged.feedback.weaknesses == ("Correct (2): why correct",)
    assert (judged.completeness, judged.correctness) == (None, None)


def test_the_critic_is_asked_for_each_criterion_and_nothing_else() -> None:
    asked = question(objective="Write.", content="Work.", rubric=RUBRIC)[-1].content
    assert '"correct": {"why": "...", "value": 1-5, 5 is best}' in asked
    assert '"fail" or "pass"' in asked
    assert "completeness" not in asked.split("Answer with one JSON object")[1].split('"issues"')[0]
    schema = schema_for(RUBRIC)
    assert list(schema["properties"]["ratings"]["properties"]) == ["correct", "tone", "ready", "remark"]
    assert schema["properties"]["ratings"]["additionalProperties"] is False


def spec(**limits: Any) -> TaskSpec:
    return TaskSpec(
        objective="Write.", mode=Mode.ACTOR_CRITIC, limits=Limits(**limits), review_policy=NO_AUDIT, rubric=RUBRIC
    )


def test_a_run_goes_by_its_rubric_and_tells_the_actor_where_it_fell_short() -> None:
    answers = [
        said("first"),
        said(critic_says(correct=3, tone="fail", ready="no")),
        said("second"),
        said(critic_says(correct=5, tone="pass", ready="yes")),
    ]
    played = play(spec(), sequence(answers))
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 2)
    verdicts = [effect.judgement for effect in played.of(RecordVerdict)]
    assert [(one.verdict, one.score) for one in verdicts] == [(Verdict.REVISE, 30), (Verdict.PASS, 100)]
    again = [effect for effect in played.of(Generate) if effect.role == "actor"][1]
    assert "Tone (fail): why tone" in again.messages[-1].content


def test_a_critic_that_leaves_a_criterion_out_is_asked_again() -> None:
    answers = [
        said("first"),
        said(critic_says(correct=5, tone="pass")),
        said(critic_says(correct=5, tone="pass", ready="yes")),
    ]
    played = play(spec(), sequence(answers))
    assert played.ended.outcome is Outcome.SUCCEEDED
    asked = [effect for effect in played.of(Generate) if effect.role == "critic"]
    assert "ready: missing; one of no, after an edit, yes" in asked[1].messages[-1].content


def test_a_persons_ratings_go_into_the_judgement_and_its_feedback() -> None:
    ratings = rated(RUBRIC, rating(2))
    decision = decided(Verdict.REVISE, score=55, reason="Check it.", ratings=ratings)
    judged = decision.judgement_of(1)
    assert judged.ratings == ratings
    assert judged.feedback.weaknesses == shortcomings(ratings) == ("Correct (2)",)
    assert judged.feedback.suggestions == ("Check it.",)


def test_a_category_is_found_whatever_white_space_is_around_its_name() -> None:
    choices = (Category(name=" no", worth=0), Category(name="yes\n", worth=100))
    rubric = Rubric(number=1, criteria=(Criterion(key="ready", name="Ready", scale=Scale.CATEGORY, choices=choices),))
    (rating,) = rated(rubric, {"ready": Given(value="yes\n")})
    assert (rating.value, rating.worth) == ("yes", 100)
    with pytest.raises(ValidationError):
        Category(name="  ", worth=0)
