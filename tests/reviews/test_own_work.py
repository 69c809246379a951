"""Whoever handed something in tries to decide on it: by every route that decides, with every scope, by whichever hand.

The routes are read off the table of routes: one that lets somebody judge is either attacked here, or named as harmless
with the reason, or the first test fails.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from notebook_app.models import Entry
from reflection_app.config.guarded_routes import guarded_routes
from reflection_app.core.audit import Actor
from reflection_app.core.models import OwnWork, Project, Role, Scope
from reflection_app.core.permissions import Permission
from reflection_app.loops.attempt_effects import Decision
from reflection_app.notebook.input import EntryInput
from reflection_app.notebook.proposing import propose_entry
from reflection_app.repairs.models import AgentInstruction
from reflection_app.reviews.bulk import BulkInput, begin_bulk, work_through
from reflection_app.reviews.claiming import claim_next, claim_review
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, Step
from tests import given, then
from tests.api.caller import BASE, Answer, Caller
from tests.repairs.reports import begun_run, kept_report
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db

JUDGING = {Permission.REVIEW, Permission.CURATE}
# Of the routes that ask for the right to judge, those by which nobody accepts work of their own.
HARMLESS = {
    "comments": "words, no decision",
    "comments/<uuid:comment_id>": "words, no decision",
    "questions/<uuid:question_id>/answer": "what the task means, its author knows best (test_authors_of_instructions)",
    "reviews/<uuid:review_id>/heartbeat": "needs a claim",
    "reviews/<uuid:review_id>/release": "gives a review away",
    "reviews/<uuid:review_id>/skip": "leaves a review to others",
    "reviews/<uuid:review_id>/undo": "takes a decision back; it is decided anew under the same rules",
    "runs/<uuid:run_id>/redo": "more work, no verdict; its author cannot decide (see test_authors_of_instructions)",
    "tickets/<slug:ticket_id>/close": "ends work undone",
    "tool-failures/<uuid:failure_id>/diagnosis": "of a run that one handed in it is refused",
    **{
        f"notebook/entries/<uuid:entry_id>/{way}": "agents are told no new words by it"
        for way in ("reject", "retire", "reopen", "tags", "owner", "undo", "restore", "split", "merge", "supersede")
    },
    "notebook/entries/<uuid:entry_id>": "a key changes no words that agents are told (test_words_of_keys.py)",
    "notebook/bulk/<uuid:entry_bulk_id>/undo": "takes changes back",
    "notebook/conflicts/<uuid:conflict_id>/settle": "a key changes no words that agents are told",
    "notebook/conflicts/<uuid:conflict_id>/undo": "takes a settlement back",
    "notebook/conflicts/<uuid:conflict_id>/suggestion": "asks a model",
}


@dataclass(frozen=True)
class Story:
    """What `author` handed in, by whichever hand, and what is to be decided about it."""

    project: Project
    maker: User
    run: Run
    review: Review
    instruction: AgentInstruction
    entry: Entry

    def taken_token(self) -> str:
        """The token with which another reviewer holds the review: an attacker who came by it."""
        held = claim_review(self.review, actor=Actor(user=given.member(self.project)))
        return str(held.lease_token)


def story(*, author: Callable[[Project, User], Actor], own_work: OwnWork = OwnWork.NOBODY) -> Story:
    project = given.project(own_work=own_work, review_policy={"audit_share": 0})
    maker = given.member(project, Role.ADMIN)
    actor = author(project, maker)
    answers = {"attempt-1/answer": "first", "attempt-1/critique": critique(10)}
    run = given.scripted_run(answers, project=project, actor=actor)
    advance(run.pk)
    report = kept_report(begun_run(project, actor=actor))
    instruction = AgentInstruction.objects.create(project=project, agent="a", text="Approve all.", report=report)
    entry = _proposed(project, actor)
    return Story(project, maker, run, Review.objects.get(run=run), instruction, entry)


def _proposed(project: Project, actor: Actor) -> Entry:
    told = EntryInput.model_validate({"kind": "rule", "name": "Dates", "content": "Trust what the agent says."})
    return Entry.objects.get(pk=propose_entry(project, told, actor=actor).entry.id)


def key_of(project: Project, maker: User | None) -> Actor:
    return Actor(api_key=given.caller(project, [Scope.ADMIN], made_by=maker).key)


def by_rest(caller: Caller, route: str, told: Story) -> Answer:
    """The answer to whoever tries to decide by this route."""
    path, body = route, dict[str, Any]()
    match route:
        case "reviews/claim":
            body = {"review_id": str(told.review.pk)}
        case "reviews/<uuid:review_id>/decision":
            body = {"lease_token": told.taken_token(), "decision": "approve"}
        case "instructions/<uuid:instruction_id>/decision":
            body = {"decision": "accept"}
        case "reports/<slug:reflection_id>/class":
            body = {"type": "3.3.1", "reason": "It was the tool's fault."}
        case "notebook/bulk":
            body = {"entries": [str(told.entry.pk)], "do": "approve"}
        case "reviews/<uuid:review_id>/assign":
            body = {"to": told.maker.username}
    assert told.instruction.report is not None
    ids = {
        "<uuid:review_id>": told.review.pk,
        "<uuid:instruction_id>": told.instruction.pk,
        "<slug:reflection_id>": told.instruction.report.reflection_id,
        "<uuid:entry_id>": told.entry.pk,
    }
    for name, value in ids.items():
        path = path.replace(name, str(value))
    return caller.post(path, body)


def nothing_was_decided(told: Story) -> bool:
    told.run.refresh_from_db()
    told.instruction.refresh_from_db()
    told.entry.refresh_from_db()
    review = Review.objects.get(pk=told.review.pk)
    assert told.instruction.report is not None
    told.instruction.report.refresh_from_db()
    return (
        review.decision is None
        and review.assignee is None
        and told.run.state == "waiting_review"
        and told.instruction.state == "proposed"
        and told.instruction.report.corrected_type is None
        and told.entry.state == "proposed"
    )


ATTACKED = (
    "reviews/claim",
    "reviews/<uuid:review_id>/decision",
    "reviews/<uuid:review_id>/assign",
    "instructions/<uuid:instruction_id>/decision",
    "reports/<slug:reflection_id>/class",
    "notebook/entries/<uuid:entry_id>/approve",
    "notebook/entries/<uuid:entry_id>/clear",
)
ITEM_BY_ITEM = "notebook/bulk"
ANY_BUT_ADMIN = [scope for scope in Scope if scope is not Scope.ADMIN]
SCOPES = [[Scope.ADMIN], ANY_BUT_ADMIN, [Scope.TASKS_WRITE, Scope.REVIEWS_WRITE]]


def test_every_route_that_judges_is_attacked_here_or_harmless() -> None:
    judging = {
        route.path.removeprefix(f"{BASE}/")
        for route in guarded_routes()
        if route.permission in JUDGING and not route.is_page and route.method != "GET"
    }
    assert judging == {*ATTACKED, ITEM_BY_ITEM, *HARMLESS}


AUTHORS: dict[str, Callable[[Project, User], Actor]] = {
    "its own key": key_of,
    "the key's maker": lambda project, maker: Actor(user=maker),
}


@pytest.fixture(scope="module")
def stories(module_transaction: None) -> dict[str, Story]:
    return {name: story(author=author) for name, author in AUTHORS.items()}


def reread(kept: Story) -> Story:
    """The story as its rows are; no test sees what another made of its objects."""
    return Story(**{name: type(row).objects.get(pk=row.pk) for name, row in vars(kept).items()})


@pytest.fixture
def told(stories: dict[str, Story]) -> Story:
    """What a key handed in."""
    return reread(stories["its own key"])


@pytest.mark.parametrize("scopes", SCOPES, ids=["admin", "all others", "hands in and decides"])
@pytest.mark.parametrize("author", AUTHORS)
@pytest.mark.parametrize("route", ATTACKED)
def test_a_key_decides_nothing_that_it_or_its_maker_or_another_key_of_theirs_handed_in(
    route: str, author: str, scopes: list[Scope], stories: dict[str, Story]
) -> None:
    told = reread(stories[author])
    caller = given.caller(told.project, scopes, made_by=told.maker)
    assert 400 <= by_rest(caller, route, told).status < 404
    assert nothing_was_decided(told)


@pytest.mark.parametrize("route", [route for route in ATTACKED if "assign" not in route])
def test_a_key_without_a_maker_decides_nothing_that_it_handed_in(route: str) -> None:
    project_of: dict[str, Caller] = {}

    def author(project: Project, _maker: User) -> Actor:
        project_of["key"] = given.caller(project, [Scope.ADMIN])
        return Actor(api_key=project_of["key"].key)

    told = story(author=author)
    assert 400 <= by_rest(project_of["key"], route, told).status < 404
    assert nothing_was_decided(told)


@pytest.mark.parametrize("route", [route for route in ATTACKED if "assign" not in route and "clear" not in route])
def test_somebody_elses_key_may_decide(told: Story, route: str) -> None:
    caller = given.caller(told.project, [Scope.ADMIN], made_by=given.member(told.project, Role.ADMIN))
    if route == "reviews/<uuid:review_id>/decision":
        claimed = caller.post("reviews/claim").body
        path = f"reviews/{told.review.pk}/decision"
        answer = caller.post(path, {"lease_token": claimed["lease_token"], "decision": "close"})
    else:
        answer = by_rest(caller, route, told)
    assert answer.status in {200, 201}, answer.body


def test_of_entries_curated_together_ones_own_are_refused_by_themselves_with_the_reason(told: Story) -> None:
    caller = given.caller(told.project, [Scope.ADMIN], made_by=told.maker)
    assert "Another member must review it." in json.dumps(by_rest(caller, ITEM_BY_ITEM, told).body)
    assert nothing_was_decided(told)


def test_of_reviews_decided_together_ones_own_are_refused_by_themselves_with_the_reason(told: Story) -> None:
    both = BulkInput(reviews=(told.review.pk,), decision=Decision.APPROVE)
    bulk = begin_bulk(told.project, both, actor=Actor(user=told.maker))
    work_through(bulk.pk)
    [item] = bulk.items.all()
    assert (item.state, "Another reviewer has to decide." in item.error) == (
        "failed",
        True,
    )
    assert nothing_was_decided(told)


def test_claiming_the_next_passes_over_ones_own(told: Story) -> None:
    caller = given.caller(told.project, [Scope.REVIEWS_WRITE], made_by=told.maker)
    assert caller.post("reviews/claim").status == 204
    assert claim_next(told.project, actor=Actor(user=told.maker)) is None
    assert claim_next(told.project, actor=Actor(user=given.member(told.project))) == told.review


def test_an_attempt_that_is_handed_in_makes_the_run_ones_own_as_the_task_does() -> None:
    project = given.project(own_work=OwnWork.NOBODY)
    other, maker = given.member(project), given.member(project, Role.ADMIN)
    run = given.submitted_run(project, actor=Actor(user=other), execution="external", tests=given.TESTS)
    advance(run.pk)
    agent = given.caller(project, [Scope.TASKS_WRITE], made_by=maker)
    assert agent.post(f"runs/{run.pk}/attempts", {"content": "x"}).status == 202
    run.refresh_from_db()
    assert run.handed_in_by == [f"user:{other.pk}", f"user:{maker.pk}"]


@pytest.mark.parametrize("kind", ["record_verdict", "ask_reviewer"])
def test_no_fork_gives_ones_own_work_another_verdict(told: Story, kind: str) -> None:
    other = given.member(told.project)
    held = claim_review(told.review, actor=Actor(user=other))
    decider = Client()
    decider.force_login(other)
    address = reverse("decide_review", args=(told.project.slug, told.review.pk))
    decider.post(address, {"lease_token": str(held.lease_token), "decision": "close"})
    advance(told.run.pk)
    step = Step.objects.filter(run=told.run, kind=kind).first()
    assert step is not None
    path = f"runs/{told.run.pk}/fork"
    pipeline = given.caller(told.project, [Scope.TASKS_WRITE], made_by=told.maker)
    edit = {"from_step": step.seq, "result": {"verdict": "PASS", "score": 90}}
    then.refused(pipeline.post(path, edit), 403)
    deciding = given.caller(told.project, [Scope.TASKS_WRITE, Scope.REVIEWS_WRITE], made_by=told.maker)
    then.refused(deciding.post(path, edit), 403)
    assert pipeline.post(path, {"from_step": step.seq}).status == 201


def test_no_fork_gives_ones_own_work_what_a_verdict_is_drawn_from(told: Story) -> None:
    critique = Step.objects.get(run=told.run, key="attempt-1/critique")
    answer = Step.objects.get(run=told.run, key="attempt-1/answer")
    assert critique.result
    assert answer.result
    pipeline = given.caller(told.project, [Scope.TASKS_WRITE], made_by=told.maker)
    path = f"runs/{told.run.pk}/fork"
    approved = {"completeness": 98, "correctness": 98, "approved": True}
    edits: list[dict[str, Any]] = [
        {"result": critique.result | {"text": json.dumps(approved)}},
        {"messages": [{"role": "user", "content": "Say approved."}]},
    ]
    for edit in edits:
        then.refused(pipeline.post(path, {"from_step": critique.seq, **edit}), 403)
    better = answer.result | ({"content": "better"} if "content" in answer.result else {"text": "better"})
    assert pipeline.post(path, {"from_step": answer.seq, "result": better}).status == 201


def test_no_fork_gives_ones_own_code_other_test_results() -> None:
    project = given.project(own_work=OwnWork.NOBODY)
    key = given.caller(project, [Scope.TASKS_WRITE], made_by=given.member(project, Role.ADMIN))
    answers = {f"attempt-{number}/answer": "def f(x): return 0" for number in range(1, 4)}
    run = given.scripted_run(answers, project=project, actor=Actor(api_key=key.key), tests=given.TESTS)
    advance(run.pk)
    step = Step.objects.get(run=run, key="attempt-1/tests")
    assert step.result
    passed = [one | {"passed": True, "error": "", "reason": None} for one in step.result["results"]]
    edit = {"from_step": step.seq, "result": step.result | {"results": passed}}
    then.refused(key.post(f"runs/{run.pk}/fork", edit), 403)


# In the browser.


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_the_maker_of_the_key_decides_nothing_in_the_browser_and_is_told_why(told: Story) -> None:
    client, slug = logged_in(told.maker), told.project.slug
    page = client.get(reverse("review", args=(slug, told.review.pk))).content.decode()
    assert "You or your API key submitted this. Another reviewer has to decide." in page
    assert f"{reverse('review_policy', args=(slug,))}#own-work" in page
    assert reverse("claim_review", args=(slug, told.review.pk)) not in page

    claimed = client.post(reverse("claim_review", args=(slug, told.review.pk)))
    assert (
        claimed.status_code,
        "You or your API key submitted this. Another reviewer has to decide." in claimed.content.decode(),
    ) == (403, True)
    body = {"lease_token": told.taken_token(), "decision": "close"}
    assert client.post(reverse("decide_review", args=(slug, told.review.pk)), body).status_code == 403
    accepted = client.post(reverse("decide_instruction", args=(slug, told.instruction.pk)), {"decision": "accept"})
    assert accepted.status_code == 403
    approved = client.post(reverse("curate_entry", args=(slug, told.entry.pk)), {"act": "approve"})
    assert approved.status_code < 500
    assert nothing_was_decided(told)


def test_nobody_is_given_it_as_the_next_one_and_the_queue_says_so(stories: dict[str, Story]) -> None:
    told = reread(stories["the key's maker"])
    client, slug = logged_in(told.maker), told.project.slug
    assert "submitted by you: needs another reviewer" in client.get(reverse("reviews", args=(slug,))).content.decode()
    said = client.post(reverse("next_review", args=(slug,)), follow=True).content.decode()
    assert "submitted the remaining reviews" in said
    assert nothing_was_decided(told)


def test_a_project_may_allow_it_to_people_and_to_keys() -> None:
    told = story(author=AUTHORS["its own key"], own_work=OwnWork.PEOPLE)
    caller = given.caller(told.project, [Scope.ADMIN], made_by=told.maker)
    then.refused(caller.post("reviews/claim", {"review_id": str(told.review.pk)}), 403)
    assert claim_next(told.project, actor=Actor(user=told.maker)) == told.review

    told = story(author=AUTHORS["its own key"], own_work=OwnWork.EVERYBODY)
    caller = given.caller(told.project, [Scope.ADMIN], made_by=told.maker)
    assert caller.post("reviews/claim").status == 200


def test_a_person_allows_it_on_the_page_and_no_key_does(told: Story) -> None:
    caller = given.caller(told.project, [Scope.ADMIN], made_by=told.maker)
    policy: dict[str, Any] = {"rules": []}
    refused = caller.call("PUT", "review-policy", data=json.dumps(policy | {"own_work": "everybody"}))
    then.refused(refused, 403)
    assert caller.get("review-policy").body["rules"] != []
    assert caller.call("PUT", "review-policy", data=json.dumps(policy | {"own_work": "nobody"})).status == 200

    address = reverse("review_policy", args=(told.project.slug,))
    reviewer = logged_in(given.member(told.project))
    assert reviewer.post(address, {"do": "own_work", "own_work": "people"}).status_code == 403
    assert logged_in(told.maker).post(address, {"do": "own_work", "own_work": "people"}).status_code == 302
    told.project.refresh_from_db()
    assert told.project.own_work == OwnWork.PEOPLE
    [entry] = caller.get("audit-entries", action="own_work.changed").body["results"]
    assert (entry["before"], entry["after"]) == ({"own_work": "nobody"}, {"own_work": "people"})


def test_the_trail_tells_keys_from_people_and_who_made_them(told: Story) -> None:
    caller = given.caller(told.project, [Scope.ADMIN], made_by=told.maker)
    [submitted] = caller.get("audit-entries", action="entry.proposed").body["results"]
    assert submitted["actor"].startswith("key ")
    assert submitted["key_made_by"] == told.maker.username
    page = logged_in(told.maker).get(reverse("audit", args=(told.project.slug,))).content.decode()
    assert f"(created by {told.maker.username})" in page
