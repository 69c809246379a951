"""A reviewer edits the answer: their text is the run's answer, and the attempt stays as it was with their REVISE."""

from typing import Any
from uuid import uuid4

import pytest

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import InvalidInput, ReviewLeaseLost, StillStands
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.storable import storable
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews import editing
from reflection_app.reviews.answers import review_answer
from reflection_app.reviews.asking import AskInput, ask_for_review
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review, undo_decision
from reflection_app.reviews.decisions import LONGEST_EDITED, DecisionInput
from reflection_app.reviews.models import Panel, Review, ReviewState
from reflection_app.reviews.own_work import OwnWorkRefused
from reflection_app.runs import advance as advancing
from reflection_app.runs import journal_writes
from reflection_app.runs.advance import advance
from reflection_app.runs.answers import run_with_next
from reflection_app.runs.events import Event
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import follow, fork_run
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.models import Attempt, Run, RunState, Step, Verdict
from tests import given, when
from tests.reviews.editing import BETTER, edit, edited, reviewer
from tests.reviews.panels import adjudication, say
from tests.reviews.review_items import FIRST, asked_about, audited, handed_in, seat
from tests.reviews.reviewed import decide_held
from tests.reviews.undoing import rows_of
from tests.runs.critiques import critique
from tests.runs.test_crashes import Killed, killing_after, let_lease_run_out

pytestmark = pytest.mark.django_db


def verdicts_of(run: Run) -> list[tuple[int, str, str]]:
    rows = Verdict.objects.filter(attempt__run=run).order_by("attempt__number", "created_at", "id")
    return [(row.attempt.number, row.referee_label, row.verdict) for row in rows]


def ended(run: Run) -> Run:
    when.advances(run)
    assert run.is_finished
    return run


def unsure(score: float, *, confidence: float = 0.2, **more: Any) -> Review:
    """A run that waits with this score of its critic, by a policy of what is unsure."""
    answers = {
        "attempt-1/answer": FIRST,
        "attempt-1/critique": critique(score, approved=score >= 50, confidence=confidence),
        "attempt-2/answer": "A second text.",
        "attempt-2/critique": critique(95, approved=True),
    }
    run = given.scripted_run(answers, **more)
    advance(run.pk)
    return Review.objects.get(run=run)


@pytest.fixture
def review(db: None) -> Review:
    """A PASS of an unsure critic."""
    return unsure(80)


@pytest.fixture
def actor(review: Review) -> Actor:
    return reviewer(review)


@pytest.mark.parametrize(("score", "before", "decision"), [(80, "PASS", "overrule"), (10, "REJECT", "overrule")])
def test_the_text_is_the_runs_answer_and_the_attempt_stays_with_a_persons_revise(
    score: float, before: str, decision: str
) -> None:
    review = unsure(score)
    assert review.verdict.verdict == before
    actor = reviewer(review)
    decided = edited(review, actor=actor)
    assert (decided.state, decided.decision, decided.is_edited) == (ReviewState.DECIDED, decision, True)
    assert decided.directors_decision is None

    run = ended(review.run)
    assert (run.outcome, run.attempts_made) == ("succeeded", 2)
    assert run.best_attempt is not None
    kept = run.best_attempt
    assert (kept.number, kept.content, kept.edited_from, kept.edited_by_label) == (2, BETTER, 1, actor.label)
    assert Attempt.objects.get(run=run, number=1).content == FIRST
    assert verdicts_of(run) == [(1, "critic", before), (1, "person", "REVISE"), (2, "person", "PASS")]


def test_who_edits_what_the_critic_sent_back_as_well_agrees_with_the_critic() -> None:
    answers = {"attempt-1/answer": FIRST, "attempt-1/critique": critique(40)}
    policy = {"rules": [{"name": "All"}], "audit_share": 0}
    review = given.waiting_review(given.scripted_project("agrees", answers, review_policy=policy))
    run = review.run
    decided = edited(review)
    assert (decided.decision, decided.decided_verdict and decided.decided_verdict.verdict) == ("approve", "REVISE")
    assert ended(run).best_attempt_id == Attempt.objects.get(run=run, number=2).pk


