"""The form of a decision: what it begins with, and what was typed into it."""

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from django.http import QueryDict

from reflection_app.loops.effects import Decision, DirectorsDecision
from reflection_app.loops.verdicts import Verdict
from reflection_app.models import Review

ISSUE_FIELDS = ("category", "severity", "description", "suggested_fix", "path")
SPARE_ROWS = 2
MOST_ROWS = 50
# The buttons of a rejected attempt.
DIRECTED = {
    DirectorsDecision.REDO.value: "Redo with instructions",
    DirectorsDecision.ACCEPT.value: "Accept anyway",
    DirectorsDecision.CLOSE.value: "Close",
}
# What the buttons of an unsettled pick send beside the numbers of attempts.
NONE_RIGHT, SEND_BACK = "none", "back"


@dataclass(frozen=True)
class DecisionForm:
    """Texts as typed; the action reads them. `pick` is the button that was pressed on the page of an unsettled pick."""

    decision: str = ""
    pick: str = ""
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
    def said(self) -> str:
        """What was chosen, in words."""
        if self.pick:
            return {NONE_RIGHT: "None is right", SEND_BACK: "Send back"}.get(self.pick, f"Keep attempt {self.pick}")
        if self.decision in DIRECTED:
            return DIRECTED[self.decision]
        return "Agree" if self.decision == Decision.APPROVE.value else f"Overrule {self.verdict} {self.score}"

    @property
    def reason_errors(self) -> list[str]:
        """What is wrong with the reason, which holds the instructions of a redo."""
        return [error["message"] for error in self.errors if error["field"] in {"reason", "instructions"}]

    @property
    def issue_errors(self) -> list[str]:
        return [error["message"] for error in self.errors if error["field"].startswith("issues")]

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
    # Without a button pressed now, the one that was pressed when the page came back.
    pick = (data.get("pick") or data.get("pressed", ""))[:20] if review.is_pick else ""
    return DecisionForm(
        decision=_decision_by(pick, review) if review.is_pick else data.get("decision", ""),
        pick=pick,
        verdict=data.get("verdict", ""),
        score=data.get("score", "").strip() or f"{review.verdict.score:g}",
        reason=data.get("reason", "").strip(),
        issues=read_issue_rows(data),
        lease_token=data.get("lease_token", ""),
    )


def read_issue_rows(data: QueryDict) -> tuple[dict[str, str], ...]:
    """The rows of issues that say something."""
    columns = [data.getlist(f"issue_{name}")[:MOST_ROWS] for name in ISSUE_FIELDS]
    # A page that was opened before a column was added to the form has nothing in it.
    padded = zip_longest(*columns, fillvalue="")
    rows = (dict(zip(ISSUE_FIELDS, (text.strip() for text in row), strict=True)) for row in padded)
    return tuple(row for row in rows if row["description"] or row["suggested_fix"])


def _decision_by(pick: str, review: Review) -> str:
    if not pick:
        return ""
    return (Decision.APPROVE if pick == str(review.attempt.number) else Decision.OVERRULE).value


def as_input(form: DecisionForm, review: Review) -> dict[str, Any]:
    """The decision as the action reads it. Approving says nothing but the reason: all else stays as it was."""
    told: dict[str, Any] = {"lease_token": form.lease_token, "decision": form.decision, "reason": form.reason}
    if review.is_pick:
        return told | _picked(form)
    if form.decision == DirectorsDecision.REDO.value:
        return told | {"reason": "", "instructions": form.reason, "issues": form.given_issues}
    if form.decision == Decision.OVERRULE.value:
        told["verdict"] = form.verdict or None
        told["issues"] = form.given_issues
        # A score that nobody touched was the other verdict's: the action finds the one nearest to it that fits.
        told["score"] = None if form.score == f"{review.verdict.score:g}" else form.score
    return told


def _picked(form: DecisionForm) -> dict[str, Any]:
    """What the pressed button says. Issues that were written go along, also with an attempt that is kept."""
    if form.pick in {NONE_RIGHT, SEND_BACK}:
        verdict = Verdict.REJECT if form.pick == NONE_RIGHT else Verdict.REVISE
        return {"verdict": verdict.value, "issues": form.given_issues}
    if form.decision == Decision.OVERRULE.value or form.given_issues:
        overruled = {"decision": Decision.OVERRULE.value} if form.pick else {}
        return overruled | {"verdict": Verdict.PASS.value, "attempt": form.pick, "issues": form.given_issues}
    return {}
