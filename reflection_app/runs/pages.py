"""The pages of runs: the list, one run, forks, questions."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.adapters.live import UNTIL_ITS_PAGE_IS_OPEN_S, mark_watched
from reflection_app.core.errors import ActionError, CannotFork, Conflict, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.loops.questions import Choice
from reflection_app.loops.task_spec import OF_THE_DESK
from reflection_app.loops.verdicts import IssueCategory, Outcome, Severity
from reflection_app.loops.verdicts import Verdict as LoopVerdict
from reflection_app.notebook.views.entry import learned_from_run
from reflection_app.queues.models import ListName
from reflection_app.queues.views.saved import saved_views, understood
from reflection_app.repairs.views import failures_by_place
from reflection_app.reviews.models import About, Review, ReviewState, is_hidden
from reflection_app.reviews.own_work import OwnWorkRefused
from reflection_app.reviews.views.comments import opened_thread
from reflection_app.reviews.views.item import undo_offer
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Question, QuestionState, Run, RunState, Step
from reflection_app.runs.permissions import permissions_of
from reflection_app.runs.resuming import AnswerInput, answer_question, cancel_run
from reflection_app.runs.views.forks import ForkForm, as_input, compare, prefilled, read_fork
from reflection_app.runs.views.graph import draw
from reflection_app.runs.views.list import (
    DESK_MODES,
    MODES,
    SORTS,
    behind_figure,
    filtered,
    read_run_filters,
    runs_for_list,
)
from reflection_app.runs.views.live import sections_of
from reflection_app.runs.views.steps import StepLine
from reflection_app.runs.views.story import RunStory, lineage_of, tell
from reflection_app.sessions.views import looked_back_at
from reflection_app.tasks.redo import redo_form_of, why_no_redo
from reflection_app.tasks.views import models_in_form
from reflection_app.web.access import DeskRequest, Place, back_to, get_run_for, get_step_for, project_page
from reflection_app.web.forms import read_input, read_text
from reflection_app.web.list_pages import (
    NEWEST,
    Filters,
    list_page,
    names_in,
)
from reflection_app.web.middleware import post_only

# The list of runs: filtered and searched by its address alone, page by page from the newest.


LOOKED_AT = 500
MORE = ("agent", "kind", "since", "until", "score_from", "score_below")
HEADS: dict[str, Promise] = {
    "score": gettext_lazy("Score"),
    "attempts": gettext_lazy("Attempts"),
    "cost": gettext_lazy("Cost"),
    "duration": gettext_lazy("Duration"),
    "created": gettext_lazy("Started"),
}
STATES = (RunState.QUEUED, RunState.RUNNING, RunState.WAITING_REVIEW, RunState.WAITING_AGENT)


@dataclass(frozen=True)
class Head:
    """The head of a column that sorts, the greatest or newest first and at a second press the other way."""

    name: str
    label: str | Promise
    query: str
    mark: str


def heads_of(filters: Filters) -> dict[str, Head]:
    """By the column's name; the filters stay."""
    given, chosen = filters.given, filters["sort"] or "-created"
    heads = {}
    for name, label in HEADS.items():
        is_down, is_up = chosen == f"-{name}", chosen == name
        sort = name if is_down else f"-{name}"
        query = urlencode({**given, "sort": sort} if sort != "-created" else {**given, "sort": ""})
        heads[name] = Head(name, label, query, "descending" if is_down else "ascending" if is_up else "")
    return heads


