"""Which of people's decisions were about a critic's own verdict, and whose."""

from django.db.models import OuterRef, Q, QuerySet, Subquery

from reflection_app.loops.effects import Generate
from reflection_app.loops.verdicts import Referee
from reflection_app.reviews.models import PanelState, Review
from reflection_app.runs.models import Step

# Who says it in the name of which referee.
ROLES = {Referee.CRITIC: "critic", Referee.SELF: "self"}


def decided_about_critics(decided: QuerySet[Review]) -> QuerySet[Review]:
    """Of the decided reviews one for each verdict that a model gave, with the model's name as `critic`.

    Left out are copies in forks, what a person edited, runs that do again what was judged before, and panels whose
    dispute nobody has settled. Of several people who agree, one stands for all.
    """
    settled = Q(panel__isnull=True) | Q(panel__state=PanelState.SETTLED)
    said = decided.filter(
        settled,
        run__parent__isnull=True,
        decided_verdict__isnull=False,
        verdict__referee__in=[referee.value for referee in ROLES],
        verdict__step__is_inherited=False,
        verdict__step__edited_by_label="",
    )
    once = said.order_by("verdict_id", "-decided_at", "-id").distinct("verdict_id").values("pk")
    asked = Step.objects.filter(
        run=OuterRef("run"), role__in=ROLES.values(), kind=Generate.kind, seq__lt=OuterRef("verdict__step__seq")
    )
    return Review.objects.filter(pk__in=once).annotate(critic=Subquery(asked.order_by("-seq").values("model")[:1]))
