"""Several people judge the same verdict blindly: they agree, or one more decides."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.errors import AlreadyDecided, ReviewHeld
from reflection_app.core.models import Role, Scope
from reflection_app.loops.verdicts import Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.claiming import claim_next, claim_review
from reflection_app.reviews.models import Panel, PanelState, Review, ReviewState
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.models import RunState, Verdict
from reflection_app.runs.resuming import cancel_run
from reflection_app.teams.models import Notification
from tests import given, when
from tests.api.caller import Caller
from tests.reviews.panels import (
    SECRET_REASON,
    adjudication,
    fresh,
    open_panel,
    panel_project,
    people,
    run_of,
    say,
    take_seat,
)
from tests.reviews.reviewed import client_of, decide_held

pytestmark = pytest.mark.django_db

PASS, REVISE, REJECT = VerdictName.PASS, VerdictName.REVISE, VerdictName.REJECT


@pytest.fixture(scope="module")
def opened(module_transaction: None) -> Panel:
    return open_panel(panel_project("desk"))


@pytest.fixture
def panel(opened: Panel) -> Panel:
    return fresh(opened)


def of_people(panel: Panel) -> list[Verdict]:
    """The verdicts that people's words have put in force."""
    return list(Verdict.objects.filter(attempt__run=panel.run_id, referee=6))


def test_an_opinion_alone_changes_nothing_but_its_seat(panel: Panel) -> None:
    anna = people(panel.project, 1)[0]
    seat = say(panel, anna, REVISE)

    assert (seat.state, seat.decision, seat.decided_by_label) == (ReviewState.DECIDED, "overrule", anna.label)
    assert (seat.decided_verdict, seat.get_opinion().verdict) == (None, REVISE)  # type: ignore[union-attr]
    assert of_people(panel) == []
    run = run_of(panel)
    assert (run.state, fresh(panel).state, fresh(panel).agreed) == (RunState.WAITING_REVIEW, PanelState.OPEN, None)
    told = Event.objects.get(run=panel.run, type="review.opinion").payload
    assert told == {"review": str(seat.pk), "given": 1, "wanted": 3}
    assert not Event.objects.filter(run=panel.run, type="review.decided").exists()


def test_three_who_agree_settle_it_with_the_median_score_and_every_issue_once(panel: Panel) -> None:
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


def test_where_they_differ_nothing_follows_and_one_more_person_is_asked(panel: Panel) -> None:
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


def test_whoever_settles_the_dispute_decides_like_any_review(panel: Panel) -> None:
    anna, bob, cem, dora = people(panel.project, 4)
    for actor, verdict in ((anna, None), (bob, REVISE), (cem, REJECT)):
        say(panel, actor, verdict)
    held = claim_review(adjudication(panel), actor=dora)
    decided = decide_held(held, dora, "overrule", verdict=REVISE, reason="Shorter.")

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
        decide_held(held, actor, "redo", instructions=instructions)
    [sent] = of_people(panel)
    assert sent.verdict == "REVISE"
    assert [issue["suggested_fix"] for issue in sent.issues] == ["Shorter.", "With a source."]
    advance(panel.run_id)
    assert run_of(panel).outcome == "succeeded"


def test_nobody_gets_two_seats_of_a_panel(panel: Panel) -> None:
    anna, bob = people(panel.project, 2)
    first = claim_next(panel.project, actor=anna)
    assert first is not None
    assert claim_next(panel.project, actor=anna) is None
    other = Review.objects.filter(panel=panel).exclude(pk=first.pk).first()
    assert other is not None
    with pytest.raises(ReviewHeld, match="You are already a reviewer on this panel"):
        claim_review(other, actor=anna)
    say(panel, bob)
    free = Review.objects.get(panel=panel, state=ReviewState.WAITING)
    with pytest.raises(ReviewHeld, match="You are already a reviewer on this panel"):
        claim_review(free, actor=bob)


def test_a_cancelled_run_withdraws_the_panel_and_its_open_seats(panel: Panel) -> None:
    anna, bob = people(panel.project, 2)
    say(panel, anna)
    held = take_seat(panel, bob)
    cancel_run(run_of(panel), actor=Actor())
    assert fresh(panel).state == PanelState.WITHDRAWN
    states = sorted(Review.objects.filter(panel=panel).values_list("state", flat=True))
    assert states == ["decided", "withdrawn", "withdrawn"]
    with pytest.raises(AlreadyDecided, match="withdrawn"):
        decide_held(held, bob)


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


