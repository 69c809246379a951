"""The review policy as it is typed: rules in an order, each field by the path that errors name it by."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext
from pydantic import ValidationError

from reflection_app.core.models import Project
from reflection_app.core.registry import look_of
from reflection_app.loops.task_spec import MOST_RULES, ReviewPolicy, ReviewRule, RuleAction
from reflection_app.loops.verdicts import Verdict
from reflection_app.reviews.policy import MOST_VERDICTS, PolicyTrial, try_policy
from reflection_app.web.forms import Form, Problems, Refused, TypedField, number_them, problems_of, rearrange

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
        about.append(_("run's cost from $%(cost)s") % {"cost": f"{rule.cost_from_usd.normalize():f}"})
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
    if rule.share != 1:
        does = _("a random %(share)s of these %(does)s") % {"share": f"{rule.share * 100:.4g} %", "does": does}
    return _("%(about)s: %(does)s.") % {
        "about": pgettext("between parts of a sentence", ", ").join(about),
        "does": does,
    }


def _any_of(names: Sequence[str]) -> str:
    """`a, b or c`; of many the first few, and how many more."""
    shown, more = list(names[:MOST_NAMED]), len(names) - MOST_NAMED
    comma = pgettext("between names", ", ")
    if more > 0:
        return _("%(names)s or one of %(more)s more") % {"names": comma.join(shown), "more": more}
    if len(shown) == 1:
        return shown[0]
    return _("%(names)s or %(last)s") % {"names": comma.join(shown[:-1]), "last": shown[-1]}


TEXTS = ("name", "action", "score_from", "score_below", "confidence_below", "cost_from_usd", "share", "reviewers")
NAMES = ("kinds", "agents")
OWN = ("audit_share", "audit_reviewers")
USUAL = {"action": RuleAction.WAIT.value, "share": "100", "reviewers": "1"}
MOST_DIGITS = 20
# A policy holds these as shares of one; they are typed and shown in percent.
PERCENT = frozenset({"confidence_below", "share", "audit_share"})
PLACE = re.compile(r"rules\.(\d{1,3})\.action")
MOST_NAMES = 60

SCORE = gettext_lazy("A number from 0 to 100.")
NAME = gettext_lazy("At most 120 characters.")
PEOPLE = gettext_lazy("A whole number from 1 to 5.")
SENTENCES = {
    "score_from": SCORE,
    "score_below": SCORE,
    "confidence_below": SCORE,
    "share": gettext_lazy("A number above 0, at most 100."),
    "audit_share": SCORE,
    "cost_from_usd": gettext_lazy("An amount from 0, with at most six decimals."),
    "reviewers": PEOPLE,
    "audit_reviewers": PEOPLE,
    "action": gettext_lazy("Choose what the rule does."),
    "verdicts": gettext_lazy("Choose among PASS, REVISE and REJECT."),
}


@dataclass
class RuleForm:
    """What was typed into one rule. `names` are the lists that grow: one more, empty, is always there to fill in."""

    texts: dict[str, str]
    verdicts: list[str]
    names: dict[str, list[str]]
    errors: dict[str, list[str]] = field(default_factory=dict)
    position: int = 0
    is_moved: str = ""
    is_opened: bool = False

    @property
    def number(self) -> int:
        return self.position + 1

    @property
    def path(self) -> str:
        return f"rules.{self.position}"

    @property
    def fields(self) -> dict[str, TypedField]:
        return {
            name: TypedField(f"{self.path}.{name}", text, self.errors.get(name, []))
            for name, text in self.texts.items()
        }

    @property
    def lists(self) -> dict[str, TypedField]:
        """The fields of names, for what is wrong with them."""
        return {name: TypedField(f"{self.path}.{name}", "", self.errors.get(name, [])) for name in (*NAMES, "verdicts")}

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
class PolicyForm(Form):
    rules: list[RuleForm]
    unsettled_waits: bool
    digest: str = ""

    def __post_init__(self) -> None:
        number_them(self.rules)

    @property
    def is_wrong(self) -> bool:
        return bool(self.errors) or any(rule.errors for rule in self.rules)

    @property
    def is_full(self) -> bool:
        return len(self.rules) >= MOST_RULES

    def read(self) -> ReviewPolicy:
        """The policy that was typed. Raises ValidationError."""
        given: dict[str, Any] = {name: _of_one(name, text) for name, text in self.given(*OWN).items()}
        given |= {"unsettled_waits": self.unsettled_waits, "rules": [rule.given for rule in self.rules]}
        return ReviewPolicy.model_validate(given)

    def add_errors(self, errors: Problems) -> None:
        """Puts each error at its field: `rules.2.score_below` is that field of the third rule."""
        for error in errors:
            path = error["field"].split(".")
            where, name = self.errors, path[0]
            if path[0] == "rules" and len(path) > 2 and int(path[1]) < len(self.rules):
                where, name = self.rules[int(path[1])].errors, path[2]
            if error["message"] not in where.setdefault(name, []):
                where[name].append(error["message"])

    def rearrange(self, order: str) -> None:
        """Adds an empty rule, takes one out, or moves one; what makes no sense changes nothing."""
        if order == "add" and not self.is_full:
            self.rules.append(RuleForm(dict.fromkeys(TEXTS, "") | USUAL, [], {name: [] for name in NAMES}))
            self.rules[-1].is_moved = "added"
        rearrange(self.rules, order)


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
        rules.append(RuleForm(texts, [verdict.value for verdict in rule.verdicts], names))
    values = {name: _text(name, getattr(policy, name)) for name in OWN}
    return PolicyForm(values=values, rules=rules, unsettled_waits=policy.unsettled_waits, digest=digest)


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in PERCENT:
        return f"{value * 100:.10g}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _of_one(name: str, text: str) -> str:
    """What was typed in percent as a share of one; what is no number stays as it is, to be refused."""
    return _moved(text.removesuffix("%").rstrip(), by=-2) if name in PERCENT else text


def _moved(text: str, *, by: int) -> str:
    """The number with its point moved; what is no number, or one that no policy could hold, stays as it is."""
    try:
        number = Decimal(text).scaleb(by)
    except ArithmeticError:
        return text
    # Written out, one of a million digits would be that long.
    return f"{number:f}" if abs(number.adjusted()) < MOST_DIGITS else text


def read_policy_form(data: QueryDict) -> PolicyForm:
    """What was typed, rule by rule in the order of their numbers; white space around it removed.

    A form that was opened before shares were typed in percent holds shares of one: they become percent.
    """
    is_old = data.get("shares") != "percent"

    def read(path: str, name: str) -> str:
        text = data.get(path, "").strip()
        return _moved(text, by=2) if is_old and name in PERCENT else text

    places = sorted(int(found[1]) for name in data if (found := PLACE.fullmatch(name)))[: MOST_RULES + 1]
    rules = []
    for path in (f"rules.{place}" for place in places):
        texts = {name: read(f"{path}.{name}", name) for name in TEXTS}
        typed = {name: [text.strip() for text in data.getlist(f"{path}.{name}")[:MOST_NAMES]] for name in NAMES}
        names = {name: list(dict.fromkeys(text for text in texts_ if text)) for name, texts_ in typed.items()}
        is_opened = bool(data.get(f"{path}.open"))
        rules.append(RuleForm(texts, data.getlist(f"{path}.verdicts")[:10], names, is_opened=is_opened))
    return PolicyForm(
        rules=rules,
        values={name: read(name, name) for name in OWN},
        unsettled_waits=bool(data.get("unsettled_waits")),
        digest=data.get("digest", "")[:64],
    )


# What trying a policy found, as its page tells it.


@dataclass(frozen=True)
class TriedPolicy:
    """What a policy would do beside the one that holds, and how many verdicts each of its rules decided about."""

    trial: PolicyTrial
    rules: list[tuple[str, int]]
    # Whether a random share was part of it.
    draws: bool
    most: int = MOST_VERDICTS

    @property
    def audits(self) -> int:
        return round(self.trial.typed.audits)

    @property
    def saved_audits(self) -> int:
        return round(self.trial.saved.audits)


def tried(project: Project, policy: ReviewPolicy, *, saved: ReviewPolicy) -> TriedPolicy:
    """The typed policy tried beside the one that holds."""
    trial = try_policy(project.pk, policy, saved=saved)
    rules = [(in_words(rule), many) for rule, many in zip(policy.rules, trial.typed.by_rule, strict=True)]
    draws = any(rule.share < 1 for one in (policy, saved) for rule in one.rules)
    return TriedPolicy(trial, rules, draws)
