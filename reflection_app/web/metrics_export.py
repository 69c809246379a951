"""The figures of a choice as a file, JSON or CSV, to be looked at elsewhere."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from reflection_app.metrics.figures import metrics_of
from reflection_app.metrics.review_figures import ReviewFigures, review_figures
from reflection_app.metrics.values import Bar, Figure, Metrics
from reflection_app.models import Permission
from reflection_app.web.access import DeskRequest, project_page
from reflection_app.web.audit_export import FORMULA_STARTS
from reflection_app.web.metrics_choice import read_asked

COLUMNS = ("what", "name", "key", "start", "value", "unit", "of", "low", "high")
MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
type Line = tuple[object, ...]


@project_page(Permission.READ_METRICS)
@require_safe
def metrics_export(request: DeskRequest, subject: str, form: str) -> HttpResponse:
    """`subject` is runs or reviews. Raises Http404 for another form or subject."""
    project, chosen = request.place.project, read_asked(request.GET).chosen
    if form not in MEDIA_TYPES or subject not in {"runs", "reviews"}:
        raise Http404("no such file")
    found = metrics_of(project.pk, chosen) if subject == "runs" else review_figures(project.pk, chosen)
    lines = _of_runs(found) if isinstance(found, Metrics) else _of_reviews(found)
    text = _json(asdict(found)) if form == "json" else _csv(lines)
    name = f"metrics-{subject}-{project.slug}-{chosen.since}-{chosen.until}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=MEDIA_TYPES[form], headers=headers)


def _json(found: Mapping[str, Any]) -> str:
    return json.dumps(found, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1)


def _csv(lines: Iterator[Line]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows([_cell(value) for value in line] for line in lines)
    return text.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text


def _of_runs(metrics: Metrics) -> Iterator[Line]:
    yield from _figures("figure", metrics.figures)
    yield from _figures("figure_before", metrics.before)
    for point in metrics.points:
        yield from _figures("point", point.figures, start=point.start)
    for family, bars in metrics.bars.items():
        yield from (_bar(family, bar) for bar in bars)
    for spend in metrics.spend:
        for name in ("calls", "prompt_tokens", "completion_tokens", "cost_usd"):
            yield ("spend", name, f"{spend.role}:{spend.model}", "", getattr(spend, name), "", "", "", "")
    for task in metrics.dearest_tasks:
        yield ("task", "tokens", task.task_id, "", task.tokens, "tokens", "", "", "")
        yield ("task", "cost_usd", task.task_id, "", task.cost_usd, "usd", "", "", "")


def _of_reviews(found: ReviewFigures) -> Iterator[Line]:
    yield from _figures("figure", found.figures)
    yield from _figures("figure_before", found.before)
    for point in found.points:
        yield from _figures("point", point.figures, start=point.start)
    yield from (_bar("ages", bar) for bar in found.ages)
    for name, several in (("by_critic", found.by_critic), ("by_reviewer", found.by_reviewer)):
        for one in several:
            share = one.share
            yield (name, "overrule_rate", one.name, "", share.value, share.unit.value, share.of, share.low, share.high)


def _figures(what: str, figures: Mapping[str, Figure], *, start: str = "") -> Iterator[Line]:
    for name, figure in figures.items():
        yield (what, name, "", start, figure.value, figure.unit.value, figure.of, figure.low, figure.high)


def _bar(family: str, bar: Bar) -> Line:
    return ("bar", family, bar.key, "", bar.count, "count", "", "", "")
