"""How often people corrected what the desk claims to understand, kind by kind, by the labels of a period."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Q

from reflection_app.metrics.definitions import OF_LABELS, Chosen, Figure, figure
from reflection_app.metrics.models import Label, LabelKind


@dataclass(frozen=True)
class CorrectionFigures:
    """One share a kind, `of` so many judgements, with what it was in the period of the same length before."""

    chosen: Chosen
    figures: Mapping[str, Figure]
    before: Mapping[str, Figure]

    @property
    def judged(self) -> int:
        return sum(one.of for one in self.figures.values())


def correction_figures(project_id: UUID, chosen: Chosen) -> CorrectionFigures:
    """The figures of what people said in the period. Agents, modes and models play no part in it."""
    return CorrectionFigures(chosen, _figures(project_id, chosen), _figures(project_id, chosen.before()))


def _figures(project_id: UUID, chosen: Chosen) -> dict[str, Figure]:
    labels = Label.objects.filter(project=project_id, created_at__gte=chosen.begin, created_at__lt=chosen.end)
    corrected_ones = Count("pk", filter=Q(is_corrected=True))
    counted = labels.order_by().values("kind").annotate(judged=Count("pk"), corrected=corrected_ones)
    found = {row["kind"]: (row["judged"], row["corrected"]) for row in counted}
    figures = {}
    for definition, kind in zip(OF_LABELS, LabelKind, strict=True):
        judged, corrected = found.get(kind.value, (0, 0))
        figures[definition.name] = figure(definition.name, corrected / judged if judged else None, judged)
    return figures
