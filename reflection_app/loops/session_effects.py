"""Effects of a loop that follows a session of an agent."""

from pydantic import Field, TypeAdapter

from reflection_app.loops.effect import Effect
from reflection_app.loops.session_reflections import KeptReflection
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value


class Turn(Value):
    """One message of a recorded session, in the form of OpenAI's chat messages, as plain text."""

    seq: int = Field(ge=1)
    role: str
    content: Text = ""
    tool_name: Text = ""
    is_tool_failure: bool = False


class Turns(Value):
    turns: tuple[Turn, ...] = ()
    is_end: bool = False


class AwaitTurns(Effect[Turns]):
    """Wait until the session has `count` turns after number `after`, or ends, or (if asked) a tool fails in it."""

    kind = "await_turns"
    results = TypeAdapter(Turns)

    after: int = Field(ge=0)
    count: int = Field(ge=1)
    or_tool_failure: bool = False


class RecordReflection(Effect[KeptReflection]):
    """Keep a reflection on a session, or that there is none because the reflector failed."""

    kind = "record_reflection"
    results = TypeAdapter(KeptReflection)

    kept: KeptReflection
