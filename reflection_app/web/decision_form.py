"""The form of a decision: what it begins with, and what was typed into it."""

from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from reflection_app.loops.effects import Decision
from reflection_app.models import Review

ISSUE_FIELDS = ("category", "severity", "description", "suggested_fix")
SPARE_ROWS = 2
MOST_ROWS = 50


@dataclass(frozen=True)
class DecisionForm:
    """Texts as typed; the action reads them."""

    decision: str = ""
    verdict: str = ""
    score: str = ""
    reason: str = ""
    issues: tuple[dict[str, str], ...] = ()
    lease_token: str = ""
    errors: list[dict[str, str]] = field(default_factory=list)

    @property
    def rows(self) -> tuple[dict[str, str], ...]:
        """The issues, and some empty rows to add more without JavaScript."""
        spare = min(SPARE_ROWS, MOST_ROWS - len(self.issues))
        return (*self.issues, *({"category": "other", "severity": "medium"} for _ in range(spare)))

    @property
    def given_issues(self) -> list[dict[str, str]]:
        """The rows that say something: one whose description was emptied is taken out."""
        return [issue for issue in self.issues if issue["description"] or issue["suggested_fix"]]


def prefilled(review: Review) -> DecisionForm:
    """A form with the critic's score and issues, for whoever wants to overrule only a part of it."""
    return DecisionForm(
        score=f"{review.verdict.score:g}",
        issues=tuple({name: str(issue.get(name, "")) for name in ISSUE_FIELDS} for issue in review.verdict.issues),
        lease_token=str(review.lease_token or ""),
    )


def holds_more(form: DecisionForm, review: Review) -> bool:
    """Whether something was typed into the form, other than what it began with."""
    began = prefilled(review)
    issues = tuple({name: text.strip() for name, text in issue.items()} for issue in began.issues)
    return bool(form.reason) or form.score != began.score or form.issues not in ((), began.issues, issues)


def read_decision(data: QueryDict, review: Review) -> DecisionForm:
    """What was typed, with the token that the form was shown with."""
    columns = [data.getlist(f"issue_{name}")[:MOST_ROWS] for name in ISSUE_FIELDS]
    rows = (dict(zip(ISSUE_FIELDS, (text.strip() for text in row), strict=True)) for row in zip(*columns, strict=False))
    return DecisionForm(
        decision=data.get("decision", ""),
        verdict=data.get("verdict", ""),
        score=data.get("score", "").strip() or f"{review.verdict.score:g}",
        reason=data.get("reason", "").strip(),
        issues=tuple(row for row in rows if row["description"] or row["suggested_fix"]),
        lease_token=data.get("lease_token", ""),
    )


def as_input(form: DecisionForm, review: Review) -> dict[str, Any]:
    """The decision as the action reads it. Approving says nothing but the reason: all else stays as it was."""
    told: dict[str, Any] = {"lease_token": form.lease_token, "decision": form.decision, "reason": form.reason}
    if form.decision == Decision.OVERRULE.value:
        told["verdict"] = form.verdict or None
        told["issues"] = form.given_issues
        # A score that nobody touched was the other verdict's: the action finds the one nearest to it that fits.
        told["score"] = None if form.score == f"{review.verdict.score:g}" else form.score
    return told
