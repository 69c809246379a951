"""What runs and reviews are told apart by in charts: the distributions, with the words and colours of their bars."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from reflection_app.core.registry import look_of
from reflection_app.metrics.views.words import mode_words
from reflection_app.web.labels import in_words

# How long reviews have waited.
AGES = {
    "1h": _("up to 1 h"),
    "4h": _("1–4 h"),
    "1d": _("4–24 h"),
    "3d": _("1–3 days"),
    "1w": _("3–7 days"),
    "longer": _("over 1 week"),
}
LATE = {"1d": "warn", "3d": "warn", "1w": "bad", "longer": "bad"}
NONE_DECIDED = _("No reviews were decided in this period.")
SOURCES = {"issue": _("Issue"), "test": _("Test"), "class": _("Error class"), "tool": _("Tool")}
# Whose failures have words in the registry, by its kinds.
REGISTERED = {"test": "test_failure", "tool": "tool_error"}
CLASSES = {
    "3.3.1": _("Model capability"),
    "3.3.2": _("Decision error"),
    "3.3.3": _("Pipeline crash"),
    "3.3.4": _("Missing knowledge"),
    "3.3.5": _("Normal iteration"),
}


def failure_words(key: str) -> str:
    """`Tests: wrong answer`, of what metrics/run_facts.py names."""
    source, _colon, name = key.partition(":")
    if source not in SOURCES or not name:
        return in_words(key)
    words = look_of(name, REGISTERED[source]).words if source in REGISTERED else CLASSES.get(name)
    return f"{SOURCES[source]}: {words or in_words(name)}"


def kind_words(key: str) -> str:
    return in_words(key.replace("_", " "))


def _one_of(words: Mapping[str, Promise]) -> Callable[[str], str]:
    return lambda key: str(words.get(key, key))


def _or_not_told(key: str) -> str:
    return key or str(_("not specified"))


@dataclass(frozen=True)
class Family:
    """One distribution. `words` says what a key is called, `tone` gives its colour.

    `column` heads the keys where they are a table. `counted` is what is counted where it is no runs.
    """

    name: str
    title: str | Promise
    column: str | Promise = ""
    words: Callable[[str], str] = str
    hint: str | Promise = ""
    empty: str | Promise = ""
    tone: Callable[[str], str] = lambda _key: ""
    counted: str | Promise = ""


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family(
            "attempts_to_success",
            _("Attempts to success"),
            _("Attempts"),
            hint=_("Number of attempts of successful runs."),
            empty=_("No runs succeeded in this period."),
        ),
        Family(
            "outcomes",
            _("Run outcomes"),
            _("Outcome"),
            lambda key: str(look_of(key, "outcome").words),
            tone=lambda key: look_of(key, "outcome").tone,
        ),
        Family("modes", _("Modes"), _("Mode"), mode_words, hint=_("Loop used by each run.")),
        Family(
            "failures",
            _("Failure causes"),
            _("Failure"),
            failure_words,
            hint=_("Most common causes, each counted once per run; shares are of all runs."),
            empty=_("No failures in this period."),
            tone=lambda _key: "bad",
        ),
        Family("agents", _("Agents"), _("Agent"), _or_not_told),
        Family("models", _("Models"), _("Model"), _or_not_told),
        Family("kinds", _("Task types"), _("Type"), lambda key: kind_words(key) or _or_not_told("")),
        Family("spend", _("Model calls"), words=lambda key: key.replace("|", " · ", 1)),
        Family(
            "reasons",
            _("Review reasons"),
            _("Reason"),
            lambda key: str(look_of(key, "reason").words),
            hint=_("Reviews decided in this period."),
            empty=NONE_DECIDED,
            counted=_("reviews"),
        ),
        Family(
            "ages",
            _("Open reviews by age"),
            _("Waiting time"),
            _one_of(AGES),
            hint=_("Reviews open right now, independent of the period."),
            empty=_("No reviews are waiting."),
            tone=lambda key: LATE.get(key, "one"),
            counted=_("reviews"),
        ),
        Family(
            "critics",
            _("Overrule rate by critic"),
            _("Model"),
            hint=_(
                "Share of each model's reviewed verdicts that people overruled, with the confidence interval (95 %)."
            ),
            empty=_("No model verdicts were reviewed in this period."),
        ),
        Family(
            "reviewers",
            _("Overrule rate by reviewer"),
            _("Reviewer"),
            hint=_(
                "How often each reviewer overruled a verdict. Reviewers see different items, so this is not a ranking."
            ),
            empty=NONE_DECIDED,
        ),
        Family(
            "keys",
            _("Overrule rate by API key"),
            _("API key"),
            hint=_("Decisions made by programs. The other metrics here count human decisions only."),
            empty=NONE_DECIDED,
        ),
    )
}
# Who did it, with which model, and what kind of task it was.
FACETS = ("agents", "models", "kinds")
