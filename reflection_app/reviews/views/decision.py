"""The form of a decision: what it begins with, and what was typed into it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from itertools import zip_longest
from typing import Any

from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from reflection_app.core.errors import ActionError, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.core.registry import VERDICTS
from reflection_app.loops.attempt_effects import Decision, DirectorsDecision, EditDecision
from reflection_app.loops.rubrics import Criterion, Rating
from reflection_app.loops.verdicts import Referee, Verdict
from reflection_app.reviews.assigning import LONGEST_NOTE, assignable
from reflection_app.reviews.deciding import undone_by_holder
from reflection_app.reviews.decisions import LONGEST_EDITED
from reflection_app.reviews.editing import is_same, why_not_edited
from reflection_app.reviews.models import PanelState, Review, ReviewSkip, ReviewState
from reflection_app.reviews.views.issue_rows import ISSUE_FIELDS, issue_row, issues_of_rows, says_something, texts_of
from reflection_app.reviews.views.item import majority_of
from reflection_app.web.access import DeskRequest, Place

# What is said to somebody who has decided: what it was and what follows, with a link to the run.

AGREED = {
    Referee.CRITIC.label: gettext_lazy("You agreed with the critic: %(verdict)s."),
    Referee.SELF.label: gettext_lazy("You agreed with the model: %(verdict)s."),
}
OVERRULED = {
    Referee.CRITIC.label: gettext_lazy("You overruled the critic: %(verdict)s."),
    Referee.SELF.label: gettext_lazy("You overruled the model: %(verdict)s."),
}
DIRECTED = {
    DirectorsDecision.REDO: gettext_lazy("You ordered a redo."),
    DirectorsDecision.ACCEPT: gettext_lazy("You accepted the rejected attempt."),
    DirectorsDecision.CLOSE: gettext_lazy("You closed the review."),
}
FOLLOWS = {
    Verdict.PASS: gettext_lazy("The run succeeds."),
    Verdict.REVISE: gettext_lazy("The run continues."),
    Verdict.REJECT: gettext_lazy("The run ends as rejected."),
}


def decision_message(review: Review, *, slug: str) -> SafeString:
    """What was decided and what follows: the page itself goes on to the next review."""
    what, verdict = _what(review)
    if review.panel is not None and review.is_seat:
        # Of one of several blind reviewers what follows from the opinions that are in, and for how many it waits: the
        # last of them settles it. Not what they say before all are in.
        if review.panel.state == PanelState.SETTLED:
            follows = _("All opinions are in. The verdict is final.")
        elif review.panel.state == PanelState.DISPUTED:
            follows = _("All opinions are in and differ. One more reviewer decides.")
        elif review.panel.state == PanelState.WITHDRAWN:
            follows = _("The run ended before all opinions were in.")
        else:
            given = review.panel.seats.filter(state=ReviewState.DECIDED, opinion__isnull=False).count()
            missing = review.panel.wanted - given
            follows = ngettext(
                "Waiting for %(missing)s more reviewer.",
                "Waiting for %(missing)s more reviewers.",
                missing,
            ) % {"missing": missing}
        saved = _("Saved with the other opinions.")
        follows = f"{saved} {follows}".strip()
    else:
        follows = str(FOLLOWS[verdict]) if review.holds_run else ""
    address = reverse("run", args=(slug, review.run_id))
    label = _("View run") if review.holds_run else _("Open run")
    return format_html('{} <a href="{}">{}</a>', " ".join(filter(None, (what, follows))), address, label)


def verdict_of(review: Review) -> Verdict:
    """The verdict that was given with the decision: at a seat by its holder, else the one that holds since."""
    opinion, given = review.get_opinion(), review.decided_verdict
    if review.is_edited:
        return Verdict.PASS
    return Verdict(opinion.verdict if opinion else given.verdict if given else review.verdict.verdict)


def _what(review: Review) -> tuple[str, Verdict]:
    opinion, given, verdict = review.get_opinion(), review.decided_verdict, verdict_of(review)
    if review.is_pick:
        picked = opinion.picked if opinion else given.attempt.number if given else None
        kept = _("You selected attempt %(number)s.") % {"number": picked or review.attempt.number}
        words = {
            Verdict.PASS: kept,
            Verdict.REVISE: _("You sent the task back."),
            Verdict.REJECT: _("You accepted no attempt."),
        }
        return words[verdict], verdict
    if review.is_edited:
        return _("You edited the answer. Your text is now the final answer."), verdict
    if directed := review.directors_decision_with(verdict.value):
        return str(DIRECTED[directed]), verdict
    agreed = review.decision == Decision.APPROVE.value
    # Of a verdict that was a person's or a test's, nobody is named.
    others = _("You agreed with the verdict: %(verdict)s.") if agreed else _("You overruled the verdict: %(verdict)s.")
    said = str((AGREED if agreed else OVERRULED).get(review.verdict.referee_label, others))
    return said % {"verdict": VERDICTS[verdict].words}, verdict


# What was decided before it was taken back, as the form of the decision begins with it.


def begun_with_undone(review: Review) -> dict[str, Any]:
    """What the form begins with for whoever holds a review whose decision was taken back; nothing for all others."""
    said = undone_by_holder(review) if review.state == ReviewState.CLAIMED else None
    if said is None or not said.get("verdict"):
        return {}
    issues = tuple(issue_row(issue) for issue in said["issues"])
    begun = {"verdict": said["verdict"], "score": f"{said['score']:g}", "reason": said["reason"], "issues": issues}
    if said.get("ratings"):
        begun["ratings"] = _typed_ratings(map(Rating.model_validate, said["ratings"]))
    if review.is_pick:
        # The button that was pressed on the page of an unsettled pick.
        buttons = {Verdict.REJECT.value: "none", Verdict.REVISE.value: "back"}
        number = said.get("attempt") or said.get("picked") or review.attempt.number
        pressed = buttons.get(said["verdict"], str(number))
        return begun | {"pick": pressed}
    if said.get("edited") and review.edited_answer is not None:
        return begun | {"decision": EDIT, "edited_answer": review.edited_answer}
    directed = said.get("directors_decision")
    if directed == DirectorsDecision.REDO:
        # The order itself is the first of them, and stands in the reason.
        begun["issues"] = issues[1:]
    return begun | {"decision": directed or said["decision"]}


SPARE_ROWS = 2
MOST_ROWS = 50
# The buttons of a rejected attempt.
DIRECTED_IN_FORM = {
    DirectorsDecision.REDO.value: gettext_lazy("Redo with instructions"),
    DirectorsDecision.ACCEPT.value: gettext_lazy("Accept anyway"),
    DirectorsDecision.CLOSE.value: gettext_lazy("Close"),
}
EDIT = EditDecision.EDIT.value
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
    edited_answer: str = ""
    lease_token: str = ""
    # By the criterion's key, the value and the reason.
    ratings: dict[str, tuple[str, str]] = field(default_factory=dict)
    errors: list[dict[str, str]] = field(default_factory=list)
    is_typed: bool = False

    @property
    def rows(self) -> tuple[dict[str, str], ...]:
        return with_spare_rows(self.issues)

    @property
    def said(self) -> str:
        """What was chosen, in words."""
        if self.pick:
            named = {NONE_RIGHT: _("None is correct"), SEND_BACK: _("Send back")}
            return named.get(self.pick) or _("Select attempt %(number)s") % {"number": self.pick}
        if self.decision in DIRECTED_IN_FORM:
            return str(DIRECTED_IN_FORM[self.decision])
        if self.decision == Decision.APPROVE.value:
            return _("Agree")
        if self.decision == EDIT:
            return _("Edit answer")
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
    def given_issues(self) -> list[dict[str, Any]]:
        """The rows that say something: one whose description was emptied is taken out."""
        return [issue for issue in self.issues if says_something(issue)]


def with_spare_rows(issues: tuple[dict[str, str], ...]) -> tuple[dict[str, str], ...]:
    """The issues, and some empty rows to add more without JavaScript."""
    spare = min(SPARE_ROWS, MOST_ROWS - len(issues))
    return (*issues, *({"category": "other", "severity": "medium"} for _ in range(spare)))


def prefilled(review: Review) -> DecisionForm:
    """The form as the review's holder begins with it: with the token, and with what they took back themselves."""
    began = replace(begun_by_anybody(review), lease_token=str(review.lease_token or ""))
    return replace(began, **begun_with_undone(review))


