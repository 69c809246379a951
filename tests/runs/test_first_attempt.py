"""How first attempts went, as it is told to the lessons drawn for them: by rule, and in runs that really ran."""

from typing import Any
from uuid import uuid4

import pytest

from notebook_app.models import Exposure
from notebook_app.public import Entry
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.loops.attempts import first_attempt_succeeded
from reflection_app.loops.verdicts import Judgement, Outcome, Referee, Verdict
from reflection_app.reviews.deciding import undo_decision
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.lessons import can_still_count
from reflection_app.runs.models import Run, RunState
from reflection_app.runs.resuming import cancel_run
from tests import given, when
from tests.notebook.exposed import approved_lesson, draw
from tests.reviews.undoing import claimed, decide, gone_on, rows_of
from tests.runs.critiques import critique

BAD, GOOD = critique(40), critique(90, approved=True)
UNSURE_PASS = critique(80, approved=True, confidence=0.2)


def judged(referee: Referee, verdict: Verdict, *, attempt: int = 1) -> Judgement:
    return Judgement(attempt=attempt, referee=referee, verdict=verdict, score=50)


PASS, REVISE, REJECT = Verdict.PASS, Verdict.REVISE, Verdict.REJECT
CRITIC, TESTS, PERSON, SELF = Referee.CRITIC, Referee.TESTS, Referee.PERSON, Referee.SELF


@pytest.mark.parametrize(
    ("judgements", "outcome", "kept", "made", "expected"),
    [
        ([(CRITIC, PASS)], Outcome.SUCCEEDED, 1, 1, True),
        ([(CRITIC, REVISE)], Outcome.SUCCEEDED, 2, 2, False),
        # The stronger referee's word holds, a person's above all, and of two of them the later one's.
        ([(TESTS, PASS), (CRITIC, REJECT)], Outcome.SUCCEEDED, 1, 1, True),
        ([(PERSON, REVISE), (TESTS, PASS)], Outcome.SUCCEEDED, 2, 2, False),
        ([(CRITIC, REJECT), (PERSON, PASS)], Outcome.SUCCEEDED, 1, 1, True),
        ([(PERSON, PASS), (PERSON, REVISE)], Outcome.SUCCEEDED, 1, 1, False),
        # Let pass, and yet another one was made and kept.
        ([(CRITIC, PASS)], Outcome.SUCCEEDED, 2, 2, False),
        # A run that stopped later still tells, or only failures would be left out.
        ([(CRITIC, REVISE)], Outcome.CANCELLED, 1, 1, False),
        ([], Outcome.EXHAUSTED, 1, 2, False),
        # Nothing tells.
        ([], Outcome.CANCELLED, None, 0, None),
        ([(SELF, PASS)], Outcome.UNVERIFIED, 1, 1, None),
        # Tests that a model wrote fail, and nothing shows that they are right or wrong.
        ([(Referee.GENERATED_TESTS, REVISE)], Outcome.UNVERIFIED, 1, 1, None),
        ([(CRITIC, PASS)], None, 1, 1, None),
        # A person who audits what ended unverified knows.
        ([(SELF, PASS), (PERSON, REJECT)], Outcome.UNVERIFIED, 1, 1, False),
    ],
)
def test_the_strongest_word_on_the_first_attempt_holds(
    judgements: list[tuple[Referee, Verdict]],
    outcome: Outcome | None,
    kept: int | None,
    made: int,
    expected: bool | None,
) -> None:
    told = [judged(*one) for one in judgements]
    told.append(judged(PERSON, PASS, attempt=2))
    assert first_attempt_succeeded(told, outcome=outcome, kept=kept, made=made) is expected


def exposed_run(
    *critiques: str, project: Project | None = None, audit_share: float = 0.0, **task: Any
) -> tuple[Run, Entry]:
    """A queued run that was given a lesson, with what its critic will say of each attempt."""
    answers: dict[str, str] = {}
    for number, one in enumerate(critiques, start=1):
        answers |= {f"attempt-{number}/answer": f"text {number}", f"attempt-{number}/critique": one}
    project = project or given.project()
    run = given.scripted_run(answers, project=project, **task)
    run.spec["review_policy"]["audit_share"] = audit_share
    run.save(update_fields=["spec"])
    lesson = approved_lesson(project.pk)
    draw(project.pk, str(run.pk), [lesson], draws=[0.5])
    return run, lesson


def succeeded(run: Run) -> bool | None:
    exposure = Exposure.objects.get(subject=str(run.pk))
    assert (exposure.succeeded is None) == (exposure.settled_at is None)
    return exposure.succeeded


def person(review: Review) -> Actor:
    return Actor(user=given.member(review.project, Role.REVIEWER))


@pytest.mark.django_db
class TestRuns:
    def test_a_run_that_ends_settles_what_was_drawn_for_it(self) -> None:
        for critiques, expected in (((GOOD,), True), ((BAD, GOOD), False)):
            run, _ = exposed_run(*critiques)
            assert succeeded(run) is None
            when.advances(run)
            assert run.outcome == Outcome.SUCCEEDED
            assert succeeded(run) is expected

    def test_a_run_of_another_project_with_lessons_of_its_own_is_left_alone(self) -> None:
        run, lesson = exposed_run(GOOD)
        draw(given.project().pk, str(run.pk), [lesson], draws=[0.5])
        other = approved_lesson(uuid4())
        draw(other.project_id, str(run.pk), [other], draws=[0.5])
        advance(run.pk)
        assert Exposure.objects.get(entry_id=other.id).succeeded is None

    def test_a_run_that_is_cancelled_before_anything_was_judged_tells_nothing(self) -> None:
        run, _ = exposed_run(GOOD)
        cancel_run(run, actor=Actor())
        assert succeeded(run) is None

    def test_a_decision_settles_and_its_undo_takes_it_back(self) -> None:
        run, _ = exposed_run(UNSURE_PASS, GOOD)
        gone_on(run)
        review = Review.objects.get(run=run)
        actor = person(review)
        claimed(review, actor)
        before = rows_of(review.project)
        decide(review, actor, "approve")
        assert gone_on(run).state == RunState.FINISHED
        assert succeeded(run) is True

        undo_decision(review, actor=actor)
        assert succeeded(run) is None
        assert rows_of(review.project) == before
        held = Review.objects.get(pk=review.pk)
        decide(held, actor, "overrule", verdict="REVISE", reason="Shorter.")
        gone_on(run)
        assert succeeded(run) is False

    def test_an_audit_that_overrules_corrects_and_its_undo_restores(self) -> None:
        run, _ = exposed_run(GOOD, audit_share=1.0)
        gone_on(run)
        review = Review.objects.get(run=run, holds_run=False)
        assert succeeded(run) is True
        actor = person(review)
        claimed(review, actor)
        decide(review, actor, "overrule", verdict="REJECT", reason="It names no tariff.")
        assert succeeded(run) is False
        undo_decision(review, actor=actor)
        assert succeeded(run) is True

    def test_only_runs_that_begin_afresh_count(self) -> None:
        run, _ = exposed_run(GOOD)
        assert not can_still_count(run)
        run.is_scripted = False
        assert can_still_count(run)
        for changed in ({"parent": run}, {"attempts_made": 1}, {"state": RunState.FINISHED}):
            other = Run.objects.get(pk=run.pk)
            other.is_scripted = False
            for name, value in changed.items():
                setattr(other, name, value)
            assert not can_still_count(other)
