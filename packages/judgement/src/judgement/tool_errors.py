"""Choose the remedy for a failed call by the error's meaning: five regressions on its embedding and on facts of the
call.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgement.linear import Linear, Numbers, load

REMEDIES = ("fix_and_retry", "retry_later", "switch_tool", "ask_person", "skip")
TYPES = ("parameter_error", "permission_denied", "external_service_error")
STATUSES = (200, 400, 401, 403, 404, 409, 422, 429, 500, 503)
# An error states its subject in the first sentences, and each token costs time.
LONGEST_READ = 500
# Vectors have length 1 and the ridge shrinks weights, so this scales them to count as much as the facts.
VECTOR_COUNTS = 10.0
SHORT = 40


@dataclass(frozen=True)
class Failure:
    """A failed call. `others` is the number of tools that could be called instead.

    `names_a_value`: the error contains a value of the call's parameters. `rule` is the matching rule, `ruled` its
    remedy; both are "" if none matches.
    """

    error: str
    status: int | None
    others: int
    names_a_value: bool
    rule: str
    ruled: str

    @property
    def text(self) -> str:
        """The text to embed, as a question."""
        return " ".join(self.error.split())[:LONGEST_READ] or "nothing said"


@dataclass(frozen=True)
class Remedied:
    """Probability of each remedy, from 0 to 1, and the most likely error type.

    `is_sure`: the highest probability reaches the threshold, so no model needs to be asked.
    """

    sureness: dict[str, float]
    error_type: str
    is_sure: bool

    @property
    def remedy(self) -> str:
        """The most probable remedy."""
        return max(self.sureness, key=lambda name: self.sureness[name])


def facts(failure: Failure, rules: Sequence[str]) -> list[float]:
    """Return the facts of the call as numbers. `rules` are those that have a weight of their own."""
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
    """Return the input rows for training and prediction. Shape (n, d)."""
    return np.hstack([vectors * VECTOR_COUNTS, np.array([facts(failure, rules) for failure in failures])])


def judge(failure: Failure, vector: Numbers) -> Remedied:
    """Return the remedies for a failure; `vector` is the embedding of `failure.text`, shape (384,)."""
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
    """Return the rules that were right so often in training that nothing else is consulted if they match."""
    return frozenset(load("tool_errors")["exact_rules"].split())
