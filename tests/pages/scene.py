"""A project in which each page finds what it is about."""

from uuid import uuid4

from django.urls import URLPattern, reverse

from notebook_app.models import Conflict, ImportBatch
from notebook_app.public import EntryKind, Proposal, keep
from reflection_app.alerts.models import Channel
from reflection_app.attachments.keeping import upload
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
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
from tests import given
from tests.comparisons.pairs import claimed, judge_of, make_set
from tests.queues.queues import make_queue
from tests.repairs.reports import begun_run, kept_report
from tests.repairs.tickets import external_run, ticket_of
from tests.repairs.tool_failures import report
from tests.reviews.bulk import done_bulk
from tests.runs.questions import waiting_question


def addresses_of(project: Project) -> dict[str, str]:
    """The address of each of the project's pages, with ids of things that it then has."""
    review = given.waiting_review(project)
    key, _ = given.api_key(project)
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
        "user_id": given.member(project).pk,
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