def begun_by_anybody(review: Review) -> DecisionForm:
    """A form with the critic's score and issues, for whoever wants to overrule only a part of it.

    Where reviewers do not agree, the issues are those of most of them.
    """
    most = majority_of(review)
    issues = [issue.model_dump(mode="json") for issue in most.issues] if most else review.verdict.issues
    return DecisionForm(
        score=f"{review.verdict.score:g}",
        issues=tuple(issue_row(issue) for issue in issues[:MOST_ROWS]),
        ratings=_typed_ratings(most.ratings if most else review.verdict.get_ratings()),
    )


def _typed_ratings(ratings: Iterable[Rating]) -> dict[str, tuple[str, str]]:
    return {rating.criterion: (rating.value, rating.why) for rating in ratings}


def begun_by_majority(form: DecisionForm, review: Review) -> DecisionForm:
    """The form with the verdict that most reviewers gave, where they do not agree and nothing is chosen yet."""
    most = majority_of(review) if not form.decision and not review.is_for_director else None
    return replace(form, decision=most.decision.value, verdict=most.verdict.value) if most else form


def agrees_but_changed(form: DecisionForm, data: QueryDict, review: Review) -> bool:
    """Whether the verdict is agreed with and its issues are changed: one of the two is not meant."""
    was_shown = "issue_description" in data and not review.is_pick
    is_changed = form.issues not in _begun_with(review) or _rates_otherwise(form, review)
    return was_shown and form.decision == Decision.APPROVE.value and is_changed


