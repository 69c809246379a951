"""However often a loop asks and waits, there is an end to it."""

from collections.abc import Coroutine
from typing import Any

from reflection_app.loops.attempt_effects import AskPerson, Wait
from reflection_app.loops.effect import Performed
from reflection_app.loops.progress import LONGEST_WAITED_S, MOST_QUESTIONS, Progress
from reflection_app.loops.questions import Choice, PersonsAnswer, Question, QuestionKind
from reflection_app.loops.task_spec import Limits


def ended(work: Coroutine[Any, Any, Any], answer: Any) -> tuple[Any, int]:
    """What the work comes to where each effect is answered so, and how many effects there were."""
    asked = 0
    try:
        work.send(None)
        while True:
            asked += 1
            work.send(Performed(value=answer))
    except StopIteration as stop:
        return stop.value, asked


def test_a_person_is_asked_so_often_by_one_run_and_no_oftener() -> None:
    run = Progress(Limits())
    question = Question(kind=QuestionKind.REPAIR, text="Look it up, please.")
    told = PersonsAnswer(choice=Choice.ANSWER, text="42", by="anna")
    answers = [
        ended(run.ask_person(AskPerson(key=f"ask-{number}", question=question)), told)
        for number in range(MOST_QUESTIONS + 5)
    ]
    assert answers[:MOST_QUESTIONS] == [(told, 1)] * MOST_QUESTIONS
    assert {(answer.choice, asked) for answer, asked in answers[MOST_QUESTIONS:]} == {(Choice.SKIP, 0)}


def test_a_run_waits_a_day_altogether_and_no_longer() -> None:
    run = Progress(Limits())
    waits = [ended(run.wait(Wait(key=f"wait-{hour}", delay_s=3_600)), None) for hour in range(30)]
    assert waits == [(True, 1)] * 24 + [(False, 0)] * 6
    assert run.waited_s == LONGEST_WAITED_S
