"""What is said to somebody who has decided: what it was and what follows, with a link to the run."""

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from reflection_app.loops.effects import Decision, DirectorsDecision
from reflection_app.loops.verdicts import Referee, Verdict
from reflection_app.reviews.decision_input import DecisionInput
from reflection_app.reviews.directors_decision import MEANS
from reflection_app.reviews.models.panel import Panel, PanelState
from reflection_app.reviews.models.review import Review, ReviewState

AGREED = {
    Referee.CRITIC.label: gettext_lazy("You agreed with the critic: %(verdict)s."),
    Referee.SELF.label: gettext_lazy("You agreed with the model: %(verdict)s."),
}
OVERRULED = {
    Referee.CRITIC.label: gettext_lazy("You overruled the critic: %(verdict)s."),
    Referee.SELF.label: gettext_lazy("You overruled the model: %(verdict)s."),
}
DIRECTED = {
    DirectorsDecision.REDO: gettext_lazy("You ordered it to be done again."),
    DirectorsDecision.ACCEPT: gettext_lazy("You accepted it all the same."),
    DirectorsDecision.CLOSE: gettext_lazy("You closed it."),
}
FOLLOWS = {
    Verdict.PASS: gettext_lazy("The run succeeds."),
    Verdict.REVISE: gettext_lazy("The run goes on."),
    Verdict.REJECT: gettext_lazy("The run ends as rejected."),
}
WORDS = {
    Verdict.PASS: gettext_lazy("Pass"),
    Verdict.REVISE: gettext_lazy("Revise"),
    Verdict.REJECT: gettext_lazy("Reject"),
}


def said_of(review: Review, decided: DecisionInput, *, slug: str) -> SafeString:
    """What was decided and what follows: the page itself goes on to the next review."""
    what, verdict = _what(review, decided)
    follows = _what_follows(review, verdict)
    address = reverse("run", args=(slug, review.run_id))
    label = _("Watch the run") if review.holds_run else _("Open the run")
    return format_html('{} <a href="{}">{}</a>', " ".join(filter(None, (what, follows))), address, label)


def _what_follows(review: Review, verdict: Verdict) -> str:
    """Of one of several blind reviewers, that it is kept, and for how many it waits: the last of them settles it."""
    if review.panel is not None and review.is_seat:
        return f"{_('It is kept with what the others say.')} {_what_the_panel_does(review.panel)}".strip()
    return str(FOLLOWS[verdict]) if review.holds_run else ""


def _what_the_panel_does(panel: Panel) -> str:
    """What follows from the opinions that are in; not what they say before all are."""
    if panel.state == PanelState.SETTLED:
        return _("All are in, and the verdict is in force.")
    if panel.state == PanelState.DISPUTED:
        return _("All are in, and they differ: one more person decides.")
    if panel.state == PanelState.WITHDRAWN:
        return _("The run has ended without them.")
    missing = panel.wanted - panel.seats.filter(state=ReviewState.DECIDED, opinion__isnull=False).count()
    said = ngettext(
        "Nothing follows before %(missing)s more is in.", "Nothing follows before %(missing)s more are in.", missing
    )
    return said % {"missing": missing}


def _what(review: Review, decided: DecisionInput) -> tuple[str, Verdict]:
    if review.is_pick:
        return _picked(review, decided)
    if isinstance(decided.decision, DirectorsDecision):
        return str(DIRECTED[decided.decision]), MEANS[decided.decision]
    agreed = decided.decision is Decision.APPROVE
    verdict = Verdict(review.verdict.verdict) if agreed or decided.verdict is None else decided.verdict
    # Of a verdict that was a person's or a test's, nobody is named.
    others = _("You agreed with the verdict: %(verdict)s.") if agreed else _("You overruled the verdict: %(verdict)s.")
    said = str((AGREED if agreed else OVERRULED).get(review.verdict.referee_label, others))
    return said % {"verdict": WORDS[verdict]}, verdict


def _picked(review: Review, decided: DecisionInput) -> tuple[str, Verdict]:
    verdict = Verdict.PASS if decided.decision is Decision.APPROVE or decided.verdict is None else decided.verdict
    kept = _("You kept attempt %(number)s.") % {"number": decided.attempt or review.attempt.number}
    what = {
        Verdict.PASS: kept,
        Verdict.REVISE: _("You sent it back."),
        Verdict.REJECT: _("You found no attempt right."),
    }
    return what[verdict], verdict
