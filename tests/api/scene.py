"""A project in which each route of REST finds what it is about, and a valid request for each."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from uuid import UUID

from notebook_app.models import Conflict, ImportBatch
from reflection_app.attachments.keeping import upload
from reflection_app.core.audit import Actor
from reflection_app.notebook.bulk import BulkCuration, BulkDeed, curate_together
from reflection_app.repairs.models import AgentInstruction
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.models import About
from reflection_app.sessions.recording import TranscriptSubmission, open_transcript
from reflection_app.teams.members import create_invitation
from reflection_app.teams.models import Delivery, Secret, Webhook
from reflection_app.teams.tools import add_builtin_tools
from tests import given
from tests.api.caller import Answer, Caller
from tests.comparisons.pairs import make_set, pair_of
from tests.notebook.entries import make_entry
from tests.queues.queues import make_queue
from tests.repairs.completeness import completeness_check
from tests.repairs.reports import begun_run, kept_report
from tests.repairs.tickets import external_run, ticket_of
from tests.repairs.tool_failures import report
from tests.runs.questions import waiting_question

type Things = dict[str, UUID | str]


def things_of(owner: Caller) -> dict[str, UUID | str]:
    """The ids of things that the caller's project really has, by the names that routes give them."""
    review = given.waiting_review(owner.project)
    said, by = CommentInput(text="x"), Actor(api_key=owner.key)
    comment = add_comment(owner.project, About.REVIEW, review.pk, said, actor=by)
    other = make_entry(owner.project)
    alike = sorted((make_entry(owner.project) for _ in range(3)), key=lambda entry: entry.pk)
    pairs = [
        Conflict.objects.create(
            project_id=owner.project.pk, first=first, second=second, kind="duplicate", text_likeness=1
        )
        for first, second in pairwise(alike)
    ]
    transcript = open_transcript(owner.project, TranscriptSubmission(), actor=Actor())
    ids: dict[str, UUID | str] = {
        "task_id": review.run.task_id,
        "run_id": review.run_id,
        "review_id": review.pk,
        "transcript_id": transcript.pk,
        "failure_id": report(owner.project).pk,
        "question_id": waiting_question(owner.project).pk,
        "attachment_id": upload(owner.project, b"x", name="x", actor=by).pk,
        "check_id": completeness_check(owner.project).pk,
        "ticket_id": ticket_of(external_run(project=owner.project)).ticket_id,
        "reflection_id": (kept := kept_report(begun_run(owner.project))).reflection_id,
        "instruction_id": AgentInstruction.objects.create(project=owner.project, agent="a", text="b", report=kept).pk,
        "comment_id": comment.pk,
        "entry_id": make_entry(owner.project).pk,
        "entry_bulk_id": curate_together(
            owner.project,
            BulkCuration(entries=(other.pk,), do=BulkDeed.ADD_TAGS, tags=("x",)),
            actor=by,
        ).id,
        "conflict_id": pairs[0].pk,
        "user_id": str(given.member(owner.project).pk),
        "invitation_id": create_invitation(owner.project, role="viewer", actor=by).invitation.pk,
        "import_id": ImportBatch.objects.create(project_id=owner.project.pk).pk,
        "set_id": make_set(owner.project).pk,
        "webhook_id": (webhook := Webhook.objects.create(project=owner.project, url="https://a.example", events=[])).pk,
        "delivery_id": Delivery.objects.create(project=owner.project, webhook=webhook, type="run.finished").pk,
        "queue_id": make_queue(owner.project, "None", rule={"agent": "nobody's"}).pk,
        "name": "python",
        "data_set": "runs",
        "finished_run_id": (finished := given.finished_run(owner.project)).pk,
        "finished_task_id": finished.task_id,
        "agent_run_id": external_run(project=owner.project).pk,
        "other_entry_id": other.pk,
    }
    add_builtin_tools(owner.project, actor=Actor())
    Secret.objects.create(project=owner.project, name="python", origin="https://a.example:443", ciphertext="x")
    return ids


@dataclass(frozen=True)
class Example:
    """A valid request. A text in braces, also in the path, is that of `things_of`."""

    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    # Calls that bring the thing there. The tokens and ids that they answer with are things, too.
    before: tuple[str, ...] = ()
    # Which thing the path is about, where it is not the one that other calls are about.
    about: Mapping[str, str] = field(default_factory=dict)


