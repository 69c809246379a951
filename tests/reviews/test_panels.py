"""Several people judge the same verdict blindly: they agree, or one more decides."""

from datetime import timedelta

import pytest
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.errors import AlreadyDecided, ReviewHeld
from reflection_app.core.models import Role
from reflection_app.loops.attempt_effects import Decision, DirectorsDecision
from reflection_app.loops.verdicts import Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.claiming import claim_next, claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Panel, PanelState, Review, ReviewState
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.models import RunState, Verdict
from reflection_app.runs.resuming import cancel_run
from reflection_app.teams.models import Notification
from tests import given
from tests.reviews.panels import (
    adjudication,
    fresh,
    open_panel,
    panel_project,
    people,
    run_of,
    say,
    take_seat,
)
from tests.reviews.test_reviews import together

pytestmark = pytest.mark.django_db(transaction=True)
PASS, REVISE, REJECT = VerdictName.PASS, VerdictName.REVISE, VerdictName.REJECT


def of_people(panel: Panel) -> list[Verdict]:
    """The verdicts that people's words have put in force."""
    return list(Verdict.objects.filter(attempt__run=panel.run_id, referee=6))


def test_an_opinion_alone_changes_nothing_but_its_seat() -> None:
    panel = open_panel()
    anna = people(panel.project, 1)[0]
    seat = say(panel, anna, REVISE)

    assert (seat.state, seat.decision, seat.decided_by_label) == (ReviewState.DECIDED, "overrule", anna.label)
    assert (seat.decided_verdict, seat.get_opinion().verdict) == (None, REVISE)  # type: ignore[union-attr]
    assert of_people(panel) == []
    run = run_of(panel)
    assert (run.state, fresh(panel).state, fresh(panel).agreed) == (RunState.WAITING_REVIEW, PanelState.OPEN, None)


def test_the_event_of_an_opinion_does_not_tell_what_was_said() -> None:
    panel = open_panel()
    seat = say(panel, people(panel.project, 1)[0], REVISE)
    told = Event.objects.get(run=panel.run, type="review.opinion").payload
    assert told == {"review": str(seat.pk), "given": 1, "wanted": 3}
    assert not Event.objects.filter(run=panel.run, type="review.decided").exists()


def test_three_who_agree_settle_it_with_the_median_score_and_every_issue_once() -> None:
    panel = open_panel()
    anna, bob, cem = people(panel.project, 3)
    dull, long = Issue(description="It is dull"), Issue(description="It is long")
    say(panel, anna, REVISE, score=60, issues=(dull,), reason="Dull.")
    say(panel, bob, REVISE, score=40, issues=(Issue(description=" it is  DULL "), long), reason="")
    last = say(panel, cem, REVISE, score=44, issues=(), reason="Too long.")

    settled = fresh(panel)
    assert (settled.state, settled.agreed) == (PanelState.SETTLED, True)
    assert settled.complete_at is not None
    assert settled.settled_at is not None
    [sent] = of_people(panel)
    assert (sent.verdict, sent.score, sent.given_by) == ("REVISE", 44.0, None)
    assert [issue["description"] for issue in sent.issues] == ["It is dull", "It is long"]
    assert sent.feedback["suggestions"] == [f"{anna.label}: Dull.\n\n{cem.label}: Too long."]
    assert set(Review.objects.filter(panel=panel).values_list("decided_verdict", flat=True)) == {sent.pk}
    assert Event.objects.get(run=panel.run, type="review.decided").payload["review"] == str(last.pk)
    result = panel.step.result if (panel := Panel.objects.select_related("step").get(pk=panel.pk)).step else None
    assert isinstance(result, dict)
    assert result["reviewer"] == f"{anna.label}, {bob.label}, {cem.label}"

    advance(panel.run_id)
    assert (run_of(panel).outcome, run_of(panel).attempts_made) == ("succeeded", 2)


def test_all_who_approve_let_the_verdict_stand() -> None:
    panel = open_panel(reviewers=2)
    for actor in people(panel.project, 2):
        say(panel, actor, reason="")
    [sent] = of_people(panel)
    assert (sent.verdict, sent.score, sent.issues) == ("PASS", 80.0, [])
    advance(panel.run_id)
    assert run_of(panel).outcome == "succeeded"


def test_where_they_differ_nothing_follows_and_one_more_person_is_asked() -> None:
    panel = open_panel()
    anna, bob, cem, dora = people(panel.project, 4)
    viewer = given.member(panel.project, Role.VIEWER)
    say(panel, anna)
    say(panel, bob, REVISE)
    say(panel, cem)

    disputed = fresh(panel)
    assert (disputed.state, disputed.agreed, disputed.settled_at) == (PanelState.DISPUTED, False, None)
    assert of_people(panel) == []
    opened = adjudication(panel)
    assert (opened.holds_run, opened.state, opened.step_id) == (True, ReviewState.WAITING, panel.step_id)
    told = Notification.objects.filter(kind="adjudication", about_id=opened.pk)
    assert [one.user for one in told] == [dora.user]
    assert viewer not in [one.user for one in told]
    assert told[0].facts["title"] == panel.run.task.title

    assert [claim_next(panel.project, actor=one) for one in (anna, bob, cem)] == [None, None, None]
    assert claim_next(panel.project, actor=dora) == opened


