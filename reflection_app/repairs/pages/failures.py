"""The pages of failed calls: the list, and one failure told as a post-mortem."""

from uuid import UUID

from django.db.models import F, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe

from notebook_app.public import proposed_from
from reflection_app.core.audit import newest_deed
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.catalogue import PLACE
from reflection_app.loops.diagnosis.diagnoses import ErrorType, Remedy
from reflection_app.loops.diagnosis.rules import RULES
from reflection_app.metrics.completeness_figures import completeness_figures, recurring_supplements
from reflection_app.notebook.views.entry import learned_from_failure
from reflection_app.repairs.cheat_sheet import cheat_sheet
from reflection_app.repairs.completeness import RECURS_FROM
from reflection_app.repairs.models import CompletenessCheck, ToolFailure
from reflection_app.repairs.tool_failures import (
    JUDGED,
    DiagnosisJudgement,
    FixOutcomeSubmission,
    judge_diagnosis,
    report_fix_outcome,
)
from reflection_app.repairs.views import changes_shown
from reflection_app.search.finding import ids_with_words
from reflection_app.search.models import Indexed
from reflection_app.web.access import DeskRequest, back_to, get_tool_failure_for, project_page
from reflection_app.web.forms import Form, api_problems_of, read_form
from reflection_app.web.list_pages import Filters, list_page, list_response, one_of, text_of, typed_agent_of
from reflection_app.web.middleware import post_only

JUDGEMENT_FIELDS = ("error_type", "remedy", "action")
# What each rule rests on.
RULE_SOURCES = {rule.id: rule.source for rule in RULES}
OUTCOME_FIELDS = ("fix", "tool", "delay_seconds", "note", "worked")
FOLLOWS = {
    "yes": gettext_noop("Saved. This fix is tried first next time."),
    "no": gettext_noop("Saved. Counted as a failure of this fix."),
}
# How a fix went, as the address names it.
WENT = {"worked": True, "failed": False, "unknown": None}


# What a row of the list shows.
SHOWN = (
    *("tool", "error_message", "error_type", "source", "worked", "is_repeated", "agent"),
    *("reported_by_label", "created_at", "run__state"),
)


def filtered(project: Project, filters: Filters) -> QuerySet[ToolFailure]:
    """The project's failures that the filters leave, newest first."""
    rows = ToolFailure.objects.filter(project=project).select_related("run").only(*SHOWN)
    if filters["q"]:
        rows = rows.filter(pk__in=ids_with_words(project.pk, filters["q"], kind=Indexed.FAILURE))
    if filters["type"]:
        rows = rows.filter(error_type=filters["type"])
    if filters["went"]:
        wanted = WENT[filters["went"]]
        rows = rows.filter(worked__isnull=True) if wanted is None else rows.filter(worked=wanted)
    if filters["agent"]:
        rows = rows.filter(agent=filters["agent"])
    return rows.order_by("-created_at", "-id")


