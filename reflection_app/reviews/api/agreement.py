"""How far blind reviewers agree."""

from datetime import timedelta

from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.answer import Answer
from reflection_app.api.desk_view import DeskView
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_query
from reflection_app.api.schema import described_get
from reflection_app.core.permissions import Permission
from reflection_app.reviews.panel_agreement import FEWEST_IN_COMMON, PairAgreement, agreement_of

ENOUGH = f"null where they judged fewer than {FEWEST_IN_COMMON} in common, or always gave one and the same verdict"


class AgreementQuery(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    days: int = Field(default=90, ge=1, le=3650, description="of how many days, up to now")


class PairAnswer(Answer):
    """Two reviewers over the panels that both sat on."""

    reviewers: list[str]
    panels: int
    agreed: float = Field(description="the share on which they gave the same verdict")
    kappa: float | None = Field(description=f"Cohen's κ; {ENOUGH}")


class AgreementAnswer(Answer):
    """Over the panels whose last opinion came in during the period, by what people said there: two of them or more."""

    days: int
    panels: int
    unanimous: int = Field(description="of how many panels all gave the same verdict")
    agreed: float | None = Field(description="the share of equal pairs of verdicts")
    alpha: float | None = Field(description="Krippendorff's α, nominal; null where nothing varies")
    alpha_ordinal: float | None = Field(description="the same with REJECT < REVISE < PASS in order")
    pairs: list[PairAnswer]
    with_keys: int = Field(description="panels on which a key sat; what keys said is in no figure")


class Agreement(DeskView):
    permissions = needs(get=Permission.READ_METRICS)

    @described_get(
        "get_agreement",
        summary="How far blind reviewers agree, beyond chance",
        query=AgreementQuery,
        answer=AgreementAnswer,
    )
    def get(self, request: Request) -> Response:
        days = read_query(request, AgreementQuery).days
        now = timezone.now()
        found = agreement_of(self.project.pk, since=now - timedelta(days=days), until=now)
        answer = AgreementAnswer(
            days=days,
            panels=found.panels,
            unanimous=found.unanimous,
            agreed=found.agreed,
            alpha=found.alpha,
            alpha_ordinal=found.alpha_ordinal,
            pairs=[_pair_answer(pair) for pair in found.pairs],
            with_keys=found.with_keys,
        )
        return Response(answer.model_dump(mode="json"))


def _pair_answer(pair: PairAgreement) -> PairAnswer:
    return PairAnswer(reviewers=[pair.first, pair.second], panels=pair.panels, agreed=pair.agreed, kappa=pair.kappa)
