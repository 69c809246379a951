"""Every page of a project, walked by those who may not see it."""

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import URLPattern, reverse

from notebook_app.models import Conflict, ImportBatch
from notebook_app.public import EntryKind, Proposal, keep
from reflection_app.alerts.models import Channel
from reflection_app.attachments.keeping import upload
from reflection_app.core.audit import Actor
from reflection_app.metrics.models import Dashboard, JudgedItem, JudgementImport
from reflection_app.queues.saving import ViewInput, save_view
from reflection_app.repairs.models import AgentInstruction
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.models import About
from reflection_app.sessions.recording import TranscriptSubmission, open_transcript
from reflection_app.teams.members import create_invitation
from reflection_app.teams.models import Delivery, Secret, Webhook
from reflection_app.teams.tools import add_builtin_tools
from reflection_app.web.urls import project_pages
from tests.comparisons.pairs import claimed, judge_of, make_set
from tests.factories import make_api_key, make_member, make_project
from tests.queues.queues import make_queue
from tests.repairs.reports import begun_run, kept_report
from tests.repairs.tickets import external_run, ticket_of
from tests.repairs.tool_failures import report
from tests.reviews.bulk import done_bulk
from tests.runs.questions import waiting_question
from tests.web.stories import logged_in, unsure_project, waiting_review

# Advancing a run gives its connection back, so these tests cannot live in one transaction.
pytestmark = pytest.mark.django_db(transaction=True)
FAILURE_PAGES = ("tool_failure", "tool_outcome")
TOOL_PAGES = {"tool", "edit_tool", "try_tool", "switch_tool", "delete_tool"}
REPORT_PAGES = {"report", "report_document", "report_markdown"}
PROTOCOL_PAGES = {"question", "answer_question", "decide_instruction", "correct_class"}
ENTRY_PAGES = {"entry", "entry_news", "edit_entry", "merge_entry", "split_entry"}
PEOPLE_PAGES = {"comments", "edit_comment", "take_back_comment", "assign_review", "hand_over_review"}


@pytest.fixture
def addresses() -> dict[str, str]:
    """The address of each page, with ids of things that exist."""
    project = unsure_project("walked")
    review = waiting_review(project)
    key, _ = make_api_key(project)
    transcript = open_transcript(project, TranscriptSubmission(), actor=Actor())
    kept = Secret.objects.create(project=project, name="TOKEN", origin="https://a.example:443", ciphertext="x")
    written = kept_report(begun_run(project))
    entry, second = (keep(project.pk, Proposal(EntryKind.RULE, name)).entry for name in ("One", "Another"))
    ids = {
        "reflection_id": written.reflection_id,
        "instruction_id": AgentInstruction.objects.create(project=project, agent="a", text="b", report=written).pk,
        "run_id": review.run_id,
        "seq": 1,
        "review_id": review.pk,
        "key_id": key.pk,
        "transcript_id": transcript.pk,
        "span_id": uuid4(),
        "tool_id": add_builtin_tools(project, actor=Actor())[0].pk,
        "secret_id": kept.pk,
        "failure_id": report(project).pk,
        "question_id": waiting_question(project).pk,
        "attachment_id": upload(project, b"x", name="x", actor=Actor()).pk,
        "bulk_id": done_bulk(review).pk,
        "form": "csv",
        "subject": "runs",
        "kind": "runs",
        "about": "review",
        "about_id": review.pk,
        "comment_id": add_comment(project, About.REVIEW, review.pk, CommentInput(text="x"), actor=Actor()).pk,
        "ticket_id": ticket_of(external_run(project=project)).ticket_id,
        "entry_id": entry.pk,
        "conflict_id": Conflict.objects.create(
            project_id=project.pk, first=entry, second=second, kind="duplicate", text_likeness=1
        ).pk,
        "user_id": make_member(project).pk,
        "invitation_id": create_invitation(project, role="viewer", actor=Actor()).invitation.pk,
        "import_id": ImportBatch.objects.create(project_id=project.pk).pk,
        "webhook_id": (webhook := Webhook.objects.create(project=project, url="https://a.example", events=[])).pk,
        "delivery_id": Delivery.objects.create(project=project, webhook=webhook, type="run.finished").pk,
        "channel_id": Channel.objects.create(
            project=project, kind="slack", name="#a", host="https://a.example:443", topics=["review"], ciphertext="x"
        ).pk,
        "dashboard_id": Dashboard.objects.create(project=project, owner_label="a", name="a", is_shared=True).pk,
        "set_id": make_set(project).pk,
        "judgement_id": claimed(project, actor=judge_of(project)).pk,
        "queue_id": make_queue(project).pk,
        "view_id": save_view(project, ViewInput(name="Shared"), actor=Actor()).pk,
        "judgements_id": JudgementImport.objects.create(project=project).pk,
        "number": 1,
        "page": 1,
        "item_id": JudgedItem.objects.create(project=project, external_id="a").pk,
    }
    found = {}
    for page in project_pages:
        assert isinstance(page, URLPattern)
        wanted = {name: ids[name] for name in page.pattern.converters}
        found[str(page.name)] = reverse(str(page.name), kwargs={"slug": project.slug, **wanted})
    return found


