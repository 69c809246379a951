"""What runs are told apart by in the charts: the distributions, with the words and colours of their bars."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from reflection_app.loops.verdicts import Outcome
from reflection_app.metrics.views.words import mode_words
from reflection_app.web.labels import in_words

TONES = {
    Outcome.SUCCEEDED: "good",
    Outcome.UNVERIFIED: "plain",
    Outcome.CANCELLED: "plain",
    Outcome.EXHAUSTED: "warn",
    Outcome.OVER_BUDGET: "warn",
    Outcome.TIMED_OUT: "warn",
    Outcome.OVER_CORRECTED: "warn",
    Outcome.REJECTED: "bad",
    Outcome.FAILED: "bad",
}
OUTCOMES = {
    "succeeded": gettext_lazy("Succeeded"),
    "unverified": gettext_lazy("Unverified"),
    "exhausted": gettext_lazy("Attempts used up"),
    "over_budget": gettext_lazy("Over budget"),
    "timed_out": gettext_lazy("Out of time"),
    "over_corrected": gettext_lazy("Over-corrected"),
    "rejected": gettext_lazy("Rejected"),
    "cancelled": gettext_lazy("Cancelled"),
    "failed": gettext_lazy("Failed"),
}
REFEREES = {
    "self": gettext_lazy("The model itself"),
    "critic": gettext_lazy("A critic"),
    "generated_tests": gettext_lazy("Tests written by a model"),
    "tool": gettext_lazy("A tool"),
    "tests": gettext_lazy("Tests of the task"),
    "requirements": gettext_lazy("Minimum requirements"),
    "person": gettext_lazy("A person"),
}
REASONS = {
    "rejected": gettext_lazy("Rejected"),
    "low_confidence": gettext_lazy("Low confidence"),
    "unsettled_pick": gettext_lazy("Unsettled pick"),
    "broken_tests": gettext_lazy("Broken tests"),
    "audit": gettext_lazy("Audit sample"),
    "checkpoint": gettext_lazy("Checkpoint"),
    "policy": gettext_lazy("Policy"),
    "asked_for": gettext_lazy("Asked for"),
    "adjudication": gettext_lazy("Adjudication"),
}
LATENCIES = {
    "1s": gettext_lazy("up to 1 s"),
    "3s": gettext_lazy("to 3 s"),
    "10s": gettext_lazy("to 10 s"),
    "30s": gettext_lazy("to 30 s"),
    "1min": gettext_lazy("to 1 min"),
    "5min": gettext_lazy("to 5 min"),
    "longer": gettext_lazy("longer"),
}
# How long reviews have waited.
AGES = {
    "1h": gettext_lazy("up to 1 h"),
    "4h": gettext_lazy("to 4 h"),
    "1d": gettext_lazy("to 1 day"),
    "3d": gettext_lazy("to 3 days"),
    "1w": gettext_lazy("to 1 week"),
    "longer": gettext_lazy("longer"),
}
SOURCES = {
    "issue": gettext_lazy("Issue"),
    "test": gettext_lazy("Test"),
    "class": gettext_lazy("Error class"),
    "tool": gettext_lazy("Tool"),
}
ERROR_CLASSES = {
    "3.3.1": gettext_lazy("Model capability"),
    "3.3.2": gettext_lazy("Decision error"),
    "3.3.3": gettext_lazy("Pipeline crash"),
    "3.3.4": gettext_lazy("Missing knowledge"),
    "3.3.5": gettext_lazy("Normal iteration"),
}
TOOL_FAILURES = {
    "parameter_error": gettext_lazy("wrong parameters"),
    "wrong_tool": gettext_lazy("wrong tool"),
    "permission_denied": gettext_lazy("no permission"),
    "external_service_error": gettext_lazy("service failed"),
}
TEST_FAILURES = {
    "wrong_answer": gettext_lazy("wrong answer"),
    "exception": gettext_lazy("raised an error"),
    "timeout": gettext_lazy("took too long"),
    "memory": gettext_lazy("used too much memory"),
    "output_limit": gettext_lazy("printed too much"),
    "exited": gettext_lazy("ended the program"),
    "crashed": gettext_lazy("crashed"),
    "not_run": gettext_lazy("was not run"),
    "forged": gettext_lazy("tried to fake its result"),
    "broken_test": gettext_lazy("the test itself is broken"),
}


@dataclass(frozen=True)
class Family:
    """One distribution. `words` says what a key is called, `tone` gives its colour."""

    name: str
    title: str
    column: str
    words: Callable[[str], str]
    hint: str = ""
    empty: str = ""
    tone: Callable[[str], str] = lambda _key: ""
    # What is counted where it is no runs.
    counted: str = ""


def attempts_family() -> Family:
    return Family(
        "attempts_to_success",
        _("Attempts to success"),
        _("Attempts"),
        words=lambda key: key,
        hint=_("How many attempts the runs took that succeeded."),
        empty=_("No run has succeeded in this time."),
    )


def outcomes_family() -> Family:
    return Family(
        "outcomes",
        _("How runs ended"),
        _("End"),
        words=lambda key: str(OUTCOMES.get(key, key)),
        tone=lambda key: TONES[Outcome(key)] if key in Outcome else "plain",
    )


def modes_family() -> Family:
    return Family("modes", _("Loops"), _("Mode"), words=mode_words, hint=_("Which loop the runs went through."))


def latency_family() -> Family:
    return Family(
        "latency",
        _("Time of an attempt"),
        _("Time"),
        words=lambda key: str(LATENCIES.get(key, key)),
        hint=_("Runs by the mean time of their attempts with the verdict; waiting for people is not counted."),
    )


def failures_family() -> Family:
    return Family(
        "failures",
        _("Why attempts failed"),
        _("Failure"),
        words=failure_words,
        hint=_("The most common kinds, each counted once in a run; the share is of all runs."),
        empty=_("Nothing failed in this time."),
        tone=lambda _key: "bad",
    )


def referees_family() -> Family:
    return Family(
        "referees",
        _("Who judged what was kept"),
        _("Referee"),
        words=lambda key: str(REFEREES.get(key, key)) if key else _("nobody"),
        hint=_("The strongest referee of the kept attempt. Whether critics judge rightly is told under Calibration."),
        tone=lambda key: "plain" if key in {"", "self", "generated_tests"} else "two",
    )


def plain_family(name: str, title: str, column: str) -> Family:
    return Family(name, title, column, words=lambda key: key or _("not told"))


def kinds_family() -> Family:
    words = "kinds", _("Kinds of tasks"), _("Kind")
    return Family(*words, words=lambda key: in_words(key.replace("_", " ")) if key else _("not told"))


def failure_words(key: str) -> str:
    """`Tests: wrong answer`, of what metrics/run_facts.py names."""
    source, _colon, name = key.partition(":")
    if source not in SOURCES or not name:
        return in_words(key)
    said = ERROR_CLASSES.get(name) or TOOL_FAILURES.get(name) or TEST_FAILURES.get(name) or in_words(name)
    return f"{SOURCES[source]}: {said}"


def families() -> dict[str, Family]:
    """All distributions, by name."""
    found = (
        attempts_family(),
        outcomes_family(),
        modes_family(),
        latency_family(),
        failures_family(),
        referees_family(),
        reasons_family(),
        *facets(),
    )
    return {family.name: family for family in found}


def reasons_family() -> Family:
    return Family(
        "reasons",
        _("Why people were asked"),
        _("Reason"),
        words=lambda key: str(REASONS.get(key, key)),
        hint=_("Of the reviews that were decided in this time."),
        empty=_("Nobody has decided a review in this time."),
        counted=_("reviews"),
    )


def facets() -> tuple[Family, ...]:
    """Who did it, with which model, and what kind of task it was."""
    return (
        plain_family("agents", _("Agents"), _("Agent")),
        plain_family("models", _("Models"), _("Model")),
        kinds_family(),
    )


def family_title(name: str) -> str:
    others = {
        "spend": _("Model calls"),
        "reviewers": _("Decided by"),
        "keys": _("Decided by the key"),
        "critics": _("Decided about verdicts of"),
        "ages": _("Waiting now, by age"),
    }
    if name in others:
        return others[name]
    family = families().get(name)
    return family.title if family else name


def bar_words(name: str, key: str) -> str:
    if name == "spend":
        role, _bar, model = key.partition("|")
        return f"{role} · {model}"
    if name == "ages":
        return str(AGES.get(key, key))
    family = families().get(name)
    return family.words(key) if family else key
