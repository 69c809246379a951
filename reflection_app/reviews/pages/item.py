"""One review: what was attempted, what the critic said of it, and the form to decide with."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe
from pydantic import ValidationError

from reflection_app.core.errors import (
    ActionError,
    AlreadyDecided,
    AskedAlready,
    Conflict,
    InvalidInput,
    ReviewLeaseLost,
)
from reflection_app.core.ids import id_from
from reflection_app.core.permissions import Permission
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.task_spec import MOST_REVIEWERS
from reflection_app.loops.verdicts import IssueCategory, Severity
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.notebook.views.entry import learned_from_review
from reflection_app.queues.eligibility import NotYourQueue, reviewers_of
from reflection_app.reviews.asking import AskInput, ask_for_review
from reflection_app.reviews.assigning import AssignInput, assign_review
from reflection_app.reviews.claiming import claim_review, hold_end, keep_review, likely_next, release_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import About, Review
from reflection_app.reviews.own_work import OwnWorkRefused, allows_own_work, is_own, nobody_else_may, why_refused
from reflection_app.reviews.pages.moving import (
    NONE,
    address_of_item,
    address_of_next,
    address_of_view,
    claim_order,
    claimable,
    held_by,
    lease_token_in,
    next_for,
)
from reflection_app.reviews.views.comments import opened_thread, thread_of
from reflection_app.reviews.views.decision import (
    EDIT,
    DecisionForm,
    LastDecision,
    agrees_but_changed,
    as_input,
    assigning_of,
    begun_by_anybody,
    begun_by_majority,
    editing_of,
    holds_more,
    prefilled,
    read_decision,
    wrong_field,
)
from reflection_app.reviews.views.item import panel_of, review_context, undo_offer
from reflection_app.reviews.views.queue import carried
from reflection_app.rubrics.views import beside_item, rating_fields
from reflection_app.runs.models import Run
from reflection_app.web.access import DeskRequest, back_to, get_review_for, get_run_for, lead_to, project_page
from reflection_app.web.forms import Form, problems_of, read_form, read_input, read_text
from reflection_app.web.middleware import post_only

# The header with which an open page asks: which item it has fetched ahead, and in which version.
PEEKED = "X-Review-Peeked"


@project_page(Permission.READ_QUEUE)
@require_safe
def review_page(request: DeskRequest, review_id: UUID) -> HttpResponse:
    review = get_review_for(request.place, review_id)
    return show(request, review, form=prefilled(review))


def show(
    request: DeskRequest,
    review: Review,
    *,
    form: DecisionForm,
    problem: ActionError | None = None,
    status: int = 200,
    is_ahead: bool = False,
) -> HttpResponse:
    """The review's page with `form` as it was typed, and what went wrong; for a page that is open, only its item.

    `is_ahead` shows it as whoever claims it next will see it: the open page fetches it before it is claimed.
    """
    is_mine = is_ahead or holds(request, review)
    panel = panel_of(review, reader=request.place.actor)
    if not form.is_typed and review.holder_label != request.place.actor.label:
        # The holder's token, and an opinion that they took back, are for nobody else.
        form = begun_by_anybody(review)
    context: dict[str, Any] = {
        "form": begun_by_majority(form, review) if is_mine and problem is None else form,
        "problem": problem,
        "wrong": wrong_field(problem),
        "kept": problem is not None and form.is_typed and holds_more(form, review),
        "is_mine": is_mine,
        "is_ahead": is_ahead,
        "panel": panel,
        "learned": learned_from_review(review),
        "version": version_of(review),
        "within": carried(request).within,
        "view": address_of_view(request),
        "held_by_other": review.is_held and review.holder_id != request.user.pk,
        "verdict_names": list(VerdictName),
        "categories": list(IssueCategory),
        "severities": list(Severity),
        "may_review": request.place.may(Permission.REVIEW),
        "own_work": None if is_ahead else own_work_of(request, review),
        "undo": undo_offer(request, review),
        "assigning": assigning_of(request, review),
        **beside_item(review),
        "editing": editing_of(review, form, is_mine=is_mine),
        # What is fetched ahead is not read by that.
        "thread": (thread_of if is_ahead else opened_thread)(request, About.REVIEW, review.pk),
    }
    context |= review_context(review, asked=request.GET.dict(), panel=panel)
    shown: DecisionForm = context["form"]
    context["rating_fields"] = rating_fields(review, typed=shown.ratings, errors=shown.errors)
    page = "reviews/pick.html" if review.is_pick else "reviews/page.html"
    return render(request, f"{page}#item" if wants_item(request) else page, context, status=status)


def own_work_of(request: DeskRequest, review: Review) -> dict[str, Any] | None:
    """Why the reader may not decide on work of their own, and what can be done about it.

    None where it is not theirs, or the project allows it.
    """
    actor = request.place.actor
    if not review.is_open or not is_own(review.handed_in_by, actor=actor):
        return None
    if allows_own_work(review.project_id, actor=actor):
        return None
    may_allow_it = request.place.may(Permission.CHANGE_SETTINGS)
    return {"why": why_refused(actor), "nobody_else_may": nobody_else_may(review), "may_allow_it": may_allow_it}


def wants_item(request: DeskRequest) -> bool:
    """Whether an open page asks, which puts the item into the place of the one that it shows."""
    return PEEKED in request.headers


def version_of(review: Review) -> str:
    """Changes when what the item's page tells of its run, and of whom it is kept for, has changed."""
    return f"{review.run.last_event_seq}-{review.assignee_id or 0}-{len(review.note)}"


