"""Effects of the loops that look back at work which has ended."""

from pydantic import TypeAdapter

from reflection_app.loops.after.findings import ErrorsFound, MemoriesFound, SessionRead
from reflection_app.loops.effect import Effect


class ReadSession(Effect[SessionRead]):
    """Read what is to be looked back at, without what came into it from the notebook.

    `with_known`: with the names of the memories that the notebook holds.
    """

    kind = "read_session"
    results = TypeAdapter(SessionRead)

    with_known: bool = False


class RecordFindings(Effect[ErrorsFound]):
    """Keep the errors that were found, and propose them to the notebook."""

    kind = "record_findings"
    results = TypeAdapter(ErrorsFound)

    found: ErrorsFound


class RecordMemories(Effect[MemoriesFound]):
    """Keep the memories that were found, and propose them to the notebook."""

    kind = "record_memories"
    results = TypeAdapter(MemoriesFound)

    found: MemoriesFound
