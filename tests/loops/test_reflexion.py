import json
from typing import Any

import pytest

from reflection_app.loops.answer_reading import read_answer
from reflection_app.loops.attempt_effects import (
    AskReviewer,
    AwaitAttempt,
    Generate,
    HandedIn,
    RecordVerdict,
    ReviewReason,
)
from reflection_app.loops.attempts import CUT, tokens_of, within
from reflection_app.loops.reflexion import SelfEvaluation, judge_itself
from reflection_app.loops.task_spec import Execution, Limits, Mode, ReviewPolicy, TaskSpec
from reflection_app.loops.values import assistant, system, user
from reflection_app.loops.verdicts import Issue, Outcome, Referee, Verdict
from tests.loops.playing import NO_AUDIT, decided, noted, play, said, sequence


def spec(*, policy: ReviewPolicy = NO_AUDIT, execution: Execution = Execution.MANAGED, **limits: Any) -> TaskSpec:
    return TaskSpec(
        objective="How many primes are below 50?",
        mode=Mode.REFLEXION,
        execution=execution,
        limits=Limits(**limits),
        review_policy=policy,
    )


def evaluation(satisfied: bool, *, confidence: float | None = 0.9, issues: Any = ()) -> str:
    return json.dumps({"is_satisfactory": satisfied, "issues": list(issues), "confidence": confidence})


def reflection(text: str) -> str:
    return json.dumps({"issues": [f"{text} issue"], "root_causes": [f"{text} cause"], "suggestions": [f"{text} fix"]})


def test_a_satisfied_model_ends_the_loop_as_succeeded() -> None:
    played = play(spec(), sequence([said("15"), said(evaluation(True))]))

    assert played.ended.outcome is Outcome.SUCCEEDED
    assert played.keys == ["attempt-1/answer", "attempt-1/self-evaluation", "attempt-1/verdict"]
    verdict = played.effects[2]
    assert isinstance(verdict, RecordVerdict)
    assert (verdict.judgement.referee, verdict.judgement.score) == (Referee.SELF, 95)


def test_attempts_and_reflections_grow_the_one_context() -> None:
    answers: list[Any] = []
    for number, confidence in enumerate((0.9, 0.6, 0.3), start=1):
        answers += [said(f"answer {number}"), said(evaluation(False, confidence=confidence))]
        answers += [said(reflection(f"r{number}"))] if number < 3 else []
    policy = ReviewPolicy(audit_share=0, rules=())
    played = play(spec(policy=policy), sequence(answers))

    third = played.of(Generate)[-2].messages
    assert [message.role for message in third] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert third[1].content == "How many primes are below 50?"
    assert (third[2].content, third[4].content) == ("answer 1", "answer 2")
    for text in ("r2 issue", "r2 cause", "r2 fix", "attempt 2"):
        assert text in third[5].content
    assert played.ended.outcome is Outcome.EXHAUSTED
    assert played.ended.best_attempt == 3
    assert "attempt-3/reflection" not in played.keys


def test_an_unsure_self_evaluation_waits_for_a_person_whose_words_go_into_the_context() -> None:
    back = decided(
        Verdict.REVISE,
        score=20,
        issues=(Issue(description="1 is no prime", suggested_fix="begin with 2"),),
        reason="Count again.",
    )
    answers = [said("16"), said(evaluation(True, confidence=0.5)), back, said(reflection("r"))]
    played = play(spec(), sequence([*answers, said("15"), said(evaluation(True))]))

    asked = played.of(AskReviewer)
    assert [effect.reason for effect in asked] == [ReviewReason.LOW_CONFIDENCE]
    told = played.of(Generate)[3].messages[-1].content
    for text in ("A person sent it back", "1 is no prime (begin with 2)", "Count again.", "r fix"):
        assert text in told
    assert (played.ended.outcome, played.ended.best_attempt) == (Outcome.SUCCEEDED, 2)


def test_an_outside_agent_makes_the_attempts_and_is_told_the_reflections() -> None:
    answers = iter([said(evaluation(False)), said(reflection("r")), said(evaluation(True))])

    def answer(effect: Any) -> Any:
        if isinstance(effect, AwaitAttempt):
            return HandedIn(content=f"handed in {effect.attempt}")
        return next(answers) if isinstance(effect, Generate) else noted(effect)

    played = play(spec(execution=Execution.EXTERNAL), answer)
    waits = played.of(AwaitAttempt)
    assert [wait.attempt for wait in waits] == [1, 2]
    assert "r cause" in waits[1].messages[-1].content
    assert played.ended.outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize("spent_at", [0, 1, 2])
def test_no_call_is_made_after_the_budget_is_spent_and_it_is_named(spent_at: int) -> None:
    texts = ["14", evaluation(False), reflection("r"), "15", evaluation(True)]
    answers = [said(text, tokens=200 if place == spent_at else 10) for place, text in enumerate(texts)]
    played = play(spec(token_budget=200), sequence(answers))

    assert played.ended.outcome is Outcome.OVER_BUDGET
    assert len(played.of(Generate)) == spent_at + 1
    assert played.ended.best_attempt == 1


@pytest.mark.parametrize(
    ("satisfied", "confidence", "score"),
    [(True, 1.0, 100), (True, 0.0, 50), (False, 0.0, 50), (False, 1.0, 0), (True, None, 75), (False, None, 25)],
)
def test_the_score_follows_from_satisfaction_and_confidence(
    satisfied: bool, confidence: float | None, score: float
) -> None:
    judgement = judge_itself(SelfEvaluation(is_satisfactory=satisfied, confidence=confidence), attempt=1)
    assert judgement.score == score
    assert judgement.verdict is (Verdict.PASS if satisfied else Verdict.REVISE)


def test_a_model_that_saw_a_part_of_its_work_is_sure_of_nothing() -> None:
    answer = SelfEvaluation(is_satisfactory=True, confidence=1)
    assert judge_itself(answer, attempt=1, saw_all=False).confidence == 0


@pytest.mark.parametrize(
    ("issues", "found"),
    [
        ("one", ["one"]),
        (None, []),
        (["a", {"description": "b"}, "", 3], ["a", "b", "3"]),
        (["x"] * 60, ["x"] * 50),
    ],
)
def test_issues_are_read_in_the_forms_that_models_give_them(issues: Any, found: list[str]) -> None:
    text = json.dumps({"is_satisfactory": False, "issues": issues})
    answer = read_answer(text, schema=SelfEvaluation)
    assert [issue.description for issue in answer.issues] == found


def test_a_context_that_grew_too_large_loses_the_oldest_attempts_and_never_the_task() -> None:
    task = (system("s"), user("the task " * 50))
    turns = [
        message for number in range(6) for message in (assistant(f"{number}" * 4_000), user(f"reflection {number}"))
    ]
    full = within(100_000, task=task, turns=turns)
    assert full == (*task, *turns)

    cut = within(10_000, task=task, turns=turns)
    assert cut[:2] == task
    assert cut[2].content.endswith(CUT)
    assert cut[-2:] == tuple(turns[-2:])
    assert tokens_of(cut) <= 5_000

    tiny = within(10, task=task, turns=turns)
    assert tiny == (*task, turns[-1])