def test_the_answer_told_outside_has_both_texts() -> None:
    review = handed_in("outside", artifacts=[{"name": "notes.md", "content": "Sources."}])
    edited(review)
    told = run_with_next(ended(review.run)).best_attempt
    assert told is not None
    assert (told.edited, told.content, told.original, told.edited_from) == (True, BETTER, FIRST, 1)
    answer = review_answer(Review.objects.get(pk=review.pk))
    assert answer.decision is not None
    assert (answer.decision.edited, answer.decision.edited_answer, answer.attempt.content) == (True, BETTER, FIRST)
    # What was handed in beside the attempt goes along with the text.
    assert Attempt.objects.get(run=review.run_id, number=2).artifacts[0]["name"] == "notes.md"
    event = Event.objects.get(run=review.run_id, type="review.decided")
    assert (event.payload["edited"], event.payload["edited_from"]) == (True, 1)


def test_the_trail_has_both_texts_by_hash_and_size_and_neither_in_words(review: Review) -> None:
    edited(review)
    trail = AuditEntry.objects.get(action="review.decided")
    assert trail.after["edited"]["original"]["bytes"] == len(FIRST.encode())
    assert trail.after["edited"]["edited"]["bytes"] == len(BETTER.encode())
    assert BETTER not in str(trail.after)


# What is refused, and changes nothing.


def test_no_text_or_the_same_one_is_refused(review: Review, actor: Actor) -> None:
    for text in (None, " \n\t", FIRST.replace("\n", "\r\n") + "\r\n"):
        with pytest.raises(InvalidInput) as refused:
            edited(review, text, actor=actor)
        assert [error["field"] for error in refused.value.errors] == ["edited_answer"]
    assert Review.objects.get(pk=review.pk).state == ReviewState.CLAIMED
    assert Run.objects.get(pk=review.run_id).state == RunState.WAITING_REVIEW


def test_the_longest_text_is_kept_whole_with_whatever_is_in_it() -> None:
    hostile = "<script>alert(1)</script>\u202e\x00'; DROP TABLE run; --" + "字" * (LONGEST_EDITED - 100)
    review = unsure(80)
    edited(review, hostile)
    kept = ended(review.run).best_attempt
    assert kept is not None
    assert kept.content == storable(hostile)


def test_a_text_goes_with_no_other_decision_and_an_edit_with_no_other_verdict(review: Review, actor: Actor) -> None:
    review = claim_review(review, actor=actor)
    data = DecisionInput(lease_token=review.lease_token, decision=Decision.APPROVE, edited_answer=BETTER)
    with pytest.raises(InvalidInput, match="Send an edited answer only with the decision edit"):
        decide_review(review, data, actor=actor)
    with pytest.raises(InvalidInput, match="REVISE"):
        decide_review(review, edit(review, verdict=VerdictName.PASS), actor=actor)
    with pytest.raises(InvalidInput, match="redo"):
        decide_review(review, edit(review, instructions="Again."), actor=actor)


def test_a_blind_seat_takes_no_text() -> None:
    with pytest.raises(InvalidInput, match="Blind reviews with several reviewers do not allow edited answers"):
        edited(seat("seats"))


def test_what_the_minimum_requirements_ask_has_to_hold_for_the_text_too() -> None:
    review = unsure(80, requirements={"counts": [{"of": "words", "min": 5}]})
    actor = reviewer(review)
    with pytest.raises(InvalidInput) as refused:
        edited(review, "Too short.", actor=actor)
    assert "found: 2" in refused.value.errors[0]["message"]
    review.refresh_from_db()
    assert review.state == ReviewState.CLAIMED
    decide_review(review, edit(review), actor=actor)
    run = ended(review.run)
    passed = Verdict.objects.get(attempt=run.best_attempt)
    report = passed.get_requirements()
    assert report is not None
    assert report.all_met


