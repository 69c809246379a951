"""How often each kind of task is checked, what its checks found and are worth, and what is suggested."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.db.models import Count, Max, Q, Sum

from notebook_app.public import Arm, Interval, wilson
from reflection_app.core.models import Project
from reflection_app.loops.completeness.checks import (
    CheckState,
    CompletenessSettings,
    SettingsFrom,
)
from reflection_app.loops.completeness.sampling import CheckArm
from reflection_app.repairs.check_suggestions import FOUND, checks_that_tell
from reflection_app.repairs.check_worth import Worth, WorthOfChecks, worth_of_checks
from reflection_app.repairs.models import CheckDraw, CheckSuggestion, SuggestionState

# The newest checked kinds; those with settings or a suggestion are shown besides.
MOST_SHOWN = 50


@dataclass(frozen=True)
class KindChecks:
    """What the checks of a kind found: `turned` of the `incomplete` were completed by supplements."""

    checks: int = 0
    incomplete: int = 0
    turned: int = 0
    cost_usd: Decimal = Decimal(0)
    cost_known: bool = True
    not_checked: int = 0
    held_out: int = 0

    @property
    def share_incomplete(self) -> Interval | None:
        return wilson(Arm(self.checks, self.incomplete))

    @property
    def share_turned(self) -> Interval | None:
        """Of those that were found incomplete."""
        return wilson(Arm(self.incomplete, self.turned))

    @property
    def cost_each_usd(self) -> Decimal | None:
        return self.cost_usd / self.checks if self.checks else None


@dataclass(frozen=True)
class KindPolicy:
    """A kind of task; the name is empty for tasks without one, which the project's own settings are for."""

    kind: str
    policy: CompletenessSettings
    settings_from: SettingsFrom
    found: KindChecks
    worth: Worth | None
    suggestion: CheckSuggestion | None


@dataclass(frozen=True)
class KindPolicies:
    kinds: list[KindPolicy]
    worth: WorthOfChecks


def kind_policies(project: Project) -> KindPolicies:
    """The kinds that were checked lately, have settings of their own or a suggestion; suggestions first."""
    found = _found_by_kind(project.pk)
    open_ones = CheckSuggestion.objects.filter(project=project, state=SuggestionState.OPEN)
    suggested = {row.task_kind: row for row in open_ones}
    worth = worth_of_checks(project.pk)
    by_kind = project.get_completeness_by_kind()
    names: Iterable[str] = dict.fromkeys([*sorted(suggested), *found, *by_kind])
    kinds = [
        KindPolicy(
            kind=kind,
            policy=project.get_completeness(kind),
            settings_from=project.completeness_from(kind),
            found=found.get(kind, KindChecks()),
            worth=worth.by_kind.get(kind),
            suggestion=suggested.get(kind),
        )
        for kind in names
    ]
    return KindPolicies(kinds, worth)


def _found_by_kind(project_id: UUID) -> dict[str, KindChecks]:
    rows = checks_that_tell(project_id).order_by().values("task_kind")
    groups = rows.annotate(
        checks=Count("pk"),
        incomplete=Count("pk", filter=Q(state__in=FOUND)),
        turned=Count("pk", filter=Q(state=CheckState.SUPPLEMENTED.value)),
        cost=Sum("cost_usd"),
        unpriced=Count("pk", filter=Q(run__unpriced_calls__gt=0)),
        newest=Max("created_at"),
    ).order_by("-newest", "task_kind")[:MOST_SHOWN]
    left_out = CheckDraw.objects.filter(project=project_id).exclude(arm=CheckArm.CHECKED.value)
    counted = (
        left_out.order_by()
        .values("task_kind")
        .annotate(all=Count("pk"), held=Count("pk", filter=Q(arm=CheckArm.HELD_OUT.value)))
    )
    missed = {row["task_kind"]: (row["all"], row["held"]) for row in counted}
    names = [*(row["task_kind"] for row in groups)]
    found = {
        row["task_kind"]: KindChecks(
            checks=row["checks"],
            incomplete=row["incomplete"],
            turned=row["turned"],
            cost_usd=row["cost"] or Decimal(0),
            cost_known=not row["unpriced"],
            not_checked=missed.get(row["task_kind"], (0, 0))[0],
            held_out=missed.get(row["task_kind"], (0, 0))[1],
        )
        for row in groups
    }
    for kind in [kind for kind in missed if kind not in names][:MOST_SHOWN]:
        found[kind] = KindChecks(not_checked=missed[kind][0], held_out=missed[kind][1])
    return found
