"""The review policy: an ordered list of rules, rearranged and tried before it is saved."""

from datetime import timedelta
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.core.errors import PolicyMovedOn
from reflection_app.core.models import OwnWork, Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.task_spec import ReviewPolicy
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.agreement import FEWEST_IN_COMMON, agreement_of, complete_panels, ratings_of
from reflection_app.reviews.models import Review
from reflection_app.reviews.own_work import change_own_work
from reflection_app.reviews.policy import MOST_VERDICTS, change_policy, digest_of, read_rules, try_policy
from reflection_app.reviews.views.policy import (
    PolicyForm,
    form_of,
    in_words,
    new_rule,
    problems_of_policy,
    read_policy_form,
)
from reflection_app.tasks.models import Task
from reflection_app.web.access import DeskRequest, back_to, project_page
from reflection_app.web.list_pages import names_in

SUGGESTED = 100
OWN_WORK = {
    OwnWork.NOBODY: gettext_lazy(
        "No self-review: members and API keys cannot decide on work submitted by them or their keys."
    ),
    OwnWork.PEOPLE: gettext_lazy(
        "Members may decide on work submitted by them or their keys. API keys may not, so no agent reviews itself."
    ),
    OwnWork.EVERYBODY: gettext_lazy("Members and API keys may decide on work they submitted."),
}


@project_page(Permission.READ, post=Permission.CHANGE_SETTINGS)
@require_http_methods(["GET", "HEAD", "POST"])
def policy_page(request: DeskRequest) -> HttpResponse:
    """The editor for admins, the rules in words for others. Whatever else than saving is asked for saves nothing."""
    saved = request.place.project.get_review_policy()
    if request.method != "POST":
        return _page(request, form_of(saved, digest=digest_of(saved)), saved=saved)
    order = request.POST.get("do", "save")
    if order == "own_work":
        change_own_work(request.place.project, request.POST.get("own_work", ""), actor=request.place.actor)
        message = _("Saved. The change also applies to open reviews.")
        return back_to(request, "review_policy", message=message)
    form = read_policy_form(request.POST)
    if order not in {"save", "try"}:
        form.rearrange(order, new=new_rule())
        return _page(request, form, saved=saved)
    try:
        with form.collect_errors(problems_of_policy):
            policy = form.read()
            if order == "try":
                form.add_errors(read_rules(policy))
                return _page(request, form, saved=saved, tried=policy)
            change_policy(request.place.project, policy, actor=request.place.actor, digest=form.digest)
            message = _("Saved. Runs in progress use their previous policy.")
            return back_to(request, "review_policy", message=message)
    except PolicyMovedOn:
        # What holds now is shown beside; who then saves again has seen what is replaced.
        holding = Project.objects.get(pk=request.place.project.pk).get_review_policy()
        form.digest = digest_of(holding)
        return _page(request, form, saved=holding, moved_on=True, status=409)
    return _page(request, form, saved=saved, status=400)


def _page(
    request: DeskRequest,
    form: PolicyForm,
    *,
    saved: ReviewPolicy,
    tried: ReviewPolicy | None = None,
    moved_on: bool = False,
    status: int = 200,
) -> HttpResponse:
    trial = try_policy(request.place.project.pk, tried, saved=saved) if tried else None
    tasks = Task.objects.filter(project=request.place.project)
    context = {
        "form": form,
        "fields": form.fields,
        "saved": saved,
        "saved_words": [in_words(rule) for rule in saved.rules],
        "moved_on": moved_on,
        "trial": trial,
        "by_rule": zip(map(in_words, tried.rules), trial.typed.by_rule, strict=True) if tried and trial else (),
        "most": MOST_VERDICTS,
        "agents": names_in(tasks, "agent", most=SUGGESTED),
        "kinds": names_in(tasks, "kind", most=SUGGESTED),
        "verdicts": list(Verdict),
        "own_work": Project.objects.values_list("own_work", flat=True).get(pk=request.place.project.pk),
        "own_work_choices": OWN_WORK,
        "may_change": request.place.may(Permission.CHANGE_SETTINGS),
    }
    return render(request, "teams/settings/policy.html", context, status=status)


# How far blind reviewers agree, with the panels behind each figure.

PERIODS = (7, 30, 90, 365)
USUAL_DAYS = 90
SHOWN = 100


@project_page(Permission.READ_METRICS)
@require_safe
def agreement_page(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    asked = request.GET.get("days", "")
    days = next((period for period in PERIODS if str(period) == asked), USUAL_DAYS)
    until = timezone.now()
    since = until - timedelta(days=days)
    panels = complete_panels(project.pk, since=since, until=until)
    shown = list(panels.select_related("run__task", "attempt").defer("run__spec", "attempt__content")[:SHOWN])
    ratings = ratings_of(panel.pk for panel in shown)
    seats = Review.objects.filter(panel__in=shown, opinion__isnull=False).order_by("panel", "decided_at")
    first = {seat.panel_id: seat for seat in seats.distinct("panel").defer("opinion")}
    context: dict[str, Any] = {
        "found": agreement_of(project.pk, since=since, until=until),
        "days": days,
        "periods": PERIODS,
        # Each panel with who gave which verdict, and a seat that leads to its page.
        "lines": [(panel, sorted(ratings[panel.pk].items()), first.get(panel.pk)) for panel in shown],
        "shown": SHOWN,
        "fewest": FEWEST_IN_COMMON,
    }
    return render(request, "reviews/agreement.html", context)