def test_the_tests_that_came_with_the_task_are_run_on_the_text() -> None:
    review = asked_about("tested")
    actor = reviewer(review)
    with pytest.raises(InvalidInput) as refused:
        edited(review, given.WRONG.replace("2", "7"), actor=actor)
    assert {error["field"] for error in refused.value.errors} == {"edited_answer"}
    review.refresh_from_db()
    decide_review(review, edit(review, given.RIGHT), actor=actor)
    run = Run.objects.get(pk=review.run_id)
    tests = Verdict.objects.get(attempt=run.best_attempt).get_tests()
    assert tests is not None
    assert tests.all_passed


def test_nobody_has_the_tests_run_who_does_not_hold_the_review(monkeypatch: pytest.MonkeyPatch) -> None:
    review = asked_about("not-held")
    claim_review(review, actor=reviewer(review))
    review.refresh_from_db()
    monkeypatch.setattr(editing, "run_tests", lambda *_, **__: pytest.fail("they were run"))
    with pytest.raises(ReviewLeaseLost):
        decide_review(
            review, edit(review, given.RIGHT).model_copy(update={"lease_token": uuid4()}), actor=reviewer(review)
        )


# What follows, and taking it back.


def test_undo_takes_the_text_back_with_all_that_followed_and_keeps_it_for_who_decides_anew(
    review: Review, actor: Actor
) -> None:
    claim_review(review, actor=actor)
    before = rows_of(review.project)
    review.refresh_from_db()
    decide_review(review, edit(review), actor=actor)
    ended(review.run)
    undone = undo_decision(review, actor=actor)
    assert (undone.state, undone.edited_answer, undone.is_edited) == (ReviewState.CLAIMED, BETTER, False)
    after = rows_of(review.project)
    for row in after["Review"]:
        row["edited_answer"] = None
    assert after == before

    decide_held(undone, actor, "approve", reason="Fine.")
    again = Review.objects.get(pk=review.pk)
    assert (again.is_edited, again.edited_answer) == (False, None)
    assert ended(review.run).best_attempt == review.attempt


@pytest.mark.parametrize(
    ("owner", "name", "calls"),
    [(advancing, "value_of", 1), (advancing, "value_of", 2), (journal_writes, "_commit_once", 1)],
    ids=["before the text is kept", "before it has passed", "after the end"],
)
def test_a_worker_killed_at_any_point_after_the_decision_leaves_one_edited_answer(
    owner: Any, name: str, calls: int, monkeypatch: pytest.MonkeyPatch, review: Review
) -> None:
    edited(review)
    # The decision is durable before any worker has seen it.
    assert Run.objects.get(pk=review.run_id).state == RunState.QUEUED
    with monkeypatch.context() as patched:
        killing_after(calls, patched, owner, name)
        with pytest.raises(Killed):
            advance(review.run_id)
    let_lease_run_out(review.run)
    take_back_expired()
    run = ended(review.run)
    assert (run.outcome, run.attempts_made, run.best_attempt and run.best_attempt.content) == ("succeeded", 2, BETTER)
    assert verdicts_of(run) == [(1, "critic", "PASS"), (1, "person", "REVISE"), (2, "person", "PASS")]
    steps = list(Step.objects.filter(run=run).order_by("seq").values_list("key", flat=True))
    assert steps[-2:] == ["attempt-2/edited", "attempt-2/verdict"]


def test_the_six_steps_end_with_the_text_as_well_though_no_attempt_is_left() -> None:
    review = unsure(80, mode="reflection_protocol", limits={"max_iterations": 1})
    edited(review)
    run = ended(review.run)
    assert (run.outcome, run.best_attempt and run.best_attempt.content) == ("succeeded", BETTER)


# A run that had ended.


def test_an_audited_run_that_has_ended_gets_the_text_as_its_answer_and_keeps_its_journal() -> None:
    review = audited("audited")
    run = Run.objects.get(pk=review.run_id)
    steps = Step.objects.filter(run=run).count()
    actor = reviewer(review)
    edited(review, actor=actor)
    run.refresh_from_db()
    assert run.best_attempt is not None
    assert (run.outcome, run.attempts_made, run.best_attempt.content) == ("succeeded", 2, BETTER)
    assert run.best_attempt.step_id is None
    assert Step.objects.filter(run=run).count() == steps
    assert Review.objects.get(pk=review.pk).ordered_run_id is None
    sent = Verdict.objects.get(attempt=run.best_attempt)
    assert (sent.verdict, sent.given_by) == ("PASS", actor.user)


