"""The review policy: an ordered list of rules, rearranged and tried before it is saved."""

from dataclasses import dataclass
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
from reflection_app.loops.task_spec import MOST_RULES, ReviewPolicy
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.agreement import FEWEST_IN_COMMON, agreement_of, complete_panels, panels_of_both, ratings_of
from reflection_app.reviews.models import Panel, Review
from reflection_app.reviews.own_work import change_own_work
from reflection_app.reviews.policy import change_policy, digest_of, read_rules, seen_lately
from reflection_app.reviews.views.policy import (
    PolicyForm,
    TriedPolicy,
    form_of,
    in_words,
    problems_of_policy,
    read_policy_form,
    tried,
)
from reflection_app.web.access import DeskRequest, back_to, project_page

OWN_WORK = {
    OwnWork.NOBODY: gettext_lazy("Nobody decides on what they handed in themselves, or by a key that they made."),
    OwnWork.PEOPLE: gettext_lazy(
        "People may decide on what they handed in themselves, or by a key. Keys may not: an agent would judge itself."
    ),
    OwnWork.EVERYBODY: gettext_lazy("People and keys may decide on what they handed in themselves."),
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
        message = _("Saved. It holds from now on, for what is waiting as well.")
        return back_to(request, "review_policy", message=message)
    form = read_policy_form(request.POST)
    if order not in {"save", "try"}:
        form.rearrange(order)
        return _page(request, form, saved=saved)
    try:
        with form.collect_errors(problems_of_policy):
            policy = form.read()
            if order == "try":
                form.add_errors(read_rules(policy))
                return _page(request, form, saved=saved, trial=tried(request.place.project, policy, saved=saved))
            change_policy(request.place.project, policy, actor=request.place.actor, digest=form.digest)
            message = _("Saved. Runs that are under way keep the policy they began with.")
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
    trial: TriedPolicy | None = None,
    moved_on: bool = False,
    status: int = 200,
) -> HttpResponse:
    seen = seen_lately(request.place.project.pk)
    context = {
        "form": form,
        "fields": form.fields,
        "saved": saved,
        "saved_words": [in_words(rule) for rule in saved.rules],
        "moved_on": moved_on,
        "trial": trial,
        "seen": seen,
        "unseen": unseen(form, agents=seen.agents, kinds=seen.kinds),
        "verdicts": list(Verdict),
        "most_rules": MOST_RULES,
        "own_work": Project.objects.values_list("own_work", flat=True).get(pk=request.place.project.pk),
        "own_work_choices": OWN_WORK,
        "may_change": request.place.may(Permission.CHANGE_SETTINGS),
    }
    return render(request, "teams/settings/policy.html", context, status=status)


def unseen(form: PolicyForm, *, agents: tuple[str, ...], kinds: tuple[str, ...]) -> list[str]:
    """Agents and types of tasks that rules name and no task of the last days had: perhaps they are misspelt."""
    named = [name for rule in form.rules for name in rule.names["agents"] if name not in agents]
    named += [name for rule in form.rules for name in rule.names["kinds"] if name not in kinds]
    return list(dict.fromkeys(named))


# How far blind reviewers agree, with the panels behind each figure.

PERIODS = (7, 30, 90, 365)
USUAL_DAYS = 90
SHOWN = 100
LONGEST_NAME = 200


@dataclass(frozen=True)
class PanelLine:
    """A panel with who gave which verdict; `seat` leads to its page."""

    panel: Panel
    ratings: list[tuple[str, str]]
    seat: Review | None


@project_page(Permission.READ_METRICS)
@require_safe
def agreement_page(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    asked = request.GET.get("days", "")
    days = next((period for period in PERIODS if str(period) == asked), USUAL_DAYS)
    both = [name for name in request.GET.getlist("reviewer")[:2] if 0 < len(name) <= LONGEST_NAME and "\0" not in name]
    until = timezone.now()
    since = until - timedelta(days=days)
    panels = complete_panels(project.pk, since=since, until=until)
    if len(both) == 2:
        panels = panels_of_both(panels, *both)
    shown = list(panels.select_related("run__task", "attempt").defer("run__spec", "attempt__content")[:SHOWN])
    ratings = ratings_of(panel.pk for panel in shown)
    seats = Review.objects.filter(panel__in=shown, opinion__isnull=False).order_by("panel", "decided_at")
    first = {seat.panel_id: seat for seat in seats.distinct("panel").defer("opinion")}
    context: dict[str, Any] = {
        "found": agreement_of(project.pk, since=since, until=until),
        "days": days,
        "periods": PERIODS,
        "both": both if len(both) == 2 else [],
        "lines": [PanelLine(panel, sorted(ratings[panel.pk].items()), first.get(panel.pk)) for panel in shown],
        "shown": SHOWN,
        "fewest": FEWEST_IN_COMMON,
    }
    return render(request, "reviews/agreement.html", context)
