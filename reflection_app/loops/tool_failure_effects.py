"""Effects of the diagnosis of failed calls, and of the fixes that are remembered."""

from pydantic import Field, JsonValue, TypeAdapter

from reflection_app.loops.diagnosis.diagnoses import DiagnosedFailure, FixOutcome, FixRecall
from reflection_app.loops.effect import Effect


class RecallFix(Effect[FixRecall]):
    """Look for the fix that has worked best on this tool with this signature of an error, `without` these pairs.

    Parameters that worked are remembered for the same failed `params` alone; for others the fix is known in words.
    """

    kind = "recall_fix"
    results = TypeAdapter(FixRecall)

    tool: str
    signature: str
    params: dict[str, JsonValue] = Field(default_factory=dict)
    without: tuple[str, ...] = ()


class RecordToolFailure(Effect[DiagnosedFailure]):
    """Keep a failed call with its diagnosis."""

    kind = "record_tool_failure"
    results = TypeAdapter(DiagnosedFailure)

    failure: DiagnosedFailure


class RecordFixOutcome(Effect[FixOutcome]):
    """Keep how a fix went; one that worked becomes a fix pair, or counts for the one that was remembered."""

    kind = "record_fix_outcome"
    results = TypeAdapter(FixOutcome)

    outcome: FixOutcome