ADDRESS = "https://93.184.215.14/x"
LEASE = {"lease_token": "{lease_token}"}
OF_FINISHED = {"run_id": "finished_run_id", "task_id": "finished_task_id"}
OF_AGENT = {"run_id": "agent_run_id"}
CLAIMED, TAKEN = ("POST reviews/claim",), ("POST tasks/claim",)
DECIDED = ("POST reviews/{review_id}/decision",)
ABOUT_REVIEW = {"about": "review", "id": "{review_id}"}
LABEL = "item,model,critic_verdict,person_verdict\na,m,PASS,PASS\n"
# By method and path. A call that is not here is made without a body.
EXAMPLES = {
    "POST attachments": Example(),
    "GET comments": Example(query=ABOUT_REVIEW),
    "POST comments": Example({"text": "x"}, query=ABOUT_REVIEW),
    "PATCH comments/{comment_id}": Example({"text": "y"}),
    "POST comparisons": Example({"name": "Old or new"}),
    "PATCH comparisons/{set_id}": Example({"is_open": False}),
    "POST comparisons/{set_id}/pairs": Example({"pairs": [pair_of(2)]}),
    "POST completeness-checks": Example({"objective": "x", "history": [{"operation": "Read the file"}]}),
    "PATCH completeness-settings": Example({"max_supplements": 3}),
    "GET datasets/{kind}/export": Example(about={"kind": "data_set"}),
    "PUT guidelines": Example({"text": "Be kind."}),
    "POST instructions/{instruction_id}/decision": Example({"decision": "accept"}),
    "POST invitations": Example({"role": "viewer"}),
    "PATCH members/{user_id}": Example({"role": "viewer"}),
    "POST metrics/calibration/labels": Example({"content": LABEL}),
    "GET metrics/runs": Example(query={"figure": "runs"}),
    "POST notebook/bulk": Example({"entries": ["{entry_id}"], "do": "add_tags", "tags": ["y"]}),
    "POST notebook/conflicts/{conflict_id}/settle": Example({"settlement": "keep_both", "reason": "Two services."}),
    "POST notebook/conflicts/{conflict_id}/undo": Example(before=("POST notebook/conflicts/{conflict_id}/settle",)),
    "POST notebook/entries": Example({"kind": "rule", "name": "Write tests"}),
    "PATCH notebook/entries/{entry_id}": Example({"content": "Other words."}),
    "POST notebook/entries/{entry_id}/merge": Example({"into": "{other_entry_id}"}),
    "POST notebook/entries/{entry_id}/owner": Example({"owner": None}),
    "POST notebook/entries/{entry_id}/reject": Example({"reason": "No."}),
    "POST notebook/entries/{entry_id}/reopen": Example(before=("POST notebook/entries/{entry_id}/reject",)),
    "POST notebook/entries/{entry_id}/restore": Example({"version": 1}, before=("PATCH notebook/entries/{entry_id}",)),
    "POST notebook/entries/{entry_id}/retire": Example(
        {"reason": "No longer so."}, before=("POST notebook/entries/{entry_id}/approve",)
    ),
    "POST notebook/entries/{entry_id}/split": Example({"into": {"kind": "rule", "name": "A part"}}),
    "POST notebook/entries/{entry_id}/supersede": Example({"by": "{other_entry_id}"}),
    "POST notebook/entries/{entry_id}/tags": Example({"tags": ["x"]}),
    "POST notebook/entries/{entry_id}/undo": Example(before=("POST notebook/entries/{entry_id}/approve",)),
    "POST notebook/imports": Example({"files": [{"name": "a.jsonl", "content": '{"kind": "rule", "name": "One"}'}]}),
    "POST notebook/outcomes": Example(
        {"for": "a", "succeeded": True}, before=("POST notebook/entries/{entry_id}/approve", "POST notebook/recall")
    ),
    "GET notebook/recall": Example(query={"q": "x"}),
    "POST notebook/recall": Example({"q": "Lesson", "for": "a"}),
    "POST questions/{question_id}/answer": Example({"choice": "skip"}),
    "POST reports/{reflection_id}/class": Example({"type": "3.3.1", "reason": "The fourth time."}),
    "PUT review-policy": Example({"rules": []}),
    "POST review-policy/try": Example({"rules": []}),
    "POST review-queues": Example({"name": "Mine"}),
    "PATCH review-queues/{queue_id}": Example({"name": "Ours"}),
    "PUT review-queues/order": Example({"queues": ["{queue_id}"]}),
    "POST reviews/claim": Example({"review_id": "{review_id}"}),
    "POST reviews/{review_id}/assign": Example({"to": None}),
    "POST reviews/{review_id}/decision": Example(LEASE | {"decision": "approve"}, before=CLAIMED),
    "POST reviews/{review_id}/heartbeat": Example(LEASE, before=CLAIMED),
    "POST reviews/{review_id}/release": Example(LEASE, before=CLAIMED),
    "POST reviews/{review_id}/undo": Example(before=DECIDED),
    "PUT rubric": Example({"criteria": [{"key": "kind", "name": "Kind"}]}),
    "POST runs/{run_id}/attempts": Example({"content": "x"}, about=OF_AGENT),
    "POST runs/{run_id}/fork": Example({"from_step": 1}),
    "POST runs/{run_id}/heartbeat": Example(LEASE, before=TAKEN, about=OF_AGENT),
    "POST runs/{run_id}/redo": Example({"instructions": "Again."}, about=OF_FINISHED),
    "POST runs/{run_id}/release": Example(LEASE, before=TAKEN, about=OF_AGENT),
    "POST runs/{run_id}/reviews": Example({"note": "Is it right?"}, about=OF_FINISHED),
    "GET search": Example(query={"q": "x"}),
    "POST secrets": Example({"name": "TOKEN", "origin": "https://93.184.215.14", "value": "eight-or-more"}),
    "POST tasks": Example({"objective": "x"}),
    "PATCH tasks/{task_id}": Example({"metadata": {"a": 1}}),
    "DELETE tasks/{task_id}": Example(about=OF_FINISHED),
    "POST tasks/batch": Example({"tasks": [{"objective": "x"}]}),
    "POST tickets/{ticket_id}/close": Example({"reason": "Not worth it."}),
    "POST tool-failures": Example({"tool": "x", "error_message": "y"}),
    "POST tool-failures/{failure_id}/outcome": Example({"worked": True}),
    "POST tools": Example({"name": "a_tool", "kind": "http", "config": {"method": "GET", "url": ADDRESS}}),
    "PATCH tools/{name}": Example({"description": "x"}),
    "POST tools/import-mcp": Example({"url": ADDRESS}),
    "POST transcripts": Example({"agent": "a"}),
    "POST transcripts/{transcript_id}/turns": Example({"messages": [{"role": "user", "content": "Hello"}]}),
    "PUT waiting-goals": Example({"review_goal_minutes": 60}),
    "POST webhooks": Example({"url": ADDRESS, "events": ["run.finished"]}),
    "PATCH webhooks/{webhook_id}": Example({"description": "x"}),
}
NOTHING = Example()
BOUNDARY = "a-boundary"
FILE = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nx\r\n--{BOUNDARY}--\r\n'


