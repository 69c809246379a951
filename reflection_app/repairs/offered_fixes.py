"""Fixes that worked are offered to the notebook, where a person may approve them to be told to every agent.

What is kept of a pair is cleaned of the values of its call already; each time it works is one occurrence.
"""

import hashlib
import json
from typing import Any

from notebook_app.public import EntryKind, Proposal, keep, take_back_proposal
from reflection_app.repairs.models.tool_failure import FixPair, ToolFailure

KIND = EntryKind.FIX_PAIR
LONGEST_NAME = 200
LONGEST_FIELD = 4_000


def offer_fix(pair: FixPair, failure: ToolFailure) -> None:
    """Proposes the pair, or counts it once more, on the evidence of the failure that it put right.

    Call it inside the transaction that counted the pair, with the notebook locked.
    """
    keep(pair.project_id, _proposal(pair, failure))


def withdraw_fix(pair: FixPair, failure: ToolFailure) -> None:
    """Takes back that the pair put this failure right, as far as nobody has decided on its entry."""
    take_back_proposal(pair.project_id, _proposal(pair, failure))


def _proposal(pair: FixPair, failure: ToolFailure) -> Proposal:
    return Proposal(
        kind=KIND,
        name=f"{pair.tool}: {' '.join(pair.fix.split())}"[:LONGEST_NAME],
        description="\n".join(pair.symptoms),
        category=pair.error_type,
        details={
            "tool": pair.tool,
            "error_type": pair.error_type,
            "symptoms": "\n".join(pair.symptoms)[:LONGEST_FIELD],
            "fix": pair.fix[:LONGEST_FIELD],
        },
        source=_source_of(pair),
        evidence=_evidence_of(failure),
    )


def _source_of(pair: FixPair) -> str:
    """The same for a pair that went and came again, which has another id then."""
    told = json.dumps([pair.tool, pair.signature, pair.error_type, pair.digest])
    return f"{KIND}:{hashlib.sha256(told.encode()).hexdigest()[:40]}"


def _evidence_of(failure: ToolFailure) -> dict[str, Any]:
    of_run = {"run": str(failure.run_id)} if failure.run_id else {}
    return {"tool_failure": str(failure.pk)} | of_run
