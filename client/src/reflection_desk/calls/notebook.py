"""Notebook entries: retrieve, propose, report outcomes. And the project's metrics."""

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
    """Retrieve the approved notebook entries that match the text `q`, best first.

    Returns at most `limit` entries, 1 to 20; 5 by default. `for_` is the id of a run or your own name for the work. If
    it is given, a random share of the entries is held out, always the same for the same name. This measures the effect
    of lessons; report the result with `report_outcome`.
    """
    body = {"q": q, "for": for_, "limit": limit, "kind": kind, "category": category, "agent": agent, "tag": tag}
    return post("notebook/recall", Recalled, body, idempotency_key=idempotency_key)


def rules_prompt(
    *, n: int | None = None, min_occurrences: int | None = None, kind: str = "", agent: str = ""
) -> Call[RulesPrompt]:
    """Return the most frequent and useful approved entries as text for a system prompt.

    `n` is the maximum number of entries and `min_occurrences` their minimum number of occurrences; by default, the
    project's settings apply. The text is empty if there are no entries.
    """
    return get("notebook/rules-prompt", RulesPrompt, n=n, min_occurrences=min_occurrences, kind=kind, agent=agent)


class EntryFields(TypedDict, total=False):
    """Optional fields of a proposed entry.

    `details` has fields specific to the kind, `source` is your identifier of the entry, and `evidence` has ids by type,
    such as `{"run": "…"}`.
    """

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
    """Propose a notebook entry. It is not used before it is approved.

    A known entry is not added again: the proposal counts as another occurrence, but the same evidence only once.
    `kind` is `lesson`, `rule`, `error_note`, `anti_pattern`, `fix_pair`, `project_fact`, `preference` or `supplement`.
    """
    return post("notebook/entries", Proposal, {"kind": kind, "name": name, **fields}, idempotency_key=idempotency_key)


def report_outcome(for_: str, *, succeeded: bool, idempotency_key: str | None = None) -> Call[dict[str, Any]]:
    """Report whether the first attempt at work succeeded, for which `recall` retrieved entries with the same `for_`.

    Only for work that is not a run on the server; outcomes of runs are recorded automatically. Report all such work,
    successful or not. The returned dict has the number of `lessons` for which the outcome was recorded.
    """
    body = {"for": for_, "succeeded": succeeded}
    return post("notebook/outcomes", dict[str, Any], body, idempotency_key=idempotency_key)


def get_metrics(
    *, since: str = "", until: str = "", agent: str = "", mode: str = "", model: str = "", kind: str = ""
) -> Call[Metrics]:
    """Return the metrics of a period, from the day `since` to the day `until`, both included.

    Days are in UTC and have the form `2026-01-31`. The default is the 30 days up to `until`, and today for `until`.
    """
    return get("metrics", Metrics, since=since, until=until, agent=agent, mode=mode, model=model, kind=kind)
