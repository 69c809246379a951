"""Effects of the completeness check."""

from pydantic import TypeAdapter

from reflection_app.loops.completeness.checks import Completeness, SupplementsRun
from reflection_app.loops.effect import Effect


class RecordCompleteness(Effect[Completeness]):
    """Keep what a completeness check found."""

    kind = "record_completeness"
    results = TypeAdapter(Completeness)

    found: Completeness


class RecordSupplements(Effect[SupplementsRun]):
    """Keep what became of the supplements, and the statistics of the run."""

    kind = "record_supplements"
    results = TypeAdapter(SupplementsRun)

    done: SupplementsRun