def test_undo_of_an_audits_text_brings_the_kept_attempt_back() -> None:
    review = audited("undone")
    actor = reviewer(review)
    claim_review(review, actor=actor)
    before = rows_of(review.project)
    review.refresh_from_db()
    decide_review(review, edit(review), actor=actor)
    undo_decision(review, actor=actor)
    after = rows_of(review.project)
    for row in after["Review"]:
        row["edited_answer"] = None
    assert after == before


def test_who_wrote_the_text_does_not_judge_it_and_once_somebody_is_asked_it_stands() -> None:
    review = audited("asked")
    actor = reviewer(review)
    decided = edited(review, actor=actor)
    [asked] = ask_for_review(review.run, AskInput(note="Look at what was edited."), actor=reviewer(review))
    assert asked.attempt.content == BETTER
    with pytest.raises(OwnWorkRefused):
        claim_review(asked, actor=actor)
    with pytest.raises(StillStands, match="A review of the edited answer was requested"):
        undo_decision(decided, actor=actor)


def test_who_wrote_the_text_does_not_settle_a_dispute_about_it() -> None:
    review = audited("disputed")
    actor = reviewer(review)
    edited(review, actor=actor)
    ask_for_review(review.run, AskInput(note="Two of you, please.", reviewers=2), actor=reviewer(review))
    panel = Panel.objects.get(run=review.run)
    say(panel, reviewer(review))
    say(panel, reviewer(review), VerdictName.REJECT)
    with pytest.raises(OwnWorkRefused):
        claim_review(adjudication(panel), actor=actor)


def test_who_wrote_the_text_does_not_judge_what_another_made_of_it() -> None:
    first = audited("of-two")
    actor = reviewer(first)
    edited(first, actor=actor)
    [asked] = ask_for_review(first.run, AskInput(note="Better still?"), actor=reviewer(first))
    edited(asked, BETTER + "\n\nOnce more.")
    best = Run.objects.get(pk=first.run_id).best_attempt
    assert best is not None
    assert (best.number, best.edited_from) == (3, 2)
    [again] = ask_for_review(first.run, AskInput(note="And now?"), actor=reviewer(first))
    with pytest.raises(OwnWorkRefused):
        claim_review(again, actor=actor)


# The journal.


def test_todays_loop_goes_along_with_the_journal_of_an_edited_run(review: Review) -> None:
    edited(review)
    run = ended(review.run)
    steps = list(Step.objects.filter(run=run).order_by("seq"))
    followed = follow(run.get_spec(), steps)
    assert (followed.kept, followed.asks, followed.why) == (tuple(steps), None, "")


def test_a_fork_that_decides_otherwise_has_nothing_of_the_text(review: Review) -> None:
    edited(review)
    run = ended(review.run)
    asked = Step.objects.get(run=run, key="attempt-1/review")
    wanted = ForkInput(from_step=asked.seq, result={"decision": "overrule", "verdict": "PASS"})
    fork = ended(fork_run(run, wanted, actor=reviewer(review)))
    assert (fork.outcome, fork.attempts_made) == ("succeeded", 1)
    own = ForkInput(from_step=asked.seq, result={"edited": {"content": "Mine.", "score": 90}})
    with pytest.raises(InvalidInput):
        fork_run(run, own, actor=reviewer(review))


def test_a_fork_from_its_end_inherits_the_text_whose_author_does_not_judge_it_there(
    review: Review, actor: Actor
) -> None:
    edited(review, actor=actor)
    run = ended(review.run)
    last = Step.objects.filter(run=run).order_by("seq").last()
    assert last is not None
    fork = ended(fork_run(run, ForkInput(from_step=last.seq), actor=reviewer(review)))
    assert fork.best_attempt is not None
    assert (fork.best_attempt.content, fork.best_attempt.edited_from) == (BETTER, 1)
    [asked] = ask_for_review(fork, AskInput(note="And here?"), actor=reviewer(review))
    with pytest.raises(OwnWorkRefused):
        claim_review(asked, actor=actor)
