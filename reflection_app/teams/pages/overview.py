"""The overview: what needs a person, what is under way, and how the last week went."""

from datetime import timedelta
from typing import cast

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Exists
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from reflection_app.core.models import ApiKey, Membership, Project, Role
from reflection_app.core.permissions import Permission
from reflection_app.metrics.definitions import Chosen
from reflection_app.metrics.figures import headline_of
from reflection_app.metrics.views.choice import Links
from reflection_app.metrics.views.words import Shown, shown_figures
from reflection_app.repairs.models import AgentInstruction, InstructionState
from reflection_app.reviews.goals import overdue_questions, overdue_reviews
from reflection_app.reviews.models import OPEN, Review
from reflection_app.reviews.queue import for_person
from reflection_app.reviews.views.counting import CountUpTo
from reflection_app.runs.models import NOT_OF_THE_DESK, Question, QuestionState, Run, RunState
from reflection_app.runs.views.list import runs_for_list
from reflection_app.teams.demo.loading import demo_there
from reflection_app.teams.projects import may_create_projects
from reflection_app.web.access import DeskRequest, project_page

SHOWN = 6
OF_REVIEW = (
    *("project", "state", "reason", "created_at", "holder_label", "lease_until", "holder", "queue__goal_minutes"),
    *("run__task__objective", "verdict__verdict", "verdict__referee"),
)
WEEK = timedelta(days=7)
FIGURES_SHOWN = (
    "success_rate_with_reflection",
    "improvement_rate",
    "avg_latency_per_iteration_ms",
    "cost_usd_per_success",
)


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the user's first project, or show what to do without one.

    Its admins are led to Get started until it has begun.
    """
    project = Project.objects.of(request.user).first()
    if project is None:
        may_load = may_create_projects(cast("User", request.user)) and demo_there() is None
        return render(request, "teams/no_project.html", {"may_load_demo": may_load})
    is_admin = project.memberships.filter(user=request.user.pk, role=Role.ADMIN).exists()
    return redirect("get_started" if is_admin and not has_begun(project) else "project_overview", slug=project.slug)


@project_page()
@require_safe
def project_overview(request: DeskRequest) -> HttpResponse:
    project, now = request.place.project, timezone.now()
    runs = runs_for_list(project).filter(NOT_OF_THE_DESK)
    reviews = Review.objects.filter(project=project, state__in=OPEN).select_related("run__task", "verdict", "queue")
    if request.place.may(Permission.REVIEW):
        reviews = reviews.filter(for_person(request.place.actor, project=project, now=now))
    questions = Question.objects.filter(project=project, state=QuestionState.OPEN).select_related("run__task")
    proposed = AgentInstruction.objects.filter(project=project, state=InstructionState.PROPOSED)
    of_agents = Run.objects.filter(NOT_OF_THE_DESK, project=project)
    facts = {
        "has_runs": Exists(of_agents),
        "has_real_runs": Exists(of_agents.filter(is_scripted=False)),
        "proposed": CountUpTo(proposed, most=None),
        "overdue_reviews": CountUpTo(overdue_reviews(project, now=now), most=None),
        "overdue_questions": CountUpTo(overdue_questions(project, now=now), most=None),
    }
    found = Project.objects.filter(pk=project.pk).annotate(**facts).values(*facts).get()
    # Found by themselves: of very many runs the database would else bring together all that the list shows.
    ended = of_agents.filter(state=RunState.FINISHED).order_by("-finished_at", "-id")
    ended_last = list(ended.values_list("pk", flat=True)[:SHOWN])
    is_scripted = not found["has_real_runs"]
    context = {
        "questions": questions.defer("run__spec", "run__task__tests").order_by("created_at", "id")[:SHOWN],
        "now": now,
        "overdue": found["overdue_reviews"] + found["overdue_questions"],
        "instructions_proposed": found["proposed"],
        "reviews": reviews.only(*OF_REVIEW).order_by("-holds_run", "created_at", "id")[:SHOWN],
        # What waits for a person stands above already.
        "in_progress": runs.exclude(state__in=[RunState.FINISHED, RunState.WAITING_REVIEW])[:SHOWN],
        "recent": runs.filter(pk__in=ended_last).order_by("-finished_at", "-id"),
        "is_new": not found["has_runs"],
        "is_scripted": is_scripted,
        "figures": figures_of_week(project, is_scripted=is_scripted),
        "has_begun": has_begun(project),
    }
    return render(request, "teams/overview.html", context)


def has_begun(project: Project) -> bool:
    """Return True if anyone submitted a task, created a key or decided a review. What the demo came with is ignored."""
    if project.is_demo:
        has_tasks = Exists(project.tasks.filter(created_by__isnull=False))
    else:
        has_tasks = Exists(Run.objects.filter(NOT_OF_THE_DESK, project=project, is_scripted=False))
    people = Membership.objects.filter(project=project, user__is_active=True).values("user")
    has_key = Exists(ApiKey.objects.filter(project=project))
    has_decision = Exists(Review.objects.filter(project=project, decided_by__in=people))
    return Project.objects.filter(has_tasks | has_key | has_decision, pk=project.pk).exists()


def figures_of_week(project: Project, *, is_scripted: bool) -> list[Shown]:
    """What the metrics say first of the last seven days, with the change against those before; none without runs."""
    until = timezone.now().date()
    chosen = Chosen(since=until - WEEK + timedelta(days=1), until=until, scripted=is_scripted)
    figures, before = headline_of(project.pk, chosen)
    if not figures["runs"].value:
        return []
    return shown_figures(FIGURES_SHOWN, figures, before, Links(project.slug, chosen).runs)