def test_a_seat_whose_hold_ran_out_is_taken_over(panel: Panel) -> None:
    anna, bob = people(panel.project, 2)
    seat = take_seat(panel, anna)
    Review.objects.filter(pk=seat.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    taken = claim_next(panel.project, actor=bob)
    assert taken == seat
    assert claim_next(panel.project, actor=anna) != seat


# Pages of blind reviewers: nobody reads what another said before the last has spoken.


SECRET_ISSUE = "No passenger is ever named"
EVERYWHERE = ("", "reviews/", "reviews/?view=decided", "reviews/agreement/", "runs/")


def secretly(panel: Panel, actor: Actor) -> Review:
    return say(panel, actor, REVISE, score=41, issues=(Issue(description=SECRET_ISSUE),))


def pages(client: Client, panel: Panel) -> str:
    """All that somebody can read of the run and its seats."""
    seats = Review.objects.filter(panel=panel)
    paths = [*EVERYWHERE, f"runs/{panel.run_id}/", *(f"reviews/{seat.pk}/" for seat in seats)]
    paths += [f"runs/{panel.run_id}/steps/{step.seq}/" for step in panel.run.steps.all()]
    return "".join(client.get(f"/p/desk/{path}").text for path in paths)


@pytest.mark.exhaustive("every page, as every role, between every two opinions")
def test_no_page_tells_what_another_said_before_all_have(panel: Panel) -> None:
    anna, bob = people(panel.project, 2)
    viewer = given.logged_in(Client(), panel.project, Role.VIEWER)
    admin = given.logged_in(Client(), panel.project, Role.ADMIN)
    secretly(panel, anna)
    for client in (client_of(bob), viewer, admin):
        seen = pages(client, panel)
        assert SECRET_REASON not in seen
        assert SECRET_ISSUE not in seen
        assert "overruled" not in seen
        assert "1 of 3 have decided." in seen
        assert "1 of 3 decided (blind)" in seen
    assert SECRET_REASON in pages(client_of(anna), panel)


def test_what_the_page_of_the_run_is_told_live_does_not_tell_it_either(panel: Panel) -> None:
    from reflection_app.core.models import Membership
    from reflection_app.runs.views.live import fragments_of
    from reflection_app.runs.views.story import tell

    anna = people(panel.project, 1)[0]
    secretly(panel, anna)
    member = Membership.objects.get(user=anna.user, project=panel.project)
    drawn = "".join(fragment.html for fragment in fragments_of(tell(fresh(panel).run), membership=member))
    assert f"{anna.label} has decided (1 of 3)" in drawn
    assert SECRET_REASON not in drawn
    assert "overruled" not in drawn


def test_the_adjudication_shows_all_side_by_side_and_begins_with_what_most_said(panel: Panel) -> None:
    anna, bob, cem = people(panel.project, 3)
    secretly(panel, anna)
    say(panel, bob, reason="Fine by me.")
    say(panel, cem, REVISE, issues=(Issue(description="Too short"),), reason="Short.")
    client = given.logged_in(Client(), panel.project, Role.REVIEWER)
    opened = adjudication(panel)
    page = client.get(f"/p/desk/reviews/{opened.pk}/").text
    for said in (SECRET_REASON, "Fine by me.", "Short.", SECRET_ISSUE, "Too short", anna.label, bob.label, cem.label):
        assert said in page, said

    held = when.claims(client, opened)
    page = client.get(f"/p/desk/reviews/{opened.pk}/").text
    assert 'value="overrule" data-key="o" checked' in page.replace("  ", " ")
    assert f'value="{SECRET_ISSUE}"' in page
    typed = {"lease_token": str(held.lease_token), "decision": "approve", "score": "80", "reason": "It will do."}
    client.post(f"/p/desk/reviews/{opened.pk}/decision/", typed)
    assert "settled it:" in client.get(f"/p/desk/reviews/{Review.objects.filter(panel=panel)[0].pk}/").text


def test_the_page_of_agreement_leads_to_what_was_judged() -> None:
    project = panel_project("pairs", reviewers=2)
    anna, bob = people(project, 2)
    for verdict in (None, None, None, REVISE, REJECT):
        panel = open_panel(project)
        say(panel, anna)
        say(panel, bob, verdict)
    page = given.logged_in(Client(), project, Role.VIEWER).get("/p/pairs/reviews/agreement/?days=7").text
    assert "3 of 5" in page
    # One of them always said the same, so that chance alone would agree as often.
    assert "0.000" in page


# Over REST.


ALL: list[str] = [Scope.ADMIN]
REVIEWER: list[str] = [Scope.REVIEWS_WRITE]


def callers(panel: Panel, number: int) -> list[Caller]:
    return [given.caller(panel.project, ALL, made_by=given.member(panel.project, Role.ADMIN)) for _ in range(number)]


def decided(caller: Caller, **decision: Any) -> dict[str, Any]:
    """The answer to deciding the next review."""
    claimed = caller.post("reviews/claim").body
    answer = caller.post(
        f"reviews/{claimed['review']['id']}/decision", {"lease_token": claimed["lease_token"]} | decision
    )
    assert answer.status == 200, answer.body
    body: dict[str, Any] = answer.body
    return body


SENT_BACK = {"decision": "overrule", "verdict": "REVISE", "reason": SECRET_REASON}


def everything(caller: Caller, panel: Panel) -> str:
    """All that a key may read of the run and its reviews."""
    seats = Review.objects.filter(panel=panel)
    paths = ["reviews", "runs", f"runs/{panel.run_id}", *(f"reviews/{seat.pk}" for seat in seats)]
    paths += [f"runs/{panel.run_id}/{part}" for part in ("steps", "attempts", "graph", "events")]
    return json.dumps([caller.get(path).body for path in paths])


def test_nothing_that_can_be_read_tells_what_another_has_said(panel: Panel) -> None:
    giver, other = callers(panel, 2)
    before = everything(other, panel)
    decided(giver, **SENT_BACK)
    after = everything(other, panel)
    assert SECRET_REASON not in after
    assert after.count('"REVISE"') == before.count('"REVISE"') == 0
    assert '"overrule"' not in after
    assert SECRET_REASON in everything(giver, panel)


def test_a_list_with_panels_takes_as_many_queries_for_many_as_for_one() -> None:
    project = panel_project()
    caller = given.caller(project, ALL)
    counts = []
    for number in (1, 2):
        open_panel(project)
        caller.get("reviews")
        with CaptureQueriesContext(connection) as asked:
            assert len(caller.get("reviews").body["results"]) == 3 * number
        counts.append(len(asked))
    assert len(set(counts)) == 1
