"""A conversation that has ended, as text: whole for the tools, and within a bound for the first prompt."""

from collections.abc import Sequence

from reflection_app.loops.session_effects import Turn
from reflection_app.loops.session_window import shortened

# The file under which tools find the whole conversation.
SESSION_FILE = "session.txt"
LONGEST_SHOWN = 24_000
# Turns are shortened evenly before any is left out: in hindsight the first are worth as much as the last.
TURN_LENGTHS = (24_000, 8_000, 4_000, 2_000, 1_000, 500, 300)
FIRST_TURNS = 5
INDENTED = "\n  "
LONGEST_FILE = 4_000_000


def whole_text(turns: Sequence[Turn]) -> str:
    """All turns, oldest first; of a conversation that is longer than any file may be, the beginning and the end."""
    return shortened("\n\n".join(line_of(turn) for turn in turns), LONGEST_FILE)


def shown_text(turns: Sequence[Turn]) -> str:
    """At most LONGEST_SHOWN characters: all turns, shortened as far as need be, or the first few and the newest."""
    for longest in TURN_LENGTHS:
        lines = [line_of(turn, longest=longest) for turn in turns]
        if sum(map(len, lines)) + 2 * len(lines) <= LONGEST_SHOWN:
            return "\n\n".join(lines)
    return _both_ends(lines)


def _both_ends(lines: Sequence[str]) -> str:
    first = list(lines[:FIRST_TURNS])
    room = LONGEST_SHOWN - sum(map(len, first)) - 2 * len(first) - 200
    newest: list[str] = []
    for line in reversed(lines[FIRST_TURNS:]):
        if len(line) + 2 > room:
            break
        room -= len(line) + 2
        newest.append(line)
    left_out = len(lines) - len(first) - len(newest)
    return "\n\n".join([*first, f"[{left_out} turns are not shown here; see {SESSION_FILE}]", *reversed(newest)])


def line_of(turn: Turn, *, longest: int | None = None) -> str:
    """The turn with its number, who spoke, and whether a tool failed.

    Its further lines are indented: none of them can pass for the beginning of another turn.
    """
    who = " ".join(f"{turn.role} {turn.tool_name}".split())[:120]
    mark = " FAILED" if turn.is_tool_failure else ""
    said = turn.content if longest is None else shortened(turn.content, longest)
    return f"[{turn.seq}] {who}{mark}: {INDENTED.join(said.splitlines())}"
