"""A decision that is taken back leaves every row as it was before, whatever had followed; then it is decided anew."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from django.db.models import F

from notebook_app.models import Entry
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import Conflict, NotYours
from reflection_app.core.models import Project, Role
from reflection_app.repairs.models import AgentInstruction, Report, Ticket
from reflection_app.reviews.deciding import undo_decision, undone_by_holder
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.events import Event
from reflection_app.runs.models import Run, RunState
from reflection_app.teams.models import Notification
from tests import given
from tests.loops.protocol.playing import PLAN, REFLECTION
from tests.reviews.picks import OPEN_PICK, answer, unsettled_pick
from tests.reviews.test_reviews import together
from tests.reviews.undoing import check_events, claimed, comes_back, decide, gone_on, rows_of
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db

BAD, GOOD = critique(10), critique(90, approved=True)
UNSURE_PASS = critique(80, approved=True, confidence=0.2)
UNSURE_REVISE = critique(40, confidence=0.2, issues=[{"description": "No title", "suggested_fix": "Add one"}])
SECOND = {"attempt-2/answer": "second", "attempt-2/critique": GOOD}


def waiting(first: str, *, audit_share: float = 0.0, project: Project | None = None, **task: Any) -> Review:
    """The review of the first attempt, of which the critic said `first`."""
    answers = {"attempt-1/answer": "first", "attempt-1/critique": first, **SECOND}
    run = given.scripted_run(answers, project=project or given.project(), **task)
    run.spec["review_policy"]["audit_share"] = audit_share
    run.save()
    gone_on(run)
    return Review.objects.get(run=run)


def person(review: Review, role: Role = Role.REVIEWER) -> Actor:
    return Actor(user=given.member(review.project, role))


KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a PASS approved, the run succeeded": (UNSURE_PASS, "approve", {}),
    "a PASS overruled, made again and passed": (UNSURE_PASS, "overrule", {"verdict": "REVISE", "reason": "Shorter."}),
    "a PASS overruled as rejected": (UNSURE_PASS, "overrule", {"verdict": "REJECT"}),
    "a REVISE approved, a ticket and the next attempt": (UNSURE_REVISE, "approve", {}),
    "a REVISE overruled, the run succeeded": (UNSURE_REVISE, "overrule", {"verdict": "PASS", "score": 77}),
    "a REJECT sent back by its director": (BAD, "redo", {"instructions": "Name five papers."}),
    "a REJECT accepted by its director": (BAD, "accept", {"reason": "Enough for a draft."}),
    "a REJECT closed by its director": (BAD, "close", {}),
}


MODES = ("actor_critic", "adaptive", "reflection_protocol")
EVERY_WAY = pytest.mark.exhaustive("every kind in every loop at every moment; others try each of them")


def ways() -> Iterator[object]:
    """Every kind once, and one kind in every loop and at every moment; all others only where all are tried."""
    for kind, mode, moves in product(KINDS, MODES, (True, False)):
        is_usual = (mode == MODES[0] and moves) or kind == "a PASS overruled, made again and passed"
        when = "after the run went on" if moves else "at once"
        yield pytest.param(kind, mode, moves, id=f"{mode}-{when}-{kind}", marks=() if is_usual else EVERY_WAY)


@pytest.mark.parametrize(("kind", "mode", "moves"), list(ways()))
def test_every_row_is_as_before(kind: str, mode: str, moves: bool) -> None:
    said_of, decision, said = KINDS[kind]
    task: dict[str, Any] = {"kind": "creative_writing"} if mode == "adaptive" else {"mode": mode}
    review = waiting(said_of, agent="researcher", limits={"token_budget": 100_000}, **task)
    actor = person(review)
    held = claimed(review, actor)
    before = rows_of(review.project)
    decide(review, actor, decision, **said)
    if moves:
        run = gone_on(review.run)
        assert run.state in {RunState.FINISHED, RunState.WAITING_REVIEW}
    assert rows_of(review.project) != before

    undone = undo_decision(review, actor=actor)
    assert rows_of(review.project) == before
    assert (undone.state, undone.holder, undone.lease_token != held.lease_token) == ("claimed", actor.user, True)
    check_events(review.run)


@pytest.mark.exhaustive("every kind of decision")
@pytest.mark.parametrize("kind", KINDS)
def test_decided_anew_it_goes_its_other_way(kind: str) -> None:
    said_of, decision, said = KINDS[kind]
    review = waiting(said_of)
    actor = person(review)
    claimed(review, actor)
    decide(review, actor, decision, **said)
    gone_on(review.run)
    undo_decision(review, actor=actor)
    decide(review, actor, "overrule", verdict="REVISE", reason="Otherwise.", issues=[])
    run = gone_on(review.run)
    assert (run.outcome, run.attempts_made) == ("succeeded", 2), run.error
    assert Ticket.objects.get(run=run).state == "resolved"
    check_events(run)


def test_undo_of_the_second_decision_comes_back_to_the_same() -> None:
    review = waiting(BAD)
    actor = person(review)
    comes_back(review, actor, "redo", instructions="Again.")
    comes_back(review, actor, "accept", reason="Good.")
    comes_back(review, actor, "close")
    assert Event.objects.filter(run=review.run, type="review.undone").count() == 3


def test_an_earlier_ticket_is_open_again_when_the_end_that_resolved_it_goes() -> None:
    answers = {
        "attempt-1/answer": "first",
        "attempt-1/critique": critique(40),
        "attempt-2/answer": "second",
        "attempt-2/critique": UNSURE_REVISE,
        "attempt-3/answer": "third",
        "attempt-3/critique": GOOD,
    }
    decisions: dict[str, dict[str, Any]] = {"approve": {}, "overrule": {"verdict": "PASS"}}
    for decision, said in decisions.items():
        project = given.project(review_policy={"audit_share": 0})
        run = gone_on(given.scripted_run(answers, project=project))
        review, ticket = Review.objects.get(run=run), Ticket.objects.get(run=run)
        assert ticket.is_open
        comes_back(review, person(review), decision, **said)


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        ("approve", {}),
        ("overrule", {"verdict": "PASS", "attempt": 2}),
        ("overrule", {"verdict": "REJECT"}),
        ("overrule", {"verdict": "REVISE", "reason": "Square every number."}),
    ],
)
def test_an_unsettled_pick_is_open_again(decision: str, said: dict[str, Any]) -> None:
    review = unsettled_pick(given.project(), answers=(*OPEN_PICK, answer(7)))
    comes_back(review, person(review), decision, **said)


@pytest.mark.parametrize(("decision", "said"), [("approve", {}), ("overrule", {"verdict": "REJECT"})])
def test_an_audit_is_undecided_again_and_its_run_is_as_it_ended(decision: str, said: dict[str, Any]) -> None:
    review = waiting(GOOD, audit_share=1.0)
    comes_back(review, person(review), decision, moves=False, **said)


@pytest.mark.parametrize("moves", [False, True])
def test_the_run_that_an_overruled_audit_ordered_is_cancelled_with_all_that_it_did(moves: bool) -> None:
    review = waiting(GOOD, audit_share=1.0)
    actor = person(review)
    claimed(review, actor)
    before = rows_of(review.project)
    decided = decide(review, actor, "overrule", verdict="REVISE", reason="Name the source.")
    ordered = Run.objects.get(pk=decided.ordered_run_id or "")
    if moves:
        ordered = gone_on(ordered)
        assert ordered.attempts_made
    undo_decision(review, actor=actor)

    ordered = gone_on(ordered)
    assert (ordered.state, ordered.outcome, ordered.attempts_made) == ("finished", "cancelled", 0)
    assert "taken back by" in ordered.error
    check_events(ordered)
    after = rows_of(review.project)
    after["Run"] = [row for row in after["Run"] if row["id"] != ordered.pk]
    assert after == before


SENT_BACK_WAITS = {"rules": [{"verdicts": ["REVISE"]}], "audit_share": 0}
PAPERS = {"counts": [{"path": "papers", "min": 5}]}
SIX_STEPS = {
    "attempt-1/answer": json.dumps({"papers": [1, 2, 3]}),
    "attempt-1/critique": critique(40),
    "attempt-1/reflect": json.dumps(REFLECTION),
    "attempt-1/plan": json.dumps(PLAN | {"instruction": "Look before you answer."}),
    "attempt-1/repair-1/work": "notes",
    "attempt-2/answer": json.dumps({"papers": [1, 2, 3, 4, 5]}),
    "attempt-2/critique": GOOD,
}


def test_report_and_proposals_of_the_six_steps_go_and_come_again() -> None:
    project = given.project(review_policy=SENT_BACK_WAITS)
    task: dict[str, Any] = {"mode": "reflection_protocol", "agent": "porter", "limits": {"token_budget": 100_000}}
    run = gone_on(given.scripted_run(SIX_STEPS, project=project, requirements=PAPERS, **task))
    review = Review.objects.get(run=run)
    actor = person(review)
    claimed(review, actor)
    before = rows_of(project)
    decide(review, actor, "approve")
    assert gone_on(run).outcome == "succeeded", run.error
    followed = (Report.objects.count(), AgentInstruction.objects.count())
    assert followed == (1, 1)
    undo_decision(review, actor=actor)
    assert rows_of(project) == before

    decide(review, actor, "approve")
    assert gone_on(run).outcome == "succeeded", run.error
    assert (Report.objects.count(), AgentInstruction.objects.count()) == followed


@pytest.mark.parametrize("source", ["", "imported by a person"], ids=["known by its source", "known by its words"])
def test_an_entry_that_another_run_proposed_as_well_keeps_that_ones_evidence(source: str) -> None:
    project = given.project(review_policy=SENT_BACK_WAITS)
    issue = {"category": "completeness", "severity": "high", "description": "two papers are missing from the list"}
    answers = SIX_STEPS | {"attempt-1/answer": "draft", "attempt-1/critique": critique(40, issues=[issue])}
    task: dict[str, Any] = {"mode": "reflection_protocol", "agent": "porter", "limits": {"token_budget": 100_000}}
    reviews = []
    for number in range(3):
        if number == 1:
            # The first run's was another class of error, and so another pattern by its words.
            Entry.objects.filter(project_id=project.pk).delete()
        patterns = Entry.objects.filter(project_id=project.pk, kind="anti_pattern")
        patterns.update(source=source or F("source"))
        run = gone_on(given.scripted_run(answers, project=project, **task))
        reviews.append(Review.objects.get(run=run))
        actor = person(reviews[-1])
        claimed(reviews[-1], actor)
        before = rows_of(project)
        decide(reviews[-1], actor, "approve")
        gone_on(run)
    assert set(Entry.objects.values_list("kind", "occurrences")) == {("anti_pattern", 2), ("lesson", 2)}
    undo_decision(reviews[-1], actor=actor)
    assert rows_of(project) == before
    assert set(Entry.objects.values_list("kind", "occurrences")) == {("anti_pattern", 1), ("lesson", 1)}


def test_what_was_spent_stays_and_the_trail_says_how_much_was_taken_back() -> None:
    review = waiting(BAD)
    actor = person(review)
    claimed(review, actor)
    decide(review, actor, "redo", instructions="Again.")
    run = gone_on(review.run)
    spent = (run.total_tokens, run.llm_calls, run.cost_usd)
    undo_decision(review, actor=actor)
    run.refresh_from_db()
    assert (run.total_tokens, run.llm_calls, run.cost_usd) == spent
    trail = AuditEntry.objects.get(action="review.undone")
    assert (trail.before["directors_decision"], trail.before["reason"]) == ("redo", "Again.")
    assert trail.after["calls"] == 2
    assert trail.after["steps"] >= 4


def test_who_took_it_back_finds_what_was_decided_and_nobody_else_does() -> None:
    review = waiting(BAD)
    actor = person(review)
    claimed(review, actor)
    decide(review, actor, "accept", reason="Enough.")
    undone = undo_decision(review, actor=actor)
    said = undone_by_holder(undone)
    assert said is not None
    assert (said["directors_decision"], said["verdict"], said["reason"]) == ("accept", "PASS", "Enough.")
    undone.holder_label = "somebody else"
    assert undone_by_holder(undone) is None


def test_only_who_decided_and_admins_take_it_back() -> None:
    review = waiting(BAD)
    actor, other, admin = person(review), person(review), person(review, Role.ADMIN)
    stranger = Actor(user=given.member(given.project(), Role.ADMIN))
    claimed(review, actor)
    decide(review, actor, "close")
    key, _ = given.api_key(review.project)
    for one in (other, stranger, Actor(api_key=key)):
        with pytest.raises(NotYours):
            undo_decision(review, actor=one)
    undone = undo_decision(review, actor=admin)
    assert (undone.holder, undone.state) == (admin.user, ReviewState.CLAIMED)
    told = Notification.objects.get(user=actor.user)
    assert (told.kind, told.facts["by"], told.about_id) == ("decision_undone", admin.label, review.pk)


def test_a_key_takes_back_what_it_decided_and_not_what_a_namesake_did() -> None:
    review = waiting(BAD)
    (key, _), (namesake, _) = (given.api_key(review.project, name="bot") for _ in range(2))
    claimed(review, Actor(api_key=key))
    decide(review, Actor(api_key=key), "close")
    with pytest.raises(NotYours):
        undo_decision(review, actor=Actor(api_key=namesake))
    undone = undo_decision(review, actor=Actor(api_key=key))
    assert undone.holder_label == "key bot"
    assert Notification.objects.count() == 0


def test_what_is_not_decided_cannot_be_taken_back() -> None:
    review = waiting(BAD)
    actor = person(review)
    with pytest.raises(Conflict, match="The review is still undecided"):
        undo_decision(review, actor=actor)
    claimed(review, actor)
    decide(review, actor, "close")
    undo_decision(review, actor=actor)
    with pytest.raises(Conflict, match="already"):
        undo_decision(review, actor=actor)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_take_it_back_at_once_one_does() -> None:
    review = waiting(BAD)
    actor, admin = person(review), person(review, Role.ADMIN)
    claimed(review, actor)
    decide(review, actor, "redo", instructions="Again.")
    gone_on(review.run)
    results = together(*[lambda one=one: undo_decision(review, actor=one) for one in (actor, admin)] * 2)
    assert sorted(type(one).__name__ for one in results) == ["Conflict", "Conflict", "Conflict", "Review"]
    assert AuditEntry.objects.filter(action="review.undone").count() == 1
    check_events(review.run)
