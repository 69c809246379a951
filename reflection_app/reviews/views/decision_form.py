"""The form of a decision: what it begins with, and what was typed into it."""

from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from reflection_app.loops.effects import Decision, DirectorsDecision
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.models.review import Review
from reflection_app.reviews.views.panel_view import majority_of
from reflection_app.reviews.views.undone_form import begun_with_undone

ISSUE_FIELDS = ("category", "severity", "description", "suggested_fix", "path")
SPARE_ROWS = 2
MOST_ROWS = 50
# The buttons of a rejected attempt.
DIRECTED = {
    DirectorsDecision.REDO.value: gettext_lazy("Redo with instructions"),
    DirectorsDecision.ACCEPT.value: gettext_lazy("Accept anyway"),
    DirectorsDecision.CLOSE.value: gettext_lazy("Close"),
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
    is_typed: bool = False

    @property
    def rows(self) -> tuple[dict[str, str], ...]:
        """The issues, and some empty rows to add more without JavaScript."""
        spare = min(SPARE_ROWS, MOST_ROWS - len(self.issues))
        return (*self.issues, *({"category": "other", "severity": "medium"} for _ in range(spare)))

    @property
    def said(self) -> str:
        """What was chosen, in words."""
        if self.pick:
            named = {NONE_RIGHT: _("None is right"), SEND_BACK: _("Send back")}
            return named.get(self.pick) or _("Keep attempt %(number)s") % {"number": self.pick}
        if self.decision in DIRECTED:
            return str(DIRECTED[self.decision])
        if self.decision == Decision.APPROVE.value:
            return _("Agree")
        told = {"verdict": self.verdict, "score": self.score}
        return _("Overrule %(verdict)s %(score)s") % told if self.decision else ""

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
    """The form as the review's holder begins with it: with the token, and with what they took back themselves."""
    began = replace(begun_by_anybody(review), lease_token=str(review.lease_token or ""))
    return replace(began, **begun_with_undone(review, fields=ISSUE_FIELDS))


def begun_by_anybody(review: Review) -> DecisionForm:
    """A form with the critic's score and issues, for whoever wants to overrule only a part of it.

    Where reviewers do not agree, the issues are those of most of them.
    """
    most = majority_of(review)
    issues = [issue.model_dump(mode="json") for issue in most.issues] if most else review.verdict.issues
    return DecisionForm(
        score=f"{review.verdict.score:g}",
        issues=tuple({name: str(issue.get(name, "")) for name in ISSUE_FIELDS} for issue in issues[:MOST_ROWS]),
    )


def begun_by_majority(form: DecisionForm, review: Review) -> DecisionForm:
    """The form with the verdict that most reviewers gave, where they do not agree and nothing is chosen yet."""
    most = majority_of(review) if not form.decision and not review.is_for_director else None
    return replace(form, decision=most.decision.value, verdict=most.verdict.value) if most else form


def agrees_but_changed(form: DecisionForm, data: QueryDict, review: Review) -> bool:
    """Whether the verdict is agreed with and its issues are changed: one of the two is not meant."""
    was_shown = "issue_description" in data and not review.is_pick
    return was_shown and form.decision == Decision.APPROVE.value and form.issues not in _begun_with(review)


def _begun_with(review: Review) -> tuple[tuple[dict[str, str], ...], ...]:
    """The issues that the form began with, as they come back from a browser."""
    began = prefilled(review).issues
    return began, tuple({name: text.strip() for name, text in issue.items()} for issue in began)


def holds_more(form: DecisionForm, review: Review) -> bool:
    """Whether something was typed into the form, other than what it began with."""
    began = prefilled(review)
    return bool(form.reason) or form.score != began.score or form.issues not in ((), *_begun_with(review))


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
        is_typed=True,
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