def _rates_otherwise(form: DecisionForm, review: Review) -> bool:
    """Whether the ratings are others than the form began with."""
    return bool(form.ratings) and form.ratings != prefilled(review).ratings


def _begun_with(review: Review) -> tuple[tuple[dict[str, str], ...], ...]:
    """The issues that the form began with, as they come back from a browser."""
    began = prefilled(review).issues
    return began, tuple({name: text.strip() for name, text in issue.items()} for issue in began)


def holds_more(form: DecisionForm, review: Review) -> bool:
    """Whether something was typed into the form, other than what it began with."""
    began = prefilled(review)
    # Without a field for it nothing was sent.
    text = form.edited_answer.strip()
    was_edited = bool(text) and not is_same(form.edited_answer, began.edited_answer or review.attempt.content)
    changed = form.score != began.score or form.issues not in ((), *_begun_with(review))
    return bool(form.reason) or was_edited or changed or _rates_otherwise(form, review)


def read_decision(data: QueryDict, review: Review) -> DecisionForm:
    """What was typed, with the token that the form was shown with."""
    # Without a button pressed now, the one that was pressed when the page came back.
    pick = (data.get("pick") or data.get("pressed", ""))[:20] if review.is_pick else ""
    decision = EDIT if "editing" in data else data.get("decision", "")
    if review.is_pick:
        decides = Decision.APPROVE if pick == str(review.attempt.number) else Decision.OVERRULE
        decision = decides.value if pick else ""
    return DecisionForm(
        decision=decision,
        pick=pick,
        verdict=data.get("verdict", ""),
        score=data.get("score", "").strip() or f"{review.verdict.score:g}",
        reason=data.get("reason", "").strip(),
        issues=read_issue_rows(data),
        edited_answer=_with_ends_of(review.attempt.content, data.get("edited_answer", "")),
        lease_token=data.get("lease_token", ""),
        ratings={
            one.key: (value, data.get(f"why.{one.key}", "").strip())
            for one in _criteria_of(review)
            if (value := data.get(f"rating.{one.key}", "").strip())
        },
        is_typed=True,
    )


