"""The notebook: being told lessons, and proposing them. And the metrics, which tell whether they help."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from reflection_desk.answers import Metrics, Proposal, Recalled, RulesPrompt
from reflection_desk.call import Call, get, post


def recall(
    q: str,
    *,
    for_: str | None = None,
    limit: int | None = None,
    kind: str | None = None,
    category: str | None = None,
    agent: str | None = None,
    tag: str | None = None,
    idempotency_key: str | None = None,
) -> Call[Recalled]:
    """The approved entries that fit `q` best.

    `for_` names the work they are for: a share is withheld from it by chance, to learn what lessons are worth.
    """
    body = {"q": q, "for": for_, "limit": limit, "kind": kind, "category": category, "agent": agent, "tag": tag}
    return post("notebook/recall", Recalled, body, idempotency_key=idempotency_key)


def rules_prompt(
    *, n: int | None = None, min_occurrences: int | None = None, kind: str = "", agent: str = ""
) -> Call[RulesPrompt]:
    """The most frequent and useful entries as text for a system prompt."""
    return get("notebook/rules-prompt", RulesPrompt, n=n, min_occurrences=min_occurrences, kind=kind, agent=agent)


class EntryFields(TypedDict, total=False):
    """What an entry may hold besides its kind and name."""

    description: str | None
    content: str | None
    details: Mapping[str, Any] | None
    agent: str | None
    category: str | None
    tags: Sequence[str] | None
    source: str | None
    evidence: Mapping[str, Any] | None


def propose_entry(
    kind: str, name: str, *, idempotency_key: str | None = None, **fields: Unpack[EntryFields]
) -> Call[Proposal]:
    """Proposes a lesson; a curator decides about it. One that the notebook has already is counted instead."""
    return post("notebook/entries", Proposal, {"kind": kind, "name": name, **fields}, idempotency_key=idempotency_key)


def report_outcome(for_: str, *, succeeded: bool, idempotency_key: str | None = None) -> Call[dict[str, Any]]:
    """How work went that lessons were recalled for, where the desk cannot see it itself."""
    body = {"for": for_, "succeeded": succeeded}
    return post("notebook/outcomes", dict[str, Any], body, idempotency_key=idempotency_key)


def get_metrics(
    *, since: str = "", until: str = "", agent: str = "", mode: str = "", model: str = "", kind: str = ""
) -> Call[Metrics]:
    """The figures of a period, days included as `2026-01-31`; by default the newest 30 days."""
    return get("metrics", Metrics, since=since, until=until, agent=agent, mode=mode, model=model, kind=kind)