@project_page()
@require_safe
def run_list(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    behind = behind_figure(request)
    filters = read_run_filters(request.GET)
    order = SORTS.get(filters["sort"], NEWEST)
    runs = among = runs_for_list(project, by_score=order[0].endswith("sort_score"))
    # The choice of the metrics has a mode of its own; it is part of what is behind the figure.
    runs = runs.filter(pk__in=behind.runs.values("pk")) if behind else filtered(project, runs, filters)
    # What the newest runs have is suggested: to look through all of them takes long.
    newest = Run.objects.filter(project=project).order_by("-created_at", "-id").values("pk")[:LOOKED_AT]
    of_project = Run.objects.filter(pk__in=newest)
    return list_page(
        request,
        "runs/list.html",
        runs,
        called="runs",
        among=among,
        filters=behind or filters,
        behind=behind,
        states=STATES,
        outcomes=list(Outcome),
        modes=(*MODES, *DESK_MODES),
        order=order,
        heads=heads_of(filters),
        agents=names_in(of_project, "task__agent"),
        kinds=names_in(of_project, "task__kind"),
        has_more=any(filters[name] for name in MORE),
        saved=None if behind else saved_views(request, ListName.RUNS, understood(ListName.RUNS, filters.query)),
    )


# Forking a run in the browser.


@project_page(Permission.HAND_IN)
@require_http_methods(["GET", "HEAD", "POST"])
def fork_page(request: DeskRequest, run_id: UUID) -> HttpResponse:
    """The form for the step named by `?step=`; the POST forks, or brings the form back with all that was typed."""
    run = get_run_for(request.place, run_id)
    typed = request.GET.get("step", "1")
    if not typed.isascii() or not typed.isdigit() or len(typed) > 6:
        raise Http404("no such step")
    from_step = int(typed)
    step = Step.objects.filter(run=run, seq=from_step).first()
    # The one after the last can be named as well.
    if step is None and from_step != Step.objects.filter(run=run).count() + 1:
        raise Http404("no such step")
    if request.method != "POST":
        return _show(request, prefilled(run, step, from_step=from_step))
    form = read_fork(request.POST, run, step, from_step=from_step)
    asked = as_input(form)
    if form.errors:
        return _show(request, form)
    try:
        with form.collect_errors():
            fork = fork_run(run, ForkInput.model_validate(asked), actor=request.place.actor)
            mark_watched(fork.pk, for_s=UNTIL_ITS_PAGE_IS_OPEN_S)
            if fork.forked_from_step == from_step:
                message = _("Forked from step %(forked_from_step)s.") % {"forked_from_step": from_step}
                return back_to(request, "run", fork.pk, message=message)
            why_not_there = fork.fork_note.rpartition("\n\n")[2]
            return back_to(request, "run", fork.pk, message=why_not_there, level=messages.WARNING)
    except CannotFork as error:
        form.add_error("", str(error))
        return _show(request, form, status=error.status)
    return _show(request, form)


def _show(request: DeskRequest, form: ForkForm, *, status: int | None = None) -> HttpResponse:
    context = {
        "run": form.run,
        "project": request.place.project,
        "form": form,
        "fields": form.fields,
        "change": form.values["change"],
        "line": StepLine(form.step) if form.step else None,
        "limits": form.run.get_spec().limits,
        **models_in_form(request.place.project, form),
        "verdict_names": list(LoopVerdict),
        "severities": list(Severity),
        "categories": list(IssueCategory),
    }
    return render(request, "runs/forks/form.html", context, status=status or form.status)


# The page that shows a fork beside its parent.


@project_page()
@require_safe
def compare_page(request: DeskRequest, run_id: UUID) -> HttpResponse:
    """Both runs; a run that is no fork has only its own page."""
    fork = get_run_for(request.place, run_id)
    if fork.parent_id is None:
        return back_to(request, "run", fork.pk)
    parent = get_run_for(request.place, fork.parent_id)
    context = {"run": fork, "project": request.place.project, "comparison": compare(fork, parent=parent)}
    return render(request, "runs/forks/compare.html", context)


# Taking the last decision on a run back from the run's own page.


def undo_on_run(request: DeskRequest, story: RunStory) -> Review | None:
    """The last decision on the run, where the user can take it back now."""
    reviews = (review for card in story.attempts for review in card.reviews)
    decided = (review for review in reviews if review.state == ReviewState.DECIDED)
    last = max(decided, key=lambda review: review.decided_at or review.created_at, default=None)
    if last is None or is_hidden(last, reader=request.place.actor):
        return None
    last.run = story.run
    offer = undo_offer(request, last)
    return last if offer and not offer.why_not else None


# The pages of one run: its story, one step in full, and cancelling.


@project_page()
@require_safe
def run_page(request: DeskRequest, run_id: UUID) -> HttpResponse:
    run = get_run_for(request.place, run_id)
    story, may_redo = tell(run), request.place.may(Permission.REVIEW) and not why_no_redo(run)
    attempts = [card.attempt for card in story.attempts]
    verdicts = [verdict for card in story.attempts for verdict in card.verdicts]
    context = {
        "run": run,
        "project": request.place.project,
        "story": story,
        "permissions": permissions_of(run),
        "redo": redo_form_of(attempts) if may_redo else None,
        "graph": draw(run),
        "learned": learned_from_run(run, attempts, verdicts),
        "undo": undo_on_run(request, story),
        "may_cancel": request.place.may(Permission.HAND_IN),
        "may_fork": request.place.may(Permission.HAND_IN),
        "lineage": lineage_of(run),
        "thread": opened_thread(request, About.RUN, run.pk),
        "looks_back": looked_back_at(run) if run.mode in OF_THE_DESK else None,
        **sections_of(run),
    }
    return render(request, "runs/page.html", context)


@project_page()
@require_safe
def step_page(request: DeskRequest, run_id: UUID, seq: int) -> HttpResponse:
    step = get_step_for(request.place, run_id, seq)
    context = {
        "run": step.run,
        "project": request.place.project,
        "line": StepLine(step, failure=failures_by_place(step.run).get(step.key)),
        "in_full": True,
        "may_fork": request.place.may(Permission.HAND_IN),
    }
    return render(request, "runs/step.html", context)


@project_page(Permission.HAND_IN)
@require_http_methods(["GET", "HEAD", "POST"])
def cancel(request: DeskRequest, run_id: UUID) -> HttpResponse:
    """Asks first; the POST cancels."""
    run = get_run_for(request.place, run_id)
    if request.method == "POST":
        cancel_run(run, actor=request.place.actor)
        return back_to(request, "run", run.pk, message=_("The run was cancelled."))
    if not run.is_finished:
        return render(request, "runs/cancel.html", {"run": run})
    return back_to(request, "run", run.pk)


# A question that a run put to a person, and the form that answers it.

# What each choice does, on its button.
BUTTONS = {
    Choice.ANSWER: gettext_noop("Send answer"),
    Choice.TRY_AGAIN: gettext_noop("Retry (now allowed)"),
    Choice.SKIP: gettext_noop("Continue without it"),
    Choice.GIVE_UP: gettext_noop("Give up"),
    Choice.ALLOW: gettext_noop("Allow call"),
    Choice.REFUSE: gettext_noop("Deny"),
}


def get_question_for(place: Place, question_id: UUID) -> Question:
    """The project's question with its run. Raises Http404."""
    questions = Question.objects.select_related("step", "run__task", "answered_by")
    return get_object_or_404(questions, project=place.project, pk=question_id)


@project_page(Permission.READ_QUEUE)
@require_safe
def question_page(request: DeskRequest, question_id: UUID) -> HttpResponse:
    return _show_question(request, get_question_for(request.place, question_id))


@project_page(Permission.REVIEW)
@post_only(page="question")
def answer(request: DeskRequest, question_id: UUID) -> HttpResponse:
    """Answers, and shows the run go on; where that is refused, the page comes back with all that was typed."""
    question = get_question_for(request.place, question_id)
    typed = {"choice": request.POST.get("choice", ""), "text": read_text(request, "text")}
    try:
        answered = read_input(AnswerInput, typed, refusal=_("Nothing was sent."))
        answer_question(question, answered, actor=request.place.actor)
    except (InvalidInput, Conflict, OwnWorkRefused) as problem:
        return _show_question(request, question, text=typed["text"], problem=problem)
    return back_to(request, "run", question.run_id, message=_("Answer sent. The run continues with it."))


def _show_question(
    request: DeskRequest, question: Question, *, text: str = "", problem: ActionError | None = None
) -> HttpResponse:
    offered = [Choice(choice) for choice in question.choices]
    context: dict[str, Any] = {
        "question": question,
        "run": question.run,
        "is_open": question.state == QuestionState.OPEN,
        "takes_words": Choice.ANSWER in offered,
        "buttons": [(choice.value, _(BUTTONS[choice])) for choice in offered],
        "text": text,
        "problem": problem,
        "errors": problem.errors if isinstance(problem, InvalidInput) else [],
    }
    return render(request, "runs/questions/page.html", context, status=problem.status if problem else 200)
