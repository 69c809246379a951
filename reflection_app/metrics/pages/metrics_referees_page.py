"""The metrics of the referee: how often the attempt that is kept is right, as measured on recorded runs."""

from collections.abc import Mapping

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_safe

from reflection_app.core.permissions import Permission
from reflection_app.metrics.models.referee_measurement import RefereeMeasurement
from reflection_app.metrics.pick_kinds import PickKind
from reflection_app.metrics.referee_quality import RULES, RefereeQuality
from reflection_app.metrics.views.chart_figures import Mark, bars, dots, share_axis
from reflection_app.metrics.views.charts import CHARTS_POLICY, Cell, Chart
from reflection_app.metrics.views.metrics_words import share_words
from reflection_app.web.access import DeskRequest, project_page

# Each is computed anew where somebody measures, so few are of interest.
MOST_SHOWN = 20
LABELS: Mapping[str, Promise] = {
    "first": gettext_lazy("First attempt"),
    "last": gettext_lazy("Last attempt"),
    "best_self_score": gettext_lazy("Best by own tests"),
    "kept": gettext_lazy("The referee's"),
    "any": gettext_lazy("Best possible"),
}


@csp_override(CHARTS_POLICY)
@project_page(Permission.READ_METRICS)
@require_safe
def referee_metrics(request: DeskRequest) -> HttpResponse:
    rows = list(RefereeMeasurement.objects.filter(project=request.place.project)[:MOST_SHOWN])
    newest = rows[0] if rows else None
    quality = RefereeQuality.model_validate(newest.figures) if newest else None
    context = {
        "newest": newest,
        "quality": quality,
        "kinds": [kind_words(kind) for kind in quality.kinds] if quality else [],
        "charts": [rules_chart(quality), review_chart(quality)] if quality else [],
        "rows": [(row, RefereeQuality.model_validate(row.figures)) for row in rows],
    }
    return render(request, "metrics/referees.html", context)


def kind_words(kind: PickKind) -> dict[str, str]:
    """A line of the table of kinds."""
    return {
        "because": kind.because,
        "stated": share_words(kind.stated),
        "held_out": share_words(kind.held_out),
        "runs": f"{kind.runs:,}",
        "right": f"{kind.right:,}",
        "bounds": _("%(low)s to %(high)s") % {"low": share_words(kind.low), "high": share_words(kind.high)},
        "gained": f"{kind.gained:,}",
        "lost": f"{kind.lost:,}",
    }


def rules_chart(quality: RefereeQuality) -> Chart:
    """The share that is right by each rule, with its interval."""
    marks, lines = [], []
    for rule in RULES:
        found = quality.share(rule)
        if found is None:
            continue
        label, count = str(LABELS[rule]), getattr(quality, rule)
        bounds = _("%(low)s to %(high)s") % {"low": share_words(found.low), "high": share_words(found.high)}
        said = f"{label}: {share_words(found.estimate)} ({bounds})"
        tone = "one" if rule == "kept" else "plain"
        marks.append(Mark(label=label, value=found.estimate, said=said, tone=tone, low=found.low, high=found.high))
        lines.append((Cell(label), Cell(f"{count:,}"), Cell(share_words(found.estimate)), Cell(bounds)))
    return Chart(
        name="referee-rules",
        title=_("Right in the end, by what is kept"),
        hint=_("Of the recorded runs, those whose kept attempt passes the hidden test."),
        figure=dots(marks, axis=share_axis()),
        columns=(_("What is kept"), _("Right"), _("Share"), _("Interval of 95 %")),
        rows=tuple(lines),
        empty=_("The file had no runs."),
        words=1,
        is_wide=True,
    )


def review_chart(quality: RefereeQuality) -> Chart:
    """What a person's look at the least settled runs adds."""
    curve = sorted((int(looked_at), share) for looked_at, share in quality.review_curve.items())
    marks = [
        Mark(label=f"{looked_at} %", value=share, said=f"{looked_at} %: {share_words(share)}")
        for looked_at, share in curve
    ]
    return Chart(
        name="referee-reviews",
        title=_("What people's looking adds"),
        hint=_("The share that is right once a person has looked at so many of the runs, the least settled first."),
        figure=bars(marks, axis=share_axis()),
        columns=(_("Looked at"), _("Right")),
        rows=tuple((Cell(mark.label), Cell(share_words(mark.value or 0.0))) for mark in marks),
        empty=_("The file had no runs."),
        is_wide=True,
    )