def ask(
    caller: Caller, operation: str, things: Things, *, body: Any = ..., query: Mapping[str, str] | None = None
) -> Answer:
    """Make the call of this method and path with its example, or with another body or query."""
    method, path = operation.split(" ")
    example = EXAMPLES.get(operation, NOTHING)
    path = re.sub(r"{(\w+)}", lambda named: f"{{{example.about.get(named[1], named[1])}}}", path)
    asked = _filled(dict(example.query if query is None else query), things)
    if operation == "POST attachments":
        kind = f"multipart/form-data; boundary={BOUNDARY}"
        return caller.call(method, path, data=FILE, content_type=kind, query=asked)
    sent = _filled(example.body if body is ... else body, things)
    return caller.call(method, _filled(path, things), data="" if sent is None else json.dumps(sent), query=asked)


def brought_there(owner: Caller, operation: str, things: Things) -> Things:
    """Do what has to come before the call; the things with what was answered."""
    for earlier in EXAMPLES.get(operation, NOTHING).before:
        things = brought_there(owner, earlier, things)
        answer = ask(owner, earlier, things)
        assert answer.status < 300, (earlier, answer.body)
        if "lease_token" in answer.body:
            things = things | {"lease_token": answer.body["lease_token"]}
        if earlier in TAKEN:
            things = things | {"agent_run_id": answer.body["run"]["id"]}
    return things


def _filled(value: Any, things: Things) -> Any:
    if isinstance(value, str):
        return re.sub(r"{(\w+)}", lambda named: str(things[named[1]]), value)
    if isinstance(value, dict):
        return {_filled(name, things): _filled(one, things) for name, one in value.items()}
    return [_filled(one, things) for one in value] if isinstance(value, list) else value