def test_whoever_settles_the_dispute_decides_like_any_review() -> None:
    panel = open_panel()
    anna, bob, cem, dora = people(panel.project, 4)
    for actor, verdict in ((anna, None), (bob, REVISE), (cem, REJECT)):
        say(panel, actor, verdict)
    held = claim_review(adjudication(panel), actor=dora)
    assert held.lease_token is not None
    told = DecisionInput(lease_token=held.lease_token, decision=Decision.OVERRULE, verdict=REVISE, reason="Shorter.")
    decided = decide_review(held, told, actor=dora)

    [sent] = of_people(panel)
    assert (sent.verdict, sent.given_by, decided.decided_verdict) == ("REVISE", dora.user, sent)
    assert (fresh(panel).state, fresh(panel).agreed) == (PanelState.SETTLED, False)
    assert not Review.objects.filter(panel=panel, decided_verdict=sent).exclude(reason="adjudication").exists()
    advance(panel.run_id)
    assert run_of(panel).outcome == "succeeded"


def test_one_who_gave_an_opinion_can_settle_it_where_they_take_it_themselves() -> None:
    panel = open_panel(reviewers=2)
    anna, bob = people(panel.project, 2)
    say(panel, anna)
    say(panel, bob, REVISE)
    assert {one.user for one in Notification.objects.filter(kind="adjudication")} == {anna.user, bob.user}
    assert claim_review(adjudication(panel), actor=bob).holder == bob.user


def test_a_directors_words_are_opinions_too() -> None:
    panel = open_panel(score=10, confidence=0.9, reviewers=2)
    anna, bob = people(panel.project, 2)
    for actor, instructions in ((anna, "Shorter."), (bob, "With a source.")):
        held = take_seat(panel, actor)
        assert held.lease_token is not None
        told = DecisionInput(lease_token=held.lease_token, decision=DirectorsDecision.REDO, instructions=instructions)
        decide_review(held, told, actor=actor)
    [sent] = of_people(panel)
    assert sent.verdict == "REVISE"
    assert [issue["suggested_fix"] for issue in sent.issues] == ["Shorter.", "With a source."]
    advance(panel.run_id)
    assert run_of(panel).outcome == "succeeded"


def test_nobody_gets_two_seats_of_a_panel() -> None:
    panel = open_panel()
    anna, bob = people(panel.project, 2)
    first = claim_next(panel.project, actor=anna)
    assert first is not None
    assert claim_next(panel.project, actor=anna) is None
    other = Review.objects.filter(panel=panel).exclude(pk=first.pk).first()
    assert other is not None
    with pytest.raises(ReviewHeld, match="another seat"):
        claim_review(other, actor=anna)
    say(panel, bob)
    free = Review.objects.get(panel=panel, state=ReviewState.WAITING)
    with pytest.raises(ReviewHeld, match="another seat"):
        claim_review(free, actor=bob)


@pytest.mark.parametrize("verdicts", [(REVISE, REVISE), (REVISE, REJECT)])
@pytest.mark.parametrize("_", range(3))
def test_two_last_opinions_at_the_same_moment_settle_it_once(_: int, verdicts: tuple[VerdictName, VerdictName]) -> None:
    panel = open_panel()
    first, *both = people(panel.project, 3)
    say(panel, first, REVISE)
    calls = []
    for actor, verdict in zip(both, verdicts, strict=True):
        held = take_seat(panel, actor)
        assert held.lease_token is not None
        told = DecisionInput(lease_token=held.lease_token, decision=Decision.OVERRULE, verdict=verdict, reason="No.")
        calls.append(lambda held=held, told=told, actor=actor: decide_review(held, told, actor=actor))
    results = together(*calls)

    assert [type(one).__name__ for one in results] == ["Review", "Review"]
    agreed = verdicts[0] == verdicts[1]
    assert (fresh(panel).agreed, len(of_people(panel))) == (agreed, int(agreed))
    assert Review.objects.filter(panel=panel, reason="adjudication").count() == int(not agreed)
    seqs = list(Event.objects.filter(run=panel.run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))


def test_a_cancelled_run_withdraws_the_panel_and_its_open_seats() -> None:
    panel = open_panel()
    anna, bob = people(panel.project, 2)
    say(panel, anna)
    held = take_seat(panel, bob)
    cancel_run(run_of(panel), actor=Actor())
    assert fresh(panel).state == PanelState.WITHDRAWN
    states = sorted(Review.objects.filter(panel=panel).values_list("state", flat=True))
    assert states == ["decided", "withdrawn", "withdrawn"]
    assert held.lease_token is not None
    with pytest.raises(AlreadyDecided, match="withdrawn"):
        decide_review(held, DecisionInput(lease_token=held.lease_token, decision=Decision.APPROVE), actor=bob)


def test_a_cancelled_run_withdraws_a_dispute() -> None:
    panel = open_panel(reviewers=2)
    anna, bob = people(panel.project, 2)
    say(panel, anna)
    say(panel, bob, REVISE)
    cancel_run(run_of(panel), actor=Actor())
    assert fresh(panel).state == PanelState.WITHDRAWN
    assert Review.objects.get(panel=panel, reason="adjudication").state == ReviewState.WITHDRAWN


def test_an_audit_by_two_orders_the_work_again_once_where_both_send_it_back() -> None:
    project = panel_project(audit_share=1.0, audit_reviewers=2, rules=[])
    panel = open_panel(project, confidence=0.9)
    assert (panel.holds_run, run_of(panel).outcome) == (False, "succeeded")
    for actor in people(project, 2):
        say(panel, actor, REVISE, issues=(Issue(description="A source is missing"),))
    again = run_of(panel).forks.get()
    assert set(Review.objects.filter(panel=panel).values_list("ordered_run", flat=True)) == {again.pk}


def test_a_seat_whose_hold_ran_out_is_taken_over() -> None:
    panel = open_panel()
    anna, bob = people(panel.project, 2)
    seat = take_seat(panel, anna)
    Review.objects.filter(pk=seat.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    taken = claim_next(panel.project, actor=bob)
    assert taken == seat
    assert claim_next(panel.project, actor=anna) != seat