# The fields of the form that are named otherwise than what they give. Either a reason or an issue says what to revise.
FIELDS = {"instructions": "reason", "issues": "reason", "attempt": "pick"}


def wrong_field(problem: ActionError | None) -> str:
    """Return the name of the form's field that a refused decision is about; empty where it is about none."""
    errors = problem.errors if isinstance(problem, InvalidInput) else []
    named = next((str(error["field"]) for error in errors if error["field"]), "")
    field_name = FIELDS.get(named.partition(".")[0], named)
    return field_name.replace("ratings.", "rating.", 1)


def _criteria_of(review: Review) -> tuple[Criterion, ...]:
    if review.is_pick or not review.run.spec.get("rubric"):
        return ()
    rubric = review.run.get_spec().rubric
    return rubric.criteria if rubric else ()


def _with_ends_of(content: str, text: str) -> str:
    """The text with line ends as the attempt has them: a browser sends its own."""
    plain = text.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if "\r\n" in content else plain


def read_issue_rows(data: QueryDict) -> tuple[dict[str, str], ...]:
    """The rows of issues that say something."""
    columns = [data.getlist(f"issue_{name}")[:MOST_ROWS] for name in ISSUE_FIELDS]
    # A page that was opened before a column was added to the form has nothing in it.
    padded = zip_longest(*columns, fillvalue="")
    rows = (dict(zip(ISSUE_FIELDS, (text.strip() for text in row), strict=True)) for row in padded)
    return tuple(row for row in rows if says_something(row))


def as_input(form: DecisionForm, review: Review) -> dict[str, Any]:
    """The decision as the action reads it. Approving says nothing but the reason: all else stays as it was."""
    told: dict[str, Any] = {"lease_token": form.lease_token, "decision": form.decision, "reason": form.reason}
    if form.decision == Decision.APPROVE.value and not review.is_pick:
        return told
    issues = issues_of_rows(form.given_issues, texts_of(review, first=form.pick))
    if review.is_pick:
        # What the pressed button says. Issues that were written go along, also with an attempt that is kept.
        if form.pick in {NONE_RIGHT, SEND_BACK}:
            verdict = Verdict.REJECT if form.pick == NONE_RIGHT else Verdict.REVISE
            return told | {"verdict": verdict.value, "issues": issues}
        if form.decision == Decision.OVERRULE.value or issues:
            told |= {"verdict": Verdict.PASS.value, "attempt": form.pick, "issues": issues}
            if form.pick:
                told["decision"] = Decision.OVERRULE.value
        return told
    if form.decision == EDIT:
        return told | {"edited_answer": form.edited_answer}
    if form.decision == DirectorsDecision.REDO.value:
        return told | {"reason": "", "instructions": form.reason, "issues": issues}
    if form.decision == Decision.OVERRULE.value:
        told["verdict"] = form.verdict or None
        told["issues"] = issues
        # A score that nobody touched was the other verdict's: the action finds the one nearest to it that fits.
        told["score"] = None if form.score == f"{review.verdict.score:g}" else form.score
        if _criteria_of(review):
            told["score"] = None
            told["ratings"] = {key: {"value": value, "why": why} for key, (value, why) in form.ratings.items()}
    return told


# What the user did last at the desk, as long as it is fresh: a decision or a skip that one key takes back.

