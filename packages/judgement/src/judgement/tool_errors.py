"""What to do about a failed call, by what its error means: five regressions on its vector and on facts of the call."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgement.linear import Linear, Numbers, load

REMEDIES = ("fix_and_retry", "retry_later", "switch_tool", "ask_person", "skip")
TYPES = ("parameter_error", "permission_denied", "external_service_error")
STATUSES = (200, 400, 401, 403, 404, 409, 422, 429, 500, 503)
# An error says what it is about in its first sentences; each token costs time.
LONGEST_READ = 500
# Vectors are of length 1, and the ridge draws on weights: so they count as much as the facts.
VECTOR_COUNTS = 10.0
SHORT = 40


@dataclass(frozen=True)
class Failure:
    """A failed call. `others` counts the tools that could be called instead.

    `names_a_value`: a value of its parameters stands in the error. `rule` is the rule that fits, with the `ruled`
    remedy; both are empty where none does.
    """

    error: str
    status: int | None
    others: int
    names_a_value: bool
    rule: str
    ruled: str

    @property
    def text(self) -> str:
        """What is to be made a vector of, as a question."""
        return " ".join(self.error.split())[:LONGEST_READ] or "nothing said"


@dataclass(frozen=True)
class Remedied:
    """The remedies with how sure each is, from 0 to 1, and the likeliest type of the error.

    `is_sure`: so much surer than the threshold that no model has to be asked.
    """

    sureness: dict[str, float]
    error_type: str
    is_sure: bool

    @property
    def remedy(self) -> str:
        """The one that is right most likely."""
        return max(self.sureness, key=lambda name: self.sureness[name])


def facts(failure: Failure, rules: Sequence[str]) -> list[float]:
    """What is known of the call beside its error's meaning, as numbers. `rules` are those with a weight each."""
    status = failure.status
    return [
        float(one)
        for one in (
            status is None,
            *(status == one for one in STATUSES),
            status is not None and 400 <= status < 500,
            status is not None and 500 <= status < 600,
            failure.others == 0,
            failure.others == 1,
            failure.others == 2,
            failure.others > 2,
            failure.names_a_value,
            len(failure.error) < SHORT,
            not failure.rule,
            *(failure.ruled == name for name in REMEDIES),
            *(failure.rule == name for name in rules),
        )
    ]


def features(failures: Sequence[Failure], vectors: Numbers, rules: Sequence[str]) -> Numbers:
    """The rows that are learned from and judged: (n, d)."""
    return np.hstack([vectors * VECTOR_COUNTS, np.array([facts(failure, rules) for failure in failures])])


def judge(failure: Failure, vector: Numbers) -> Remedied:
    """What to do about it; `vector` is that of `failure.text`, of shape (384,)."""
    learned = load("tool_errors")
    rules = learned["rules"].split()
    row = features([failure], vector[None], rules)
    odds = {name: Linear(learned[name], learned["bias"][name]).log_odds(row)[0] for name in (*REMEDIES, *TYPES)}
    sureness = {name: round(float(1 / (1 + np.exp(-odds[name]))), 3) for name in REMEDIES}
    if not failure.others:
        sureness["switch_tool"] = 0.0
    return Remedied(
        sureness=sureness,
        error_type=max(TYPES, key=lambda name: odds[name]),
        is_sure=max(sureness.values()) >= learned["threshold"],
    )


def exact_rules() -> frozenset[str]:
    """The rules that were right so often on what was learned from that nothing else is asked where they fit."""
    return frozenset(load("tool_errors")["exact_rules"].split())
