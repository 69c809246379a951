"""What a reflector is shown of a session: the newest turns whole, older ones shortened, all within a bound."""

from collections.abc import Sequence

from reflection_app.loops.session_effects import Turn
from reflection_app.loops.session_reflections import KeptReflection

LONGEST_WINDOW = 24_000
LONGEST_NEW_TURN = 4_000
LONGEST_OLDER_TURN = 300
MOST_EARLIER = 3
LONGEST_EARLIER = 600


def window(turns: Sequence[Turn], *, new_from: int) -> str:
    """The turns as text, oldest first; those from number `new_from` on are new. What does not fit is counted."""
    shown: list[str] = []
    room = LONGEST_WINDOW
    for turn in reversed(turns):
        line = _line(turn, longest=LONGEST_NEW_TURN if turn.seq >= new_from else LONGEST_OLDER_TURN)
        if len(line) > room:
            break
        room -= len(line)
        shown.append(line)
    left_out = turns[-1].seq - len(shown) if turns else 0
    if left_out:
        shown.append(f"[{left_out} earlier turns are not shown.]")
    return "\n\n".join(reversed(shown))


def _line(turn: Turn, *, longest: int) -> str:
    who = f"{turn.role} {turn.tool_name}".strip()
    mark = " FAILED" if turn.is_tool_failure else ""
    return f"[{turn.seq}] {who}{mark}: {shortened(turn.content, longest)}"


def shortened(text: str, longest: int) -> str:
    """The beginning and the end of `text`: a tool's answer says what it is in front, and how it went at the end."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} […{len(text) - 2 * half} characters…] {text[-half:]}"


def earlier_in_short(kept: Sequence[KeptReflection]) -> str:
    """The newest of the earlier reflections, so that the next one goes on from them and does not repeat them."""
    newest = [one for one in kept if one.reflection is not None][-MOST_EARLIER:]
    return "\n".join(map(_in_short, newest)) or "(none yet)"


def _in_short(kept: KeptReflection) -> str:
    assert kept.reflection is not None
    said = [issue.description for issue in kept.reflection.issues] + list(kept.reflection.suggestions)
    way = "on track" if kept.reflection.on_track else "not on track"
    return f"- after turn {kept.turn}: {way}. {' | '.join(said)}"[:LONGEST_EARLIER]