def test_the_walk_covers_every_page(addresses: dict[str, str]) -> None:
    assert len(addresses) == len(project_pages) >= 15


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_member_of_another_project_finds_nothing(client: Client, addresses: dict[str, str], method: str) -> None:
    logged_in(client, make_project())
    statuses = {name: getattr(client, method)(address).status_code for name, address in addresses.items()}
    assert set(statuses.values()) == {404}, statuses


@pytest.mark.parametrize("method", ["get", "post"])
def test_whoever_is_not_logged_in_is_asked_to(client: Client, addresses: dict[str, str], method: str) -> None:
    for address in addresses.values():
        response = getattr(client, method)(address)
        assert response.status_code == 302
        assert response["Location"].startswith("/login/")


def test_a_projects_things_are_not_found_under_another_slug(client: Client, addresses: dict[str, str]) -> None:
    own = make_project("own")
    logged_in(client, own)
    for name, address in addresses.items():
        if name in {
            "run",
            "step",
            "cancel_run",
            "run_goes_on",
            "redo_run",
            "ask_for_review",
            "ticket",
            "review",
            "revoke_key",
            "change_member",
            "remove_member",
            "revoke_invitation",
            "delete_judgements",
            *PEOPLE_PAGES,
            *ENTRY_PAGES,
            *TOOL_PAGES,
            "delete_secret",
            *FAILURE_PAGES,
            *REPORT_PAGES,
            *PROTOCOL_PAGES,
        }:
            acts = {"try_tool", "switch_tool", "tool_outcome", *PROTOCOL_PAGES - {"question"}}
            acts |= PEOPLE_PAGES - {"comments", "edit_comment"} | {"change_member", "delete_judgements"}
            ask = client.post if name in acts else client.get
            answer = ask(address.replace("/p/walked/", "/p/own/"), headers={"HX-Request": "true"})
            assert answer.status_code == 404, name


def test_an_address_that_only_acts_leads_to_its_page(client: Client, addresses: dict[str, str]) -> None:
    from reflection_app.core.models import Project

    logged_in(client, Project.objects.get(slug="walked"))
    pages = {"close_ticket": "ticket", "next_review": "reviews", "create_key": "keys"}
    for name in (
        "claim_review",
        "release_review",
        "keep_review",
        "decide_review",
        "undo_review",
        *pages,
    ):
        assert client.get(addresses[name])["Location"] == addresses[pages.get(name, "review")]
        assert client.put(addresses[name]).status_code == 405


def test_an_unknown_id_is_not_found(client: Client) -> None:
    project = make_project("known")
    logged_in(client, project)
    assert client.get(f"/p/known/runs/{uuid4()}/").status_code == 404
    assert client.get(f"/p/known/reviews/{uuid4()}/").status_code == 404
