"""Pages of blind reviewers: nobody reads what another said before the last has spoken."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from reflection_app.core.audit import Actor
from reflection_app.core.models import OwnWork, Project, Role, Scope
from reflection_app.loops.verdicts import Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.models import Panel, Review
from tests import given, then, when
from tests.api.caller import Caller
from tests.reviews.panels import SECRET_REASON, adjudication, fresh, open_panel, panel_project, people, say

pytestmark = pytest.mark.django_db(transaction=True)
REVISE, REJECT = VerdictName.REVISE, VerdictName.REJECT
SECRET_ISSUE = "No passenger is ever named"
EVERYWHERE = ("", "reviews/", "reviews/?view=decided", "reviews/agreement/", "runs/")


@pytest.fixture
def panel() -> Panel:
    return open_panel(panel_project("desk"))


def client_of(actor: Actor) -> Client:
    client = Client()
    assert actor.user is not None
    client.force_login(actor.user)
    return client


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
        assert "waits for 2 more reviewers" in seen
    assert SECRET_REASON in pages(client_of(anna), panel)


def test_what_the_page_of_the_run_is_told_live_does_not_tell_it_either(panel: Panel) -> None:
    from reflection_app.core.models import Membership
    from reflection_app.runs.views.live import fragments_of
    from reflection_app.runs.views.story import tell

    anna = people(panel.project, 1)[0]
    secretly(panel, anna)
    member = Membership.objects.get(user=anna.user, project=panel.project)
    drawn = "".join(fragment.html for fragment in fragments_of(tell(fresh(panel).run), membership=member))
    assert f"{anna.label} has decided, one of 3" in drawn
    assert SECRET_REASON not in drawn
    assert "overruled" not in drawn


def test_once_all_have_spoken_everybody_reads_everything(panel: Panel) -> None:
    anna, bob, cem = people(panel.project, 3)
    for actor in (anna, bob, cem):
        secretly(panel, actor)
    seen = (
        given.logged_in(Client(), panel.project, Role.VIEWER)
        .get(f"/p/desk/reviews/{Review.objects.filter(panel=panel)[0].pk}/")
        .text
    )
    assert "All 3 gave the same verdict." in seen
    assert all(actor.label in seen for actor in (anna, bob, cem))
    assert seen.count(SECRET_REASON) >= 3
    run = given.logged_in(Client(), panel.project, Role.VIEWER).get(f"/p/desk/runs/{panel.run_id}/").text
    assert SECRET_REASON in run


def test_the_adjudication_shows_all_side_by_side_and_begins_with_what_most_said(panel: Panel) -> None:
    anna, bob, cem = people(panel.project, 3)
    secretly(panel, anna)
    say(panel, bob, reason="Fine by me.")
    say(panel, cem, REVISE, issues=(Issue(description="Too short"),), reason="Short.")
    client = given.logged_in(Client(), panel.project, Role.REVIEWER)
    opened = adjudication(panel)
    page = client.get(f"/p/desk/reviews/{opened.pk}/").text
    assert "The reviewers do not agree" in page
    for said in (SECRET_REASON, "Fine by me.", "Short.", SECRET_ISSUE, "Too short", anna.label, bob.label, cem.label):
        assert said in page, said
    assert "Claim and decide" in page

    held = when.claims(client, opened)
    page = client.get(f"/p/desk/reviews/{opened.pk}/").text
    assert 'value="overrule" data-key="o" checked' in page.replace("  ", " ")
    assert f'value="{SECRET_ISSUE}"' in page
    assert 'value="Too short"' in page
    typed = {"lease_token": str(held.lease_token), "decision": "approve", "score": "80", "reason": "It will do."}
    told = client.post(f"/p/desk/reviews/{opened.pk}/decision/", typed, follow=True).text
    assert "The run succeeds." in told
    settled = client.get(f"/p/desk/reviews/{Review.objects.filter(panel=panel)[0].pk}/").text
    assert "They gave different verdicts." in settled
    assert "settled it:" in settled


def test_what_people_said_is_escaped(panel: Panel) -> None:
    for actor in people(panel.project, 3):
        say(panel, actor, REVISE, reason=given.HOSTILE, issues=(Issue(description=given.HOSTILE),))
    viewer = given.logged_in(Client(), panel.project, Role.VIEWER)
    for path in (f"reviews/{Review.objects.filter(panel=panel)[0].pk}/", f"runs/{panel.run_id}/"):
        page = viewer.get(f"/p/desk/{path}").text
        assert "<script>alert(1)" not in page
        assert "<img src=x" not in page


def test_the_page_of_agreement_is_empty_at_first_and_then_leads_to_what_was_judged() -> None:
    project = panel_project("desk", reviewers=2)
    client = given.logged_in(Client(), project, Role.VIEWER)
    assert "Nothing judged by several people in this period" in client.get("/p/desk/reviews/agreement/").text

    anna, bob = people(project, 2)
    for verdict in (None, None, None, REVISE, REJECT):
        panel = open_panel(project)
        say(panel, anna)
        say(panel, bob, verdict)
    page = client.get("/p/desk/reviews/agreement/?days=7").text
    assert "60%" in page.replace(" ", "").replace("\u202f", "") or "60 %" in page
    assert "3 of 5" in page
    # One of them always said the same, so that chance alone would agree as often.
    assert "0.000" in page
    assert page.count("Agreed</span>") == 3
    assert page.count("Differed</span>") == 2


@pytest.mark.parametrize("own_work", list(OwnWork))
def test_a_panel_member_who_has_reviewed_reads_that_others_are_awaited(own_work: OwnWork) -> None:
    project = panel_project("desk", reviewers=2)
    Project.objects.filter(pk=project.pk).update(own_work=own_work)
    anna = people(project, 2)[0]
    say(open_panel(project), anna)
    page = client_of(anna).post("/p/desk/reviews/next/", follow=True).text
    assert "or for an opinion beside yours." in page
    assert "submitted the remaining reviews" not in page


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


def test_nothing_that_can_be_read_tells_what_another_has_said() -> None:
    panel = open_panel()
    giver, other = callers(panel, 2)
    before = everything(other, panel)
    decided(giver, **SENT_BACK)
    after = everything(other, panel)
    assert SECRET_REASON not in after
    assert after.count('"REVISE"') == before.count('"REVISE"') == 0
    assert '"overrule"' not in after
    assert SECRET_REASON in everything(giver, panel)


def test_how_many_have_spoken_is_told_and_ones_own_opinion() -> None:
    panel = open_panel()
    giver, other = callers(panel, 2)
    mine = decided(giver, **SENT_BACK)
    assert (mine["state"], mine["decision"]["reason"]) == ("decided", SECRET_REASON)
    assert [one["verdict"] for one in mine["panel"]["opinions"]] == ["REVISE"]

    seen = other.get(f"reviews/{mine['id']}").body
    assert (seen["state"], seen["decision"], seen["panel"]["opinions"]) == ("decided", None, [])
    assert (seen["panel"]["wanted"], seen["panel"]["given"], seen["panel"]["agreed"]) == (3, 1, None)


def test_claiming_what_another_has_decided_does_not_tell_the_decision() -> None:
    panel = open_panel()
    giver, other = callers(panel, 2)
    mine = decided(giver, **SENT_BACK)
    answer = other.post("reviews/claim", {"review_id": mine["id"]})
    then.refused(answer, 409)
    assert "overrule" not in json.dumps(answer.body)


def test_a_list_with_panels_takes_as_many_queries_for_many_as_for_one() -> None:
    project = panel_project()
    caller = given.caller(project, ALL)
    counts = []
    for number in (1, 2, 3):
        open_panel(project)
        caller.get("reviews")
        with CaptureQueriesContext(connection) as asked:
            assert len(caller.get("reviews").body["results"]) == 3 * number
        counts.append(len(asked))
    assert len(set(counts)) == 1


def test_a_key_takes_its_own_opinion_back_and_no_other_key_does() -> None:
    panel = open_panel()
    giver = given.caller(panel.project, REVIEWER)
    other = given.caller(panel.project, REVIEWER)
    mine = decided(giver, **SENT_BACK)
    then.refused(other.post(f"reviews/{mine['id']}/undo", {}), 403)
    assert giver.post(f"reviews/{mine['id']}/undo", {}).status == 200
    assert Review.objects.get(pk=mine["id"]).opinion is None