@project_page()
@require_safe
def tool_failures(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    filters = Filters.read(request.GET, q=text_of(), type=one_of(ErrorType), went=one_of(WENT), agent=typed_agent_of)
    return list_page(
        request,
        "repairs/failures/list.html",
        filtered(project, filters),
        called="failures",
        among=ToolFailure.objects.filter(project=project),
        filters=filters,
        types=list(ErrorType),
    )


@project_page()
@require_safe
def tool_failure(request: DeskRequest, failure_id: UUID) -> HttpResponse:
    return _page(request, get_tool_failure_for(request.place, failure_id), read_form(request, OUTCOME_FIELDS))


@project_page(Permission.HAND_IN)
@post_only(page="tool_failure")
def tool_outcome(request: DeskRequest, failure_id: UUID) -> HttpResponse:
    """Keeps how the fix went, as the form says."""
    failure = get_tool_failure_for(request.place, failure_id)
    form = read_form(request, OUTCOME_FIELDS)
    with form.collect_errors(api_problems_of):
        if form.values["worked"] not in FOLLOWS:
            missing = {"field": "worked", "message": _("Select whether it worked.")}
            raise InvalidInput(_("Select an outcome."), errors=[missing])
        outcome = FixOutcomeSubmission.model_validate(form.given(*OUTCOME_FIELDS))
        report_fix_outcome(failure, outcome, actor=request.place.actor)
        return back_to(request, "tool_failure", failure.pk, message=_(FOLLOWS[form.values["worked"]]))
    return _page(request, failure, form)


@project_page(Permission.REVIEW)
@post_only(page="tool_failure")
def diagnosis(request: DeskRequest, failure_id: UUID) -> HttpResponse:
    """Keeps a person's word on the diagnosis, as the form says."""
    failure = get_tool_failure_for(request.place, failure_id)
    form = read_form(request, JUDGEMENT_FIELDS)
    with form.collect_errors():
        judgement = DiagnosisJudgement.model_validate(form.given(*JUDGEMENT_FIELDS))
        judge_diagnosis(failure, judgement, actor=request.place.actor)
        return back_to(request, "tool_failure", failure.pk, message=_("Diagnosis feedback saved."))
    return _page(request, failure, Form(dict.fromkeys(OUTCOME_FIELDS, "")), judgement=form)


def _page(request: DeskRequest, failure: ToolFailure, form: Form, *, judgement: Form | None = None) -> HttpResponse:
    advised, told = failure.action or {}, failure.told
    as_diagnosed = {"error_type": failure.error_type, "remedy": advised.get("remedy", "")}
    judged = judgement or Form({name: as_diagnosed.get(name, "") for name in JUDGEMENT_FIELDS})
    context = {
        "failure": failure,
        "changes": changes_shown(failure.params, advised.get("modified_params")),
        "told_changes": changes_shown(failure.params, told.get("params") or None),
        "rule_source": RULE_SOURCES.get(failure.rule, ""),
        "diagnosis_place": PLACE,
        "judged": judged,
        "last_judged": newest_deed(failure, JUDGED),
        "types": list(ErrorType),
        "remedies": list(Remedy),
        "may_judge": request.place.may(Permission.REVIEW) and failure.is_diagnosed and bool(advised),
        "learned": learned_from_failure(failure),
        "form": form,
        "fields": form.fields,
        "may_tell": request.place.may(Permission.HAND_IN) and failure.is_diagnosed,
    }
    return render(request, "repairs/failures/page.html", context, status=max(form.status, judged.status))


# The cheat sheet: what usually fails with each tool, and what helped.


@project_page()
@require_safe
def tool_cheat_sheet(request: DeskRequest) -> HttpResponse:
    tool = text_of()(request.GET.get("tool", ""))
    context = {"sheet": cheat_sheet(request.place.project, tool=tool), "tool": tool}
    return list_response(request, "repairs/failures/cheat_sheet.html", context)


# The project's page of completeness checks: how often something is missing, and what recurs.

NEWEST_SHOWN = 20


@project_page()
@require_safe
def completeness_page(request: DeskRequest) -> HttpResponse:
    project = request.place.project
    found = recurring_supplements(project.pk)
    offered = {entry.source: entry.state for entry in proposed_from(project.pk, sources=[one.source for one in found])}
    context = {
        "figures": completeness_figures(project.pk),
        # What keeps being missing, with the state of the notebook's entry where it was offered, else nothing.
        "recurring": [(one, offered.get(one.source, "")) for one in found],
        "newest": CompletenessCheck.objects.filter(project=project)
        .select_related("run__task")
        .annotate(faulty_files=F("step__result__faulty_files"))[:NEWEST_SHOWN],
        "settings": project.get_completeness(),
        "recurs_from": RECURS_FROM,
    }
    return render(request, "repairs/completeness/page.html", context)
