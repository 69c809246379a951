"""What the socket of a run's page sends: the same templates as the page itself, one fragment at a time."""

from importlib import import_module
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser, User
from django.db import connection, transaction
from django.http import HttpRequest
from django.template.loader import render_to_string

from reflection_app.adapters.live import PartialText
from reflection_app.core.models import Membership
from reflection_app.core.permissions import Permission, member_may
from reflection_app.repairs.views import checks_of
from reflection_app.runs.lesson_use import gets_lessons, told_to
from reflection_app.runs.live import Fragment, Look, Refusal
from reflection_app.runs.models import Run, RunState, Step, StepState
from reflection_app.runs.views.graph import draw
from reflection_app.runs.views.protocol import has_plans, has_protocol, plans_of, rounds_of
from reflection_app.runs.views.story import RunStory, tell
from reflection_app.sessions.views import looking_back_context
from reflection_app.tasks.redo import why_no_redo
from reflection_app.web.access import get_membership_for, must_change_password
from reflection_app.web.page_budget import page_budget


def look_at_run(
    user: User | AnonymousUser, *, session_key: str | None, slug: str, run_id: UUID, after: int
) -> Look | Refusal:
    """What changed in the run after event `after`, as fragments of its page; or why this user may not see it.

    Asked again at every look, so that who logs out or is removed from the project sees nothing more.
    """
    if not isinstance(user, User) or not is_logged_in(user, session_key=session_key):
        return Refusal.NOT_LOGGED_IN
    with transaction.atomic():
        # One moment for all queries: a header must not be newer than the steps below it.
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        membership = get_membership_for(user, slug=slug)
        if membership is None:
            return Refusal.NOT_ALLOWED if after else Refusal.NOT_FOUND
        runs = Run.objects.select_related("task", "project", "best_attempt")
        run = runs.filter(project__slug=slug, pk=run_id).first()
        if run is None:
            return Refusal.NOT_FOUND
        last = Step.objects.filter(run=run).order_by("-seq").only("seq", "state").first()
        return Look(
            seq=run.last_event_seq,
            fragments=fragments_of(tell(run, after=after), membership=membership),
            is_last=run.is_finished,
            last_step=last.seq if last else 0,
            is_writing=last is not None and last.state == StepState.STARTED and run.state == RunState.RUNNING,
            whole=frozenset({"run-attempts"}),
        )


def draw_partial(partial: PartialText) -> str:
    """What a model has written so far, as the page shows it; nothing where there is no text."""
    return render_to_string("runs/_writing.html", {"partial": partial}).strip() if partial.text else ""


def may_hear_reviews(user: User | AnonymousUser, *, session_key: str | None, slug: str) -> UUID | Refusal:
    """The id of the project whose reviews the user may see, or why they may not."""
    if not isinstance(user, User) or not is_logged_in(user, session_key=session_key):
        return Refusal.NOT_LOGGED_IN
    membership = get_membership_for(user, slug=slug)
    return membership.project_id if membership else Refusal.NOT_FOUND


def is_logged_in(user: User, *, session_key: str | None) -> bool:
    """Whether a page that asked now with this session would be the user's: not expired, and of today's password, which
    is one of their own.
    """
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    return get_user(request).pk == user.pk and not must_change_password(request.session)


# The id of each section, what shows that the run has it, and its template.
SECTIONS = (
    ("run-plan", "has_plans", "runs/_plan.html"),
    ("run-told", "told", "runs/_told.html"),
    ("run-completeness", "completeness", "runs/_completeness.html"),
    ("run-protocol", "has_protocol", "runs/_protocol.html"),
)


def sections_of(run: Run) -> dict[str, Any]:
    """Return what the sections of the run's page show, for the page and for its socket."""
    return {
        "told": told_to(run) if gets_lessons(run) else None,
        "has_plans": has_plans(run),
        "plans": plans_of(run),
        "completeness": checks_of(run),
        "has_protocol": has_protocol(run),
        "rounds": rounds_of(run),
        **looking_back_context(run=run),
    }


@page_budget()
def fragments_of(story: RunStory, *, membership: Membership) -> tuple[Fragment, ...]:
    """The header, the steps of the story and all attempts, in the order of the page."""
    common: dict[str, Any] = {"run": story.run, "project": membership.project, "story": story}
    common["may_fork"] = member_may(membership, Permission.HAND_IN)
    # A form needs the token of a request, so the fragment of a run that has ended links to the form instead.
    common["links_to_redo"] = common["may_fork"] and not why_no_redo(story.run)

    def drawn(template: str, **more: Any) -> str:
        return render_to_string(template, common | more).strip()

    # The dearest fragment: drawn again only where a step has ended, since another begins in the same moment. Before the
    # first one ends there would be nothing to see.
    has_news = story.run.is_finished or not story.steps
    has_news = has_news or any(not line.is_running or line.step.seq == 1 for line in story.steps)
    graph = [Fragment("run-graph", drawn("runs/_graph.html", graph=draw(story.run)))] if has_news else []
    sections = sections_of(story.run)
    shown = [Fragment(place, drawn(template, **sections)) for place, name, template in SECTIONS if sections[name]]
    if story.run.is_finished and sections["reflectors"]:
        shown.append(Fragment("reflectors", drawn("sessions/reflectors/_section.html", **sections)))
    return (
        Fragment("run-header", drawn("runs/_header.html")),
        *graph,
        *shown,
        *(Fragment(card.place, drawn("runs/_attempt.html", card=card), "run-attempts") for card in story.attempts),
        *(Fragment(line.place, drawn("runs/_step.html", line=line), "run-steps") for line in story.steps),
    )
