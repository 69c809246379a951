"""How often kinds of tasks are checked, in the words of the project's page."""

from dataclasses import dataclass
from decimal import Decimal

from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from notebook_app.public import Claim
from reflection_app.core.models import Project
from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.loops.completeness.sampling import When
from reflection_app.notebook.views.lift import LiftView, points
from reflection_app.repairs.check_policy import Evidence, Why
from reflection_app.repairs.check_suggestions import evidence_in
from reflection_app.repairs.check_worth import Worth
from reflection_app.repairs.kind_policies import KindPolicy, kind_policies
from reflection_app.repairs.models import CheckSuggestion
from reflection_app.web.template_filters import money


def percent(share: float) -> str:
    """`10 %`, or `0.5 %` of what is less than one."""
    told = f"{share * 100:.1f}".removesuffix(".0")
    return f"{told} %"


def policy_words(policy: CompletenessSettings) -> str:
    """How often a run is checked, and how many supplements are carried out."""
    if not policy.enabled:
        return _("The check is off")
    if policy.when is When.ALWAYS:
        often = _("Always")
    elif policy.when is When.SAMPLED:
        often = _("A sample of %(share)s") % {"share": percent(policy.checked_share)}
    elif policy.least_share:
        often = _("Never, but for %(share)s") % {"share": percent(policy.checked_share)}
    else:
        often = _("Never")
    most = policy.max_supplements
    carried = (
        ngettext("at most %(most)s supplement", "at most %(most)s supplements", most) % {"most": most}
        if most
        else _("nothing is carried out")
    )
    held = _("hold-out %(share)s") % {"share": percent(policy.holdout_share)} if policy.holdout_share else ""
    return " · ".join(filter(None, (often, carried, held)))


@dataclass(frozen=True)
class SuggestionShown:
    """A suggestion with what it would set, and why."""

    row: CheckSuggestion
    policy: CompletenessSettings

    @cached_property
    def evidence(self) -> Evidence:
        return evidence_in(self.row)

    @property
    def words(self) -> str:
        """The policy as it would be."""
        return policy_words(CompletenessSettings.model_validate(self.policy.model_dump() | self.row.change))

    @property
    def why(self) -> str:
        return f"{self._reason()} {self._cost()}".strip()

    def _reason(self) -> str:
        told = self.evidence
        found = {"found": told.incomplete, "checks": told.checks}
        match Why(self.row.why):
            case Why.SELDOM_FOUND | Why.HARDLY_EVER_FOUND:
                said = _("Of the newest %(checks)s checks %(found)s found something; the interval ends at %(high)s.")
                return said % (found | {"high": percent(told.high)})
            case Why.FOUND_MORE:
                said = _("Of the newest %(checks)s checks %(found)s found something; before, it was at most %(high)s.")
                return said % (found | {"high": percent(told.before_high or 0.0)})
            case Why.FOUND_OFTEN:
                said = _("Of %(checks)s checks %(found)s found something; the interval begins at %(low)s.")
                return said % (found | {"low": percent(told.low)})
            case Why.CHECKS_DO_NOT_HELP:
                said = _("Runs that were checked ended hardly better than those that were held out: %(difference)s.")
                return said % {"difference": self._difference()}
            case Why.CHECKS_HARM:
                said = _("Runs that were checked ended worse than those that were held out: %(difference)s.")
                return said % {"difference": self._difference()}
            case Why.SUPPLEMENTS_TURN_LITTLE:
                return self._supplements()

    def _supplements(self) -> str:
        told, most = self.evidence, self.row.change["max_supplements"]
        if not most:
            said = _("Of %(checks)s checks that asked for supplements, %(turned)s were completed.")
            return said % {"checks": told.with_more, "turned": told.turned_with_more}
        said = ngettext(
            "Of %(checks)s checks that asked for more than %(most)s supplement, %(turned)s were completed.",
            "Of %(checks)s checks that asked for more than %(most)s supplements, %(turned)s were completed.",
            most,
        )
        return said % {"checks": told.with_more, "most": most, "turned": told.turned_with_more}

    def _difference(self) -> str:
        told = self.evidence
        return _("%(points)s points, 95 %% interval %(low)s to %(high)s") % {
            "points": points(told.difference or 0.0),
            "low": points(told.difference_low or 0.0),
            "high": points(told.difference_high or 0.0),
        }

    def _cost(self) -> str:
        told = self.evidence
        if not told.cost_known or told.cost_each_usd == Decimal(0):
            return ""
        return _("Each cost %(money)s.") % {"money": money(told.cost_each_usd)}


@dataclass(frozen=True)
class WorthView(LiftView):
    """The hold-out of checks, in the words of lessons' lift but where those speak of lessons."""

    @property
    def why(self) -> str:
        decisive = self.measured.judged.decisive
        if decisive is None or self.claim not in {Claim.PERHAPS_HARMS, Claim.PERHAPS_HELPS}:
            return super().why
        said = _("At the look with %(size)s outcomes in the smaller arm.") % {"size": decisive.size}
        return said + " " + _("Among so many kinds of tasks, one may look like this by chance.")


def worth_view(worth: Worth | None) -> WorthView | None:
    """What the hold-out says; None where there was none."""
    if worth is None or not worth.measured.total:
        return None
    return WorthView(worth.measured, worth.claim)


@dataclass(frozen=True)
class KindShown:
    """One kind of the page."""

    one: KindPolicy

    @property
    def words(self) -> str:
        return policy_words(self.one.policy)

    @property
    def worth(self) -> WorthView | None:
        return worth_view(self.one.worth)

    @property
    def suggestion(self) -> SuggestionShown | None:
        row = self.one.suggestion
        return SuggestionShown(row, self.one.policy) if row else None


def how_often(project: Project) -> dict[str, object]:
    """What repairs/completeness/_how_often.html shows."""
    told = kind_policies(project)
    kinds = [KindShown(one) for one in told.kinds]
    return {
        "kinds": kinds,
        "usual": policy_words(project.get_completeness()),
        "worth": worth_view(told.worth.overall),
        "has_holdout": any(one.policy.holdout_share for one in told.kinds) or project.get_completeness().holdout_share,
    }
