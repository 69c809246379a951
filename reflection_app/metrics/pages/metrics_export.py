"""The figures of a choice as a file, JSON or CSV, to be looked at elsewhere."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from reflection_app.core.permissions import Permission
from reflection_app.metrics.figures import metrics_of
from reflection_app.metrics.metric_lines import as_csv
from reflection_app.metrics.review_figures import review_figures
from reflection_app.metrics.views.metrics_choice import read_asked
from reflection_app.web.access import DeskRequest, project_page

MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


@project_page(Permission.READ_METRICS)
@require_safe
def metrics_export(request: DeskRequest, subject: str, form: str) -> HttpResponse:
    """`subject` is runs or reviews. Raises Http404 for another form or subject."""
    project, chosen = request.place.project, read_asked(request.GET).chosen
    if form not in MEDIA_TYPES or subject not in {"runs", "reviews"}:
        raise Http404("no such file")
    found = metrics_of(project.pk, chosen) if subject == "runs" else review_figures(project.pk, chosen)
    text = _json(asdict(found)) if form == "json" else as_csv(found)
    name = f"metrics-{subject}-{project.slug}-{chosen.since}-{chosen.until}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=MEDIA_TYPES[form], headers=headers)


def _json(found: Mapping[str, Any]) -> str:
    return json.dumps(found, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1)
