"""The pages of blind comparisons: the sets, a new one, the pair at hand, and the ratings."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from reflection_app.comparisons.claiming import (
    AlreadyJudged,
    HoldLost,
    claim_next,
    progress_of,
    skip_pair,
    unskip_pairs,
)
from reflection_app.comparisons.judging import (
    LONGEST_REASON,
    JudgementInput,
    get_seat,
    judge_pair,
    last_judgement,
    undo_judgement,
)
from reflection_app.comparisons.models import ComparisonSet, JudgementState, PairJudgement
from reflection_app.comparisons.pairing import USUAL_PAIRS, PairChoice
from reflection_app.comparisons.results import RatedBy, results_of
from reflection_app.comparisons.sets import SetInput, create_set, sets_to_show, switch_set
from reflection_app.comparisons.views import RATED_BY, SAID, bars_of, pair_context
from reflection_app.core.errors import InvalidInput, NotFound
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.runs.models import NOT_OF_THE_DESK, Step
from reflection_app.tasks.models import Task
from reflection_app.web.access import DeskRequest, back_to, project_page
from reflection_app.web.forms import Form, Problems, Refused, read_form, read_text
from reflection_app.web.list_pages import Filters, id_of, list_page, names_in, one_of
from reflection_app.web.middleware import post_only

NAMES = ("name", "wanted", "source", "most", "kind", "agent")
MAKERS = ("model_a", "model_b", "prompt_a", "prompt_b")
OF_RUNS, OF_PIPELINE = "runs", "pipeline"
SENTENCES = {
    "name": gettext_noop("Enter a name of at most 120 characters."),
    "wanted": gettext_noop("Enter a whole number from 1 to 5."),
    "most": gettext_noop("Enter a whole number from 1 to 1,000."),
}
SUGGESTED = 50


@project_page(Permission.READ_QUEUE)
@require_safe
def set_list(request: DeskRequest) -> HttpResponse:
    """The sets, newest first, and what of them waits for the reader."""
    project, actor = request.place.project, request.place.actor
    may_judge = request.place.may(Permission.REVIEW)
    return list_page(
        request,
        "comparisons/list.html",
        sets_to_show(project),
        called="sets",
        among=ComparisonSet.objects.filter(project=project),
        progress=progress_of(project, actor=actor) if may_judge else None,
        may_judge=may_judge,
        may_make=request.place.may(Permission.CHANGE_SETTINGS),
    )


@project_page(Permission.CHANGE_SETTINGS)
@require_http_methods(["GET", "HEAD", "POST"])
def new_set(request: DeskRequest) -> HttpResponse:
    usual = {"wanted": "1", "source": OF_RUNS, "most": str(USUAL_PAIRS)}
    form = read_form(request, (*NAMES, *MAKERS), usual)
    if request.method == "POST":
        with form.collect_errors(_problems):
            made = create_set(request.place.project, _typed(form), actor=request.place.actor)
            count = made.pairs.count()
            told = ngettext("Set created with %(count)s pair.", "Set created with %(count)s pairs.", count) % {
                "count": count
            }
            if form.values["source"] == OF_PIPELINE:
                told = _("Set created. Pipelines submit pairs with its ID: %(id)s") % {"id": made.pk}
            return back_to(request, "comparisons", message=told)
    project = request.place.project
    tasks = Task.objects.filter(NOT_OF_THE_DESK, project=project)
    models = Step.objects.filter(run__project=project, made_attempt__isnull=False)
    context = {
        "form": form,
        "fields": form.fields,
        "general": form.general,
        "is_of_runs": form.values["source"] != OF_PIPELINE,
        "kinds": names_in(tasks, "kind", most=SUGGESTED),
        "agents": names_in(tasks, "agent", most=SUGGESTED),
        "models": names_in(models, "model", most=SUGGESTED),
        "has_more": any(form.values[name] for name in ("kind", "agent", "prompt_a", "prompt_b")),
    }
    return render(request, "comparisons/new.html", context, status=form.status)


def _typed(form: Form) -> SetInput:
    choose = None
    if form.values["source"] != OF_PIPELINE:
        choose = PairChoice.model_validate(form.given(*NAMES[3:], *MAKERS))
    return SetInput.model_validate({"name": form.values["name"], "wanted": form.values["wanted"], "choose": choose})


def _problems(error: Refused) -> Problems:
    """In plain sentences; that no answers fit, as it is."""
    if isinstance(error, InvalidInput):
        return [one | {"field": "general"} for one in error.errors] or [{"field": "general", "message": str(error)}]
    found = error.errors(include_url=False, include_input=False)
    names = dict.fromkeys(str(one["loc"][-1]) for one in found)
    too_long = _("The text is too long.")
    return [{"field": name, "message": _(SENTENCES[name]) if name in SENTENCES else too_long} for name in names]


@project_page(Permission.CHANGE_SETTINGS)
@post_only(page="comparisons")
def switch(request: DeskRequest, set_id: UUID) -> HttpResponse:
    """Closes the set or opens it again, as the form says."""
    is_open = request.POST.get("to") == "open"
    switch_set(_set_for(request.place.project, set_id), is_open=is_open, actor=request.place.actor)
    closed = _("Set closed. Its remaining pairs are no longer assigned; existing judgments are retained.")
    return back_to(request, "comparisons", message=_("Set reopened.") if is_open else closed)


def _set_for(project: Project, set_id: UUID) -> ComparisonSet:
    return get_object_or_404(ComparisonSet, project=project, pk=set_id)


# Judging: one pair at a time, the next one at once.


@project_page(Permission.REVIEW)
@post_only(page="comparisons")
def take_next(request: DeskRequest) -> HttpResponse:
    return _go_on(request, _asked_set(request))


def _asked_set(request: DeskRequest) -> UUID | None:
    """The set that the address asks for, where the project has it."""
    wanted = id_from(request.GET.get("set", ""))
    return _set_for(request.place.project, wanted).pk if wanted else None


def _go_on(request: DeskRequest, set_id: UUID | None) -> HttpResponse:
    """To the next pair of the set, or of any; to the list of sets where there is none."""
    seat = claim_next(request.place.project, actor=request.place.actor, set_id=set_id)
    if seat is None:
        return back_to(request, "comparisons")
    return _to_pair(request, seat, set_id=set_id)


def _to_pair(request: DeskRequest, seat: PairJudgement, *, set_id: UUID | None) -> HttpResponseRedirect:
    address = reverse("compare_pair", args=(request.place.project.slug, seat.pk))
    return HttpResponseRedirect(address + _query(set_id))


def _query(set_id: UUID | None) -> str:
    return f"?set={set_id}" if set_id else ""


@never_cache
@project_page(Permission.REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def judge(request: DeskRequest, judgement_id: UUID) -> HttpResponse:
    """The pair that the reader holds; posted, what they say of it."""
    project, actor, set_id = request.place.project, request.place.actor, _asked_set(request)
    reason = read_text(request, "reason")
    try:
        seat = get_seat(project, judgement_id, actor=actor)
    except NotFound as error:
        if request.method != "POST":
            raise Http404("not held by the reader") from error
        return _lost(request, str(error), reason=reason, set_id=set_id)
    form = read_form(request, ("choice", "lease_token"))
    if request.method != "POST":
        if seat.state != JudgementState.CLAIMED:
            return back_to(request, "comparisons", message=_already(seat), level=messages.INFO)
        return _pair(request, seat, form, reason=seat.reason, set_id=set_id)
    with form.collect_errors():
        try:
            judge_pair(seat, JudgementInput.model_validate({**form.values, "reason": reason}), actor=actor)
        except (AlreadyJudged, HoldLost) as error:
            return _lost(request, str(error), reason=reason, set_id=set_id)
        return _go_on(request, set_id)
    return _pair(request, seat, form, reason=reason, set_id=set_id)


def _already(seat: PairJudgement) -> str:
    if seat.state == JudgementState.SKIPPED:
        return _("You skipped this pair.")
    return _("You already judged this pair. Use “Undo” to reopen your last judgment.")


def _pair(request: DeskRequest, seat: PairJudgement, form: Form, *, reason: str, set_id: UUID | None) -> HttpResponse:
    project, actor = request.place.project, request.place.actor
    last = last_judgement(project, actor=actor)
    context = pair_context(seat) | {
        "seat": seat,
        "progress": progress_of(project, actor=actor, set_id=set_id),
        "reason": reason,
        "general": form.general,
        "last": last,
        "last_said": SAID[str(last.choice)] if last else "",
        "query": _query(set_id),
        "longest_reason": LONGEST_REASON,
        "lease_is_over": seat.lease_until is not None and seat.lease_until <= timezone.now(),
    }
    return render(request, "comparisons/pair.html", context, status=form.status)


def _lost(request: DeskRequest, why: str, *, reason: str, set_id: UUID | None) -> HttpResponse:
    context = {"why": why, "reason": reason, "query": _query(set_id)}
    return render(request, "comparisons/lost.html", context, status=409)


@project_page(Permission.REVIEW)
@post_only(page="comparisons")
def skip(request: DeskRequest, judgement_id: UUID) -> HttpResponse:
    seat = get_seat(request.place.project, judgement_id, actor=request.place.actor)
    token = id_from(request.POST.get("lease_token", ""))
    if token is None:
        raise InvalidInput(_("The form is incomplete. Open the pair again."))
    skip_pair(seat, lease_token=token, actor=request.place.actor)
    return _go_on(request, _asked_set(request))


@project_page(Permission.REVIEW)
@post_only(page="comparisons")
def undo(request: DeskRequest, judgement_id: UUID) -> HttpResponse:
    """Takes a judgement of the reader back and shows its pair again."""
    seat = get_seat(request.place.project, judgement_id, actor=request.place.actor)
    again = undo_judgement(seat, actor=request.place.actor)
    messages.info(request, _("Judgment undone. You can judge the pair again."))
    return _to_pair(request, again, set_id=_asked_set(request))


@project_page(Permission.REVIEW)
@post_only(page="comparisons")
def unskip(request: DeskRequest) -> HttpResponse:
    """Lets the pairs that the reader passed over come to them again, and goes on with them."""
    set_id = _asked_set(request)
    unskip_pairs(request.place.project, actor=request.place.actor, set_id=set_id)
    return _go_on(request, set_id)


# What came of it.


@project_page(Permission.READ_METRICS)
@require_safe
def ratings(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    filters = Filters.read(request.GET, by=one_of(RatedBy, RatedBy.MODEL), set=id_of)
    sets = sets_to_show(project)
    chosen = sets.filter(pk=filters["set"]).first() if filters["set"] else None
    if filters["set"] and chosen is None:
        raise Http404("no such set")
    by = RatedBy(filters["by"])
    results = results_of(project.pk, by=by, set_id=chosen.pk if chosen else None)
    context = {
        "results": results,
        "groups": [(group, zip(group.contestants, bars_of(group), strict=True)) for group in results.groups],
        "by": by,
        "by_words": RATED_BY[by],
        "tabs": [
            {"words": words, "query": urlencode(filters.given | {"by": name.value}), "is_current": name is by}
            for name, words in RATED_BY.items()
        ],
        "sets": sets.order_by("-created_at", "-id")[:SUGGESTED],
        "chosen": chosen,
        "has_prompt": by is RatedBy.PROMPT,
    }
    return render(request, "comparisons/ratings.html", context)
