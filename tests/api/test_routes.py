"""What holds for every route, whichever it is: walks over all of them."""

import json
from collections.abc import Mapping
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.urls import URLPattern
from django.urls.resolvers import RoutePattern

from notebook_app.models import Conflict, ImportBatch
from reflection_app.api.permissions import permission_for
from reflection_app.api.urls import urlpatterns
from reflection_app.api.view import DeskView
from reflection_app.attachments.keeping import upload
from reflection_app.core.audit import Actor
from reflection_app.core.models import Scope
from reflection_app.core.permissions import GRANTS, Grant, Permission
from reflection_app.notebook.bulk import BulkCuration, BulkDeed, curate_together
from reflection_app.repairs.models import AgentInstruction
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.models import About
from reflection_app.sessions.recording import TranscriptSubmission, open_transcript
from reflection_app.teams.members import create_invitation
from reflection_app.teams.models import Delivery, Secret, Webhook
from reflection_app.teams.tools import add_builtin_tools
from tests.api.caller import Caller, assert_problem, make_caller
from tests.api.stories import waiting_review
from tests.comparisons.pairs import make_set, pair_of
from tests.factories import make_member
from tests.notebook.entries import make_entry
from tests.queues.queues import make_queue
from tests.repairs.completeness import completeness_check
from tests.repairs.reports import begun_run, kept_report
from tests.repairs.tickets import external_run, ticket_of
from tests.repairs.tool_failures import report
from tests.runs.questions import waiting_question

pytestmark = pytest.mark.django_db


def view_of(pattern: URLPattern) -> type[DeskView] | None:
    view = getattr(pattern.callback, "view_class", None) or getattr(pattern.callback, "cls", None)
    return view if isinstance(view, type) and issubclass(view, DeskView) else None


ROUTES = [
    (method, str(pattern.pattern), view)
    for pattern in urlpatterns
    if isinstance(pattern.pattern, RoutePattern) and (view := view_of(pattern))
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
    if hasattr(view, method.lower())
]
WITH_IDS = [(method, route) for method, route, _ in ROUTES if "<" in route]
# The name of a data set is every project's: each gets its own rows by it.
OF_ONE_PROJECT = [(method, route) for method, route in WITH_IDS if "<slug:kind>" not in route]
ID_NAMES = (
    "task_id",
    "run_id",
    "review_id",
    "transcript_id",
    "span_id",
    "question_id",
    "attachment_id",
    "failure_id",
    "check_id",
    "ticket_id",
    "reflection_id",
    "instruction_id",
    "comment_id",
    "entry_id",
    "entry_bulk_id",
    "conflict_id",
    "import_id",
    "judgements_id",
    "set_id",
    "user_id",
    "invitation_id",
    "webhook_id",
    "delivery_id",
    "queue_id",
    "name",
    "kind",
)
OTHER_ENTRY = uuid4()
BODIES = {
    "fork": {"from_step": 1},
    "redo": {"instructions": "Again."},
    "close": {"reason": "Not worth it."},
    "heartbeat": {"lease_token": str(uuid4())},
    "answer": {"choice": "skip"},
    "decision": {"lease_token": str(uuid4()), "decision": "approve"},
    "instructions/decision": {"decision": "accept"},
    "class": {"type": "3.3.1", "reason": "The fourth time."},
    "assign": {"to": None},
    "PATCH members": {"role": "viewer"},
    "PATCH comparisons": {"is_open": False},
    "pairs": {"pairs": [pair_of()]},
    "PATCH comments": {"text": "x"},
    "PATCH notebook": {"content": "Other words."},
    "retire": {"reason": "No longer so."},
    "restore": {"version": 1},
    "tags": {"tags": ["x"]},
    "owner": {"owner": None},
    "merge": {"into": str(OTHER_ENTRY)},
    "settle": {"settlement": "keep_both", "reason": "Two services."},
    "supersede": {"by": str(OTHER_ENTRY)},
    "split": {"into": {"kind": "rule", "name": "A part"}},
    "release": {"lease_token": str(uuid4())},
    "attempts": {"content": "x"},
    "runs/reviews": {"note": "Is it right?"},
    "outcome": {"worked": True},
    "turns": {"messages": [{"role": "user", "content": "Hello"}]},
}


def path_of(route: str, ids: Mapping[str, UUID | str]) -> str:
    for name, value in ids.items():
        route = route.replace(f"<uuid:{name}>", str(value)).replace(f"<slug:{name}>", str(value))
    assert "<" not in route
    return route


def call(caller: Caller, method: str, path: str) -> int:
    parts = path.split("/")
    body = BODIES.get(f"{parts[0]}/{parts[-1]}", BODIES.get(parts[-1], BODIES.get(f"{method} {parts[0]}")))
    data = "" if method == "GET" or body is None else json.dumps(body)
    answer = caller.call(method, path, data=data)
    if answer.status >= 400:
        assert_problem(answer, answer.status)
    return answer.status


