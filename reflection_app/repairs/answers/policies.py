"""How often kinds of tasks are checked, what that is worth, and what is suggested, as REST tells it."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import AwareDatetime, Field

from notebook_app.public import Claim
from reflection_app.api.reading import Answer, Money, OrNull, PageAnswer
from reflection_app.loops.completeness.checks import SettingsFrom
from reflection_app.loops.completeness.sampling import When
from reflection_app.notebook.answers import IntervalAnswer, LookAnswer
from reflection_app.repairs.answers.check_settings import CheckSettingsAnswer
from reflection_app.repairs.check_policy import Why
from reflection_app.repairs.check_suggestions import evidence_in
from reflection_app.repairs.check_worth import Worth
from reflection_app.repairs.kind_policies import KindPolicies, KindPolicy
from reflection_app.repairs.models import CheckSuggestion, SuggestionState


class SuggestionEvidence(Answer):
    """The figures that the suggestion rests on, as they were when it was made."""

    checks: int
    incomplete: int
    turned: int = Field(description="completed by supplements")
    low: float = Field(description="of the share that was found incomplete, the 95 % interval")
    high: float
    cost_each_usd: Money | None = Field(description="of one check; null where a price is not known")
    total: int = Field(description="all checks of the kind until then")
    before_high: float | None = Field(description="where more was found: the end of the interval of the checks before")
    with_more: int = Field(description="of advice on supplements: checks that asked for more than are advised")
    turned_with_more: int
    difference: float | None = Field(description="of advice by the hold-out: success with a check less without")
    difference_low: float | None
    difference_high: float | None


class PolicyChange(Answer):
    """What would be set for the kind; null: it stays."""

    when: When | None = None
    share: float | None = None
    max_supplements: int | None = None


class CheckSuggestionAnswer(Answer):
    """A policy of checks that is suggested for a kind of task. Nothing changes before somebody accepts it."""

    id: UUID
    kind: str = Field(validation_alias="task_kind")
    why: Why
    change: PolicyChange
    evidence: SuggestionEvidence
    state: SuggestionState
    decided_by: Annotated[str | None, OrNull] = Field(validation_alias="decided_by_label")
    decided_at: AwareDatetime | None
    created_at: AwareDatetime


class CheckSuggestionPage(PageAnswer):
    results: list[CheckSuggestionAnswer]


class CheckedArm(Answer):
    """Runs that were checked, or that a lot held out, and how they ended."""

    outcomes: int
    successes: int = Field(description="runs whose end was accepted, by whoever judged it; the check has no say")
    rate: IntervalAnswer | None = Field(description="with Wilson's interval; null without outcomes")


class CheckWorth(Answer):
    """What checks are worth. `claim` follows from the looks alone; the intervals describe."""

    checked: CheckedArm
    held_out: CheckedArm
    difference: IntervalAnswer | None = Field(description="checked minus held out, with Newcombe's interval")
    claim: Claim
    looks: list[LookAnswer]
    next_look_at: int = Field(description="outcomes of the smaller arm at the next look")
    needs_runs: int | None = Field(description="about how many more runs, for a power of 80 %; null: out of reach")
    mixed_shares: bool = Field(description="whether the share that is held out was changed meanwhile")


class CheckPolicy(Answer):
    """How often tasks of a kind are checked, what that found, and what is suggested."""

    kind: str = Field(description="empty: tasks without a kind, for which the project's own settings hold")
    settings: CheckSettingsAnswer
    settings_from: SettingsFrom
    checked_share: float = Field(description="of the runs, but for the hold-out")
    checks: int
    incomplete: int
    share_incomplete: IntervalAnswer | None
    turned: int
    share_turned: IntervalAnswer | None = Field(description="of those that were found incomplete")
    cost_each_usd: Money | None = Field(description="null without checks, or where a price is not known")
    not_checked: int = Field(description="runs that a lot left unchecked")
    held_out: int = Field(description="of them, those that would have been checked")
    worth: CheckWorth | None = Field(description="null without a hold-out")
    suggestion: CheckSuggestionAnswer | None


class CheckPolicies(Answer):
    """What holds for each kind; it is set by the settings of the completeness check."""

    worth: CheckWorth = Field(description="over all kinds")
    kinds: list[CheckPolicy]


def suggestion_answer(row: CheckSuggestion) -> CheckSuggestionAnswer:
    evidence = evidence_in(row)
    cost = evidence.cost_each_usd if evidence.cost_known else None
    return CheckSuggestionAnswer.from_row(
        row,
        change=PolicyChange(**row.change),
        evidence=SuggestionEvidence.from_row(evidence, cost_each_usd=cost),
    )


def worth_answer(worth: Worth) -> CheckWorth:
    measured = worth.measured
    return CheckWorth.from_row(
        worth,
        checked=CheckedArm.from_row(measured.given, rate=measured.given_rate),
        held_out=CheckedArm.from_row(measured.withheld, rate=measured.withheld_rate),
        difference=measured.difference,
        looks=measured.judged.looks,
        next_look_at=measured.judged.next_size,
        needs_runs=measured.needed.more_runs if measured.outcomes.highest_share else None,
        mixed_shares=measured.has_mixed_shares,
    )


def policy_answer(one: KindPolicy) -> CheckPolicy:
    found = one.found
    told: dict[str, Any] = {name: getattr(found, name) for name in ("checks", "incomplete", "turned")}
    return CheckPolicy.from_row(
        one,
        settings=CheckSettingsAnswer.from_row(one.policy),
        checked_share=one.policy.checked_share,
        **told,
        share_incomplete=found.share_incomplete,
        share_turned=found.share_turned,
        cost_each_usd=found.cost_each_usd if found.cost_known else None,
        not_checked=found.not_checked,
        held_out=found.held_out,
        worth=worth_answer(one.worth) if one.worth else None,
        suggestion=suggestion_answer(one.suggestion) if one.suggestion else None,
    )


def policies_answer(told: KindPolicies) -> CheckPolicies:
    return CheckPolicies(worth=worth_answer(told.worth.overall), kinds=[policy_answer(one) for one in told.kinds])
