"""A rule of the review policy in a sentence."""

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from reflection_app.loops.review_rules import ReviewRule, RuleAction
from reflection_app.loops.verdicts import Verdict

MOST_NAMED = 5


def in_words(rule: ReviewRule) -> str:
    """Which verdicts it is about and what it does: `PASS or REVISE, confidence below 0.6: waits for a person.`"""
    about = ", ".join([_which(rule), *_conditions(rule)])
    return _("%(about)s: %(does)s.") % {"about": about, "does": _does(rule)}


def _which(rule: ReviewRule) -> str:
    if not rule.verdicts or len(set(rule.verdicts)) == len(Verdict):
        return _("Any verdict")
    return _any_of([verdict.value for verdict in rule.verdicts])


def _conditions(rule: ReviewRule) -> list[str]:
    said = []
    lowest, below = rule.score_from, rule.score_below
    if lowest is not None and below is not None:
        said.append(_("score from %(lowest)s to below %(below)s") % {"lowest": f"{lowest:g}", "below": f"{below:g}"})
    elif lowest is not None:
        said.append(_("score from %(lowest)s") % {"lowest": f"{lowest:g}"})
    elif below is not None:
        said.append(_("score below %(below)s") % {"below": f"{below:g}"})
    if rule.confidence_below is not None:
        said.append(_("confidence below %(below)s") % {"below": f"{rule.confidence_below:g}"})
    if rule.kinds:
        said.append(_("task type %(names)s") % {"names": _any_of(rule.kinds)})
    if rule.agents:
        said.append(_("agent %(names)s") % {"names": _any_of(rule.agents)})
    if rule.cost_from_usd is not None:
        said.append(_("run's cost from $%(cost)s") % {"cost": f"{rule.cost_from_usd.normalize():f}"})
    return said


def _does(rule: ReviewRule) -> str:
    if rule.action is RuleAction.STAND:
        does = _("stands at once; only the audit may still draw it")
    elif rule.reviewers == 1:
        does = _("waits for a person")
    else:
        does = ngettext(
            "waits for %(count)s reviewer who judges blindly",
            "waits for %(count)s reviewers who judge blindly",
            rule.reviewers,
        ) % {"count": rule.reviewers}
    if rule.share == 1:
        return does
    return _("a random %(share)s of these %(does)s") % {"share": f"{rule.share * 100:.4g} %", "does": does}


def _any_of(names: Sequence[str]) -> str:
    """`a, b or c`; of many the first few, and how many more."""
    shown, more = list(names[:MOST_NAMED]), len(names) - MOST_NAMED
    if more > 0:
        return _("%(names)s or one of %(more)s more") % {"names": ", ".join(shown), "more": more}
    if len(shown) == 1:
        return shown[0]
    return _("%(names)s or %(last)s") % {"names": ", ".join(shown[:-1]), "last": shown[-1]}