FRESH = timedelta(minutes=15)
# The pages of the queue and its items, and the addresses whose answers an open item's page takes in.
REVIEWING = frozenset({"reviews", "review", "decide_review", "skip_review", "claim_review", "peek_review"})
NOT_TOLD = (
    *("run__spec", "run__edited_prompts", "run__task__tests", "run__task__metadata"),
    *(f"{which}__{name}" for which in ("verdict", "decided_verdict") for name in ("issues", "feedback", "tests")),
)


@dataclass(frozen=True)
class LastDecision:
    """A decision, or a skip, of which there is nothing to tell but the review. `is_told`: it is too late to undo it."""

    review: Review
    slug: str
    is_skip: bool = False
    is_told: bool = False

    @cached_property
    def said(self) -> SafeString:
        return decision_message(self.review, slug=self.slug)

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.review)

    @property
    def from_step(self) -> int | None:
        """Where a fork would begin that decides otherwise."""
        return self.review.step.seq if self.review.holds_run and self.review.step else None


def last_decision(request: HttpRequest) -> LastDecision | None:
    """The user's last decision or skip on the pages of reviews, where it is fresh and not taken back yet."""
    # What this very request has decided need not be looked for.
    known: LastDecision | None = getattr(request, "last_decision", None)
    if known is not None:
        return known
    place: Place | None = getattr(request, "place", None)
    match = request.resolver_match
    if place is None or match is None or match.url_name not in REVIEWING or not place.may(Permission.REVIEW):
        return None
    since = timezone.now() - FRESH
    reviews = Review.objects.filter(project=place.project)
    decided = reviews.filter(decided_by=place.actor.user, state=ReviewState.DECIDED, decided_at__gt=since)
    # Which it is, before it is asked for with all that its words need: there often is none, and PostgreSQL takes as
    # long to plan the whole question as the rest of the page takes.
    newest = decided.order_by("-decided_at", "-id").values_list("pk", "decided_at").first()
    skips = ReviewSkip.objects.filter(by_label=place.actor.label, review__project=place.project, created_at__gt=since)
    if newest is not None:
        skips = skips.filter(created_at__gt=newest[1])
    skipped = skips.order_by("-created_at").values_list("review", flat=True).first()
    found = skipped or (newest and newest[0])
    told_of = reviews.select_related("run__task", "verdict", "decided_verdict").defer(*NOT_TOLD)
    review = told_of.filter(pk=found).first() if found else None
    if review is None:
        return None
    is_told = review.decided_seq is not None and review.run.told_seq >= review.decided_seq
    return LastDecision(review, place.project.slug, is_skip=skipped is not None, is_told=is_told)


# Whom a review is kept for, and who it can be given to. The page of a review has it as `assigning`.


def assigning_of(request: DeskRequest, review: Review) -> dict[str, Any] | None:
    """None where the review is closed. `to` and `note` are what was typed and refused."""
    if not review.is_open:
        return None
    may_assign = request.place.may(Permission.REVIEW)
    people = assignable(review, actor=request.place.actor) if may_assign else []
    return {
        "people": [user.get_username() for user in people],
        "assignee": review.assignee.get_username() if review.assignee else "",
        "is_for_me": review.assignee_id == request.user.pk,
        "to": request.POST.get("to", ""),
        "note": request.POST.get("note", ""),
        "longest": LONGEST_NOTE,
    }


# Editing the answer on a review's page: what the field begins with.


def editing_of(review: Review, form: DecisionForm, *, is_mine: bool) -> dict[str, Any] | None:
    """None where the reader cannot edit the answer, nor had begun to; also of one too long to be handed in again."""
    content = review.attempt.content
    is_typed = form.decision == EDIT
    may = is_mine and not why_not_edited(review, review.run) and len(content) <= LONGEST_EDITED
    if not review.is_open or review.is_pick or not (may or is_typed):
        return None
    return {
        "text": form.edited_answer if is_typed or form.edited_answer.strip() else content,
        "errors": [error["message"] for error in form.errors if error["field"] == "edited_answer"],
        "is_begun": is_typed,
        "longest": LONGEST_EDITED,
    }
