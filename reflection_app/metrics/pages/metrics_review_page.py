"""The metrics of the review desk."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from reflection_app.core.permissions import Permission
from reflection_app.metrics.figures import choices_of
from reflection_app.metrics.review_figures import ReviewFigures, review_figures
from reflection_app.metrics.values import Bar
from reflection_app.metrics.views.charts import CHARTS_POLICY, Chart
from reflection_app.metrics.views.metrics_charts import bar_chart
from reflection_app.metrics.views.metrics_choice import read_asked
from reflection_app.metrics.views.metrics_families import reasons_family
from reflection_app.metrics.views.metrics_filters import filter_context
from reflection_app.metrics.views.metrics_headline import shown_figures
from reflection_app.metrics.views.metrics_links import Links
from reflection_app.metrics.views.metrics_review_charts import (
    ages_chart,
    by_name_chart,
    decision_time_chart,
    overrule_chart,
)
from reflection_app.web.access import DeskRequest, project_page

HEADLINE = (
    *("queue_length", "oldest_age_s", "decided"),
    *("time_to_decision_p50_s", "time_to_decision_p95_s", "overrule_rate"),
)


@csp_override(CHARTS_POLICY)
@project_page(Permission.READ_METRICS)
@require_safe
def review_metrics(request: DeskRequest) -> HttpResponse:
    project, asked = request.place.project, read_asked(request.GET)
    found = review_figures(project.pk, asked.chosen)
    links = Links(project.slug, asked.chosen)
    hrefs = {name: links.runs(name) for name in found.figures}
    context = filter_context(asked, choices_of(project.pk, asked.chosen)) | {
        "headline": shown_figures(HEADLINE, found.figures, found.before, hrefs=hrefs),
        "charts": _charts(found, links),
        "is_empty": not any(found.figures[name].value for name in ("queue_length", "decided") if name in found.figures),
    }
    return render(request, "metrics/reviews.html", context)


def _charts(found: ReviewFigures, links: Links) -> list[Chart]:
    return [
        decision_time_chart(found, links),
        ages_chart(found, links),
        overrule_chart(found, links),
        bar_chart(reasons_family(), [Bar(key, count) for key, count in found.reasons.items()], links),
        by_name_chart(
            found.by_critic,
            links,
            name="critics",
            title=_("Overruled, by critic"),
            hint=_("Of each model's verdicts that people decided about, with its interval of 95 %."),
            column=_("Model"),
            empty=_("Nobody has decided about a model's verdict in this time."),
        ),
        by_name_chart(
            found.by_reviewer,
            links,
            name="reviewers",
            title=_("Overruled, by reviewer"),
            hint=_("How often each person said otherwise. What they get to see differs, so this is no ranking."),
            column=_("Reviewer"),
        ),
        *_keys_chart(found, links),
    ]


def _keys_chart(found: ReviewFigures, links: Links) -> list[Chart]:
    """What keys decided, apart from all that people did; nothing where they decided nothing."""
    if not found.by_key:
        return []
    return [
        by_name_chart(
            found.by_key,
            links,
            name="keys",
            title=_("Overruled, by key"),
            hint=_("Decided by programs. It is in no other figure here: those are of people."),
            column=_("API key"),
        )
    ]