def holds(request: DeskRequest, review: Review) -> bool:
    """Whether the user may decide the review now."""
    return review.is_held and review.holder_id == request.user.pk


# Holding a review in the browser: claiming it, keeping it while its page is open, giving it back.


@project_page(Permission.REVIEW)
@post_only(page="review")
def claim(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Claims the review. What was typed before a lost lease comes along and is shown again."""
    review = get_review_for(request.place, review_id)
    # Only the form of a decision has a token; it was typed into before the lease was lost.
    was_typed = "lease_token" in request.POST
    form = read_decision(request.POST, review) if was_typed else prefilled(review)
    try:
        claim_review(review, actor=request.place.actor)
    except (Conflict, OwnWorkRefused, NotYourQueue) as problem:
        now_is = get_review_for(request.place, review_id)
        return show(request, now_is, form=form, problem=problem, status=problem.status)
    if was_typed:
        review = get_review_for(request.place, review_id)
        return show(request, review, form=replace(form, lease_token=str(review.lease_token)))
    return redirect(address_of_item(request, review.pk))


@project_page(Permission.REVIEW)
@post_only(page="review")
def release(request: DeskRequest, review_id: UUID) -> HttpResponse:
    review = get_review_for(request.place, review_id)
    token = lease_token_in(request)
    if token is None:
        return redirect(address_of_view(request))
    release_review(review, lease_token=token, actor=request.place.actor)
    return lead_to(request, address_of_view(request), message=_("Released to the queue."), level=messages.INFO)


@project_page(Permission.REVIEW)
@post_only(page="review")
def heartbeat(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Keeps the hold while the page is in use; the fragment says until when, or that it is lost.

    A page that only heard of a change asks to `look`, which moves nothing.
    """
    review = get_review_for(request.place, review_id)
    token = lease_token_in(request)
    context: dict[str, Any] = {"review": review, "token": token}
    try:
        if token is not None:
            keeping = hold_end if "look" in request.POST else keep_review
            review.lease_until = keeping(review, lease_token=token)
    except Conflict as problem:
        context["problem"] = problem
        context["is_closed"] = isinstance(problem, AlreadyDecided)
    return render(request, "reviews/_lease.html", context)


# Going on without a new page: an open page fetches the likely next item, and the answer to a decision claims it.


@project_page(Permission.REVIEW)
@require_safe
def peek(request: DeskRequest) -> HttpResponse:
    """The item that likely comes after `besides`, as its holder will see it; 204 where none does. Claims nothing."""
    if not wants_item(request):
        return back_to(request, "reviews")
    asked, besides = carried(request).filter, id_from(request.GET.get("besides", "")) or NONE
    among, order = claimable(request, asked), claim_order(asked)
    likely = held_by(request, among=among, besides=besides) or likely_next(
        request.place.project,
        actor=request.place.actor,
        besides=besides,
        among=among,
        order=order,
        queue=asked.queue,
    )
    if likely is None:
        return HttpResponse(status=204)
    review = get_review_for(request.place, likely.pk)
    return show(request, review, form=prefilled(review), is_ahead=True)


def go_on(request: DeskRequest) -> HttpResponse:
    """Claims the next and opens it; an open page is told what it needs to put the item into the place of its own."""
    review = next_for(request)
    address = address_of_next(request, review)
    if not wants_item(request):
        return redirect(address)
    if review is None:
        return JsonResponse({"review": None, "address": address})
    # A person waits for this answer: of what the page has fetched ahead, no more is read than whether it is the same.
    review.project, review.run = request.place.project, Run.objects.only("last_event_seq").get(pk=review.run_id)
    item = None
    if request.headers[PEEKED] != f"{review.pk} {version_of(review)}":
        next_review = get_review_for(request.place, review.pk)
        item = show(request, next_review, form=prefilled(next_review)).text
    lease = {"review": review, "token": review.lease_token}
    return JsonResponse(
        {
            "review": str(review.pk),
            "address": address,
            "lease_token": str(review.lease_token),
            "lease": render_to_string("reviews/_lease.html", lease, request),
            "item": item,
            "said": render_to_string("_toasts.html", request=request),
            "last": render_to_string("reviews/_last_decision.html", request=request),
        }
    )


# Deciding a review in the browser.

CHANGED = gettext_lazy(
    "You agreed but changed the issues, which requires Overrule. Overrule is now selected: give your verdict, or "
    "start over and agree."
)


@project_page(Permission.REVIEW)
@post_only(page="review")
def decide(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Decides, and goes on to the next review; where that is refused, the page comes back with all that was typed."""
    review = get_review_for(request.place, review_id)
    form = read_decision(request.POST, review)
    try:
        if agrees_but_changed(form, request.POST, review):
            form = replace(form, decision=Decision.OVERRULE.value)
            raise InvalidInput(str(CHANGED))
        decided = DecisionInput.model_validate(as_input(form, review))
        decide_review(review, decided, actor=request.place.actor)
    except ValidationError as error:
        unclear = InvalidInput(_("Nothing was decided."), errors=problems_of(error))
        return show(request, review, form=replace(form, errors=unclear.errors), problem=unclear, status=400)
    except InvalidInput as problem:
        # A director's form, the edited answer and ratings show what is wrong at the field; the others have it in the
        # problem's own sentence.
        is_at_field = review.is_for_director or form.decision == EDIT
        errors = [one for one in problem.errors if is_at_field or one["field"].startswith("ratings.")]
        return show(request, review, form=replace(form, errors=errors), problem=problem, status=400)
    except (Conflict, OwnWorkRefused) as problem:
        now_is = get_review_for(request.place, review_id)
        if isinstance(problem, Conflict) and holds(request, now_is):
            form = replace(form, lease_token=str(now_is.lease_token))
            in_other_tab = ReviewLeaseLost(_("You opened this review in another tab. You can decide here."))
            return show(request, now_is, form=form, problem=in_other_tab, status=409)
        return show(request, now_is, form=form, problem=problem, status=problem.status)
    if request.POST.get("then") == "queue":
        return redirect(address_of_view(request))
    if not review.is_seat:
        # What was said at a seat depends on the seats of the others, and is looked for.
        request.last_decision = LastDecision(review, request.place.project.slug)
    return go_on(request)


# Assigning in the browser.


@project_page(Permission.REVIEW)
@post_only(page="review")
def assign(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """Keeps the review for somebody, or for nobody; a refusal comes back with what was typed."""
    review = get_review_for(request.place, review_id)
    typed = {"to": request.POST.get("to") or None, "note": read_text(request, "note")}
    try:
        data = read_input(AssignInput, typed, refusal=_("Nothing was changed."))
        assigned = assign_review(review, data, actor=request.place.actor)
    except ActionError as problem:
        return show(request, review, form=prefilled(review), problem=problem, status=problem.status)
    message = _("Assignee removed.")
    if assigned.assignee:
        message = _("Assigned to %(name)s.") % {"name": assigned.assignee.get_username()}
    if holds(request, review) and not holds(request, assigned):
        return lead_to(request, address_of_view(request), message=message)
    return lead_to(request, address_of_item(request, review.pk), message=message)


# Asking for a review of an attempt.

FIELDS = ("attempt", "note", "reviewers", "assignee")


@project_page(Permission.ASK_FOR_REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def ask_page(request: DeskRequest, run_id: UUID) -> HttpResponse:
    """The form; the POST asks, or brings the form back with all that was typed."""
    run = get_run_for(request.place, run_id)
    form = read_form(request, FIELDS, {"attempt": request.GET.get("attempt", "")[:10]})
    if request.method != "POST":
        return _show(request, run, form)
    try:
        with form.collect_errors():
            opened = ask_for_review(run, AskInput.model_validate(form.given(*FIELDS)), actor=request.place.actor)
            address = reverse("review", args=(request.place.project.slug, opened[0].pk))
            message = format_html('{} <a href="{}">{}</a>', _("Review added to the queue."), address, _("Open review"))
            return back_to(request, "run", run.pk, message=message)
    except AskedAlready as problem:
        return _show(request, run, form, problem=problem)
    return _show(request, run, form)


def _show(request: DeskRequest, run: Run, form: Form, *, problem: ActionError | None = None) -> HttpResponse:
    judged = run.attempts.filter(verdicts__isnull=False).distinct().order_by("number")
    context: dict[str, Any] = {
        "run": run,
        "fields": form.fields,
        "general": form.general,
        "problem": problem,
        "numbers": list(judged.values_list("number", flat=True)),
        "kept": run.best_attempt.number if run.best_attempt else None,
        "people": [one.user.get_username() for one in reviewers_of(run.project_id)],
        "most": range(1, MOST_REVIEWERS + 1),
    }
    return render(request, "runs/ask_for_review.html", context, status=problem.status if problem else form.status)
