"""The review policy as it is typed: rules in an order, each field by the path that errors name it by."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext
from pydantic import ValidationError

from reflection_app.core.registry import look_of
from reflection_app.loops.task_spec import MOST_RULES, ReviewPolicy, ReviewRule, RuleAction
from reflection_app.loops.verdicts import Verdict
from reflection_app.web.forms import Listed, ListForm, Problems, Refused, paths_in, problems_of

# A rule of the review policy in a sentence.

MOST_NAMED = 5


def in_words(rule: ReviewRule) -> str:
    """Which verdicts it is about and what it does: `Pass or Revise, confidence below 60 %: waits for a person.`"""
    is_any = not rule.verdicts or len(set(rule.verdicts)) == len(Verdict)
    about = [
        _("Any verdict") if is_any else _any_of([str(look_of(verdict, "verdict").words) for verdict in rule.verdicts])
    ]
    lowest, below = rule.score_from, rule.score_below
    if lowest is not None and below is not None:
        about.append(_("score from %(lowest)s to below %(below)s") % {"lowest": f"{lowest:g}", "below": f"{below:g}"})
    elif lowest is not None:
        about.append(_("score from %(lowest)s") % {"lowest": f"{lowest:g}"})
    elif below is not None:
        about.append(_("score below %(below)s") % {"below": f"{below:g}"})
    if rule.confidence_below is not None:
        about.append(_("confidence below %(below)s") % {"below": f"{rule.confidence_below * 100:.4g} %"})
    if rule.kinds:
        about.append(_("task type %(names)s") % {"names": _any_of(rule.kinds)})
    if rule.agents:
        about.append(_("agent %(names)s") % {"names": _any_of(rule.agents)})
    if rule.cost_from_usd is not None:
        about.append(_("run cost from $%(cost)s") % {"cost": f"{rule.cost_from_usd.normalize():f}"})
    if rule.action is RuleAction.STAND:
        does = _("final at once, no review; still sampled for audit")
    elif rule.reviewers == 1:
        does = _("requires a review")
    else:
        does = ngettext(
            "requires %(count)s blind reviewer",
            "requires %(count)s blind reviewers",
            rule.reviewers,
        ) % {"count": rule.reviewers}
    if rule.share != 1:
        does = _("%(does)s (random %(share)s of matches)") % {"share": f"{rule.share * 100:.4g} %", "does": does}
    return _("%(about)s: %(does)s.") % {
        "about": pgettext("between parts of a sentence", ", ").join(about),
        "does": does,
    }


def _any_of(names: Sequence[str]) -> str:
    """`a, b or c`; of many the first few, and how many more."""
    shown, more = list(names[:MOST_NAMED]), len(names) - MOST_NAMED
    comma = pgettext("between names", ", ")
    if more > 0:
        return _("%(names)s or one of %(more)s others") % {"names": comma.join(shown), "more": more}
    if len(shown) == 1:
        return shown[0]
    return _("%(names)s or %(last)s") % {"names": comma.join(shown[:-1]), "last": shown[-1]}


TEXTS = ("name", "action", "score_from", "score_below", "confidence_below", "cost_from_usd", "share", "reviewers")
NAMES = ("kinds", "agents")
OWN = ("audit_share", "audit_reviewers")
USUAL = {"action": RuleAction.WAIT.value, "share": "100", "reviewers": "1"}
# A policy holds these as shares of one; they are typed and shown in percent.
PERCENT = frozenset({"confidence_below", "share", "audit_share"})
MOST_NAMES = 60

SCORE = gettext_lazy("Enter a number from 0 to 100.")
NAME = gettext_lazy("At most 120 characters.")
PEOPLE = gettext_lazy("Enter a whole number from 1 to 5.")
SENTENCES = {
    "score_from": SCORE,
    "score_below": SCORE,
    "confidence_below": SCORE,
    "share": gettext_lazy("Enter a number above 0 and at most 100."),
    "audit_share": SCORE,
    "cost_from_usd": gettext_lazy("Enter an amount of 0 or more with at most six decimals."),
    "reviewers": PEOPLE,
    "audit_reviewers": PEOPLE,
    "action": gettext_lazy("Choose an action for the rule."),
    "verdicts": gettext_lazy("Choose from PASS, REVISE and REJECT."),
}


@dataclass(kw_only=True)
class RuleForm(Listed):
    """What was typed into one rule. `names` are the lists that grow: one more, empty, is always there to fill in."""

    verdicts: list[str] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in NAMES})
    is_opened: bool = False

    @property
    def given(self) -> dict[str, Any]:
        filled = {name: _of_one(name, text) for name, text in self.texts.items() if text}
        return filled | {"verdicts": self.verdicts} | self.names

    @property
    def words(self) -> str:
        """The rule in a sentence, nothing while it makes no sense."""
        try:
            return in_words(ReviewRule.model_validate(self.given))
        except ValidationError:
            return ""

    @property
    def is_open(self) -> bool:
        """Whether its fields are shown: somebody is at them, or has to be."""
        return self.is_opened or self.is_moved == "added" or bool(self.errors) or not self.words


@dataclass(kw_only=True)
class PolicyForm(ListForm[RuleForm]):
    name: str = "rules"
    most: int = MOST_RULES
    unsettled_waits: bool
    digest: str = ""

    def read(self) -> ReviewPolicy:
        """The policy that was typed. Raises ValidationError."""
        given: dict[str, Any] = {name: _of_one(name, text) for name, text in self.given(*OWN).items()}
        given |= {"unsettled_waits": self.unsettled_waits, "rules": [rule.given for rule in self.listed]}
        return ReviewPolicy.model_validate(given)


def new_rule() -> RuleForm:
    return RuleForm(dict.fromkeys(TEXTS, "") | USUAL)


def problems_of_policy(error: Refused) -> Problems:
    """What is wrong with single values in the words of this form; of lists and lengths their kind tells it."""
    problems = [dict(problem) for problem in problems_of(error)]
    for problem in problems if isinstance(error, ValidationError) else ():
        path = problem["field"].split(".")
        name = "verdicts" if "verdicts" in path else path[-1]
        is_name = path[-2:-1] and path[-2] in NAMES
        problem["message"] = str(NAME if is_name else SENTENCES.get(name, problem["message"]))
    return problems


def form_of(policy: ReviewPolicy, *, digest: str) -> PolicyForm:
    """The policy that holds, as its form shows it."""
    rules = []
    for rule in policy.rules:
        texts = {name: _text(name, getattr(rule, name)) for name in TEXTS}
        names = {name: list(getattr(rule, name)) for name in NAMES}
        rules.append(RuleForm(texts, verdicts=[verdict.value for verdict in rule.verdicts], names=names))
    values = {name: _text(name, getattr(policy, name)) for name in OWN}
    return PolicyForm(values=values, listed=rules, unsettled_waits=policy.unsettled_waits, digest=digest)


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in PERCENT:
        return f"{value * 100:.10g}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _of_one(name: str, text: str) -> str:
    """What was typed in percent as a share of one; what is no number stays as it is, to be refused."""
    if name not in PERCENT:
        return text
    try:
        return str(Decimal(text.removesuffix("%").rstrip()).scaleb(-2))
    except ArithmeticError:
        return text


def read_policy_form(data: QueryDict) -> PolicyForm:
    """What was typed, rule by rule in the order of their numbers; white space around it removed."""
    rules = []
    for path in paths_in(data, "rules", most=MOST_RULES):
        texts = {name: data.get(f"{path}.{name}", "").strip() for name in TEXTS}
        typed = {name: [text.strip() for text in data.getlist(f"{path}.{name}")[:MOST_NAMES]] for name in NAMES}
        names = {name: list(dict.fromkeys(text for text in texts_ if text)) for name, texts_ in typed.items()}
        is_opened = bool(data.get(f"{path}.open"))
        verdicts = data.getlist(f"{path}.verdicts")[:10]
        rules.append(RuleForm(texts, verdicts=verdicts, names=names, is_opened=is_opened))
    return PolicyForm(
        listed=rules,
        values={name: data.get(name, "").strip() for name in OWN},
        unsettled_waits=bool(data.get("unsettled_waits")),
        digest=data.get("digest", "")[:64],
    )