def things_of(owner: Caller) -> dict[str, UUID | str]:
    """The ids of things that the caller's project really has, by the names that routes give them."""
    review = waiting_review(owner.project)
    said, by = CommentInput(text="x"), Actor(api_key=owner.key)
    comment = add_comment(owner.project, About.REVIEW, review.pk, said, actor=by)
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
            BulkCuration(entries=(make_entry(owner.project, pk=OTHER_ENTRY).pk,), do=BulkDeed.ADD_TAGS, tags=("x",)),
            actor=by,
        ).id,
        "conflict_id": Conflict.objects.create(
            project_id=owner.project.pk,
            first=(pair := sorted((make_entry(owner.project) for _ in range(2)), key=lambda row: row.pk))[0],
            second=pair[1],
            kind="duplicate",
            text_likeness=1,
        ).pk,
        "user_id": str(make_member(owner.project).pk),
        "invitation_id": create_invitation(owner.project, role="viewer", actor=by).invitation.pk,
        "import_id": ImportBatch.objects.create(project_id=owner.project.pk).pk,
        "set_id": make_set(owner.project).pk,
        "webhook_id": (webhook := Webhook.objects.create(project=owner.project, url="https://a.example", events=[])).pk,
        "delivery_id": Delivery.objects.create(project=owner.project, webhook=webhook, type="run.finished").pk,
        "queue_id": make_queue(owner.project, "None", rule={"agent": "nobody's"}).pk,
        "name": "python",
    }
    add_builtin_tools(owner.project, actor=Actor())
    Secret.objects.create(project=owner.project, name="python", origin="https://a.example:443", ciphertext="x")
    return ids


def test_there_are_routes_to_walk() -> None:
    assert len(ROUTES) >= 15
    assert len(WITH_IDS) >= 9


@pytest.mark.django_db(transaction=True)
def test_no_route_finds_the_ids_of_another_project() -> None:
    owner, stranger = make_caller(scopes=[Scope.ADMIN]), make_caller(scopes=[Scope.ADMIN])
    things = things_of(owner)
    found, missed = dict[str, int](), dict[str, int]()
    for method, route in OF_ONE_PROJECT:
        path = path_of(route, things)
        found[f"{method} {path}"] = call(stranger, method, path)
        # What changes something would take it from the next.
        with transaction.atomic():
            missed[f"{method} {path}"] = call(owner, method, path)
            transaction.set_rollback(True)
    assert {path: status for path, status in found.items() if status != 404} == {}
    assert {path: status for path, status in missed.items() if status not in {200, 201, 202, 204, 409}} == {}


@pytest.mark.parametrize(("method", "route"), WITH_IDS)
def test_an_id_that_nothing_has_is_not_found(caller: Caller, method: str, route: str) -> None:
    path = path_of(route, dict.fromkeys(ID_NAMES, uuid4()))
    assert call(make_caller(caller.project, [Scope.ADMIN]), method, path) == 404


@pytest.mark.parametrize(("method", "route"), WITH_IDS)
def test_an_id_that_is_none_is_not_found(caller: Caller, method: str, route: str) -> None:
    path = route.split("<", 1)[0] + "not-an-id" + route.split(">", 1)[1]
    assert call(make_caller(caller.project, [Scope.ADMIN]), method, path) == 404


@pytest.mark.parametrize(("method", "route", "view"), ROUTES)
def test_every_route_declares_what_it_needs(method: str, route: str, view: type[DeskView]) -> None:
    permission = permission_for(view, method)
    assert permission is not None, f"{method} {route} declares nothing"
    assert GRANTS[permission].scopes, f"{method} {route} is for no key"


@pytest.mark.exhaustive("every call with every scope")
@pytest.mark.parametrize("scope", Scope)
def test_a_key_gets_as_far_as_the_matrix_says(scope: Scope) -> None:
    caller, wrong = make_caller(scopes=[scope]), dict[str, int]()
    for method, route, view in ROUTES:
        grants = [grant_of(view, method)]
        is_enough = scope is Scope.ADMIN or all(
            scope in grant.scopes and (len(grant.scopes) == 1 or not grant.together) for grant in grants
        )
        status = call(caller, method, path_of(route, dict.fromkeys(ID_NAMES, uuid4())))
        if (status != 403) is not is_enough or status in {401, 405}:
            wrong[f"{method} {route}"] = status
    assert wrong == {}


def test_two_scopes_that_are_needed_together_are_enough_together() -> None:
    together = [(method, route, grant_of(view, method)) for method, route, view in ROUTES]
    for method, route, grant in [one for one in together if one[2].together]:
        caller = make_caller(scopes=grant.scopes)
        assert call(caller, method, path_of(route, dict.fromkeys(ID_NAMES, uuid4()))) != 403, f"{method} {route}"


def test_a_key_that_there_is_not_opens_no_route(caller: Caller) -> None:
    nobody = Caller(caller.project, caller.key, "rd_wrong")
    for method, route, _ in ROUTES:
        assert call(nobody, method, path_of(route, dict.fromkeys(ID_NAMES, uuid4()))) == 401, f"{method} {route}"


def grant_of(view: type[DeskView], method: str) -> Grant:
    return GRANTS[permission_for(view, method) or Permission.DELETE_DATA]


@pytest.mark.parametrize(("method", "route", "view"), ROUTES)
def test_an_unknown_query_parameter_is_refused(caller: Caller, method: str, route: str, view: type[DeskView]) -> None:
    caller = make_caller(caller.project, [Scope.ADMIN])
    path = path_of(route, dict.fromkeys(ID_NAMES, uuid4()))
    name = "project__memberships__user__password__startswith"
    answer = caller.call(method, path, query={name: "pbkdf2"})
    assert_problem(answer, 400)
    assert answer.body["errors"][0]["field"] == name


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "POST"])
def test_a_method_that_a_path_does_not_know_is_refused(caller: Caller, method: str) -> None:
    answer = caller.call(method, "runs")
    assert_problem(answer, 405)
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}


@pytest.mark.parametrize(
    "path", ["", "nothing", "tasks/", "tasks/1/2/3", "../v1/none", "runs/%00", "tasks%0A", "a%0Ab"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_path_is_a_problem_too(caller: Caller, path: str, method: str) -> None:
    assert_problem(caller.call(method, path), 404)


def test_no_answer_is_kept_by_caches(caller: Caller) -> None:
    assert caller.get("tasks").headers["cache-control"] == "no-store"
