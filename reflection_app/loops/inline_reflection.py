"""Inline reflection on a running session: every n turns, at the first tool failure, and at its end.

Source: the inline reflection of "Fusion" in the design seeds. Nothing judges the session, so it ends unverified.
"""

from collections import deque
from collections.abc import Sequence
from itertools import count

from reflection_app.loops.answers import ask
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.effects import AwaitTurns, RecordReflection, Turn, Turns
from reflection_app.loops.framing import frame_of, framed_task
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.session_reflections import ANSWER_SCHEMA, KeptReflection, ReflectorAnswer, ReflectorTrigger
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.texts import cut_middle
from reflection_app.loops.values import Message, system, user
from reflection_app.loops.verdicts import Outcome

# Excerpt for the reflector: newest turns in full, older ones shortened, all within a limit

LONGEST_WINDOW = 24_000
LONGEST_NEW_TURN = 4_000
LONGEST_OLDER_TURN = 300
MOST_EARLIER = 3
LONGEST_EARLIER = 600


def window(turns: Sequence[Turn], *, new_from: int) -> str:
    """Return the turns as text, oldest first; those from number `new_from` on are new. Omitted turns are counted."""
    lines: list[str] = []
    room = LONGEST_WINDOW
    for turn in reversed(turns):
        longest = LONGEST_NEW_TURN if turn.seq >= new_from else LONGEST_OLDER_TURN
        who = f"{turn.role} {turn.tool_name}".strip()
        mark = " FAILED" if turn.is_tool_failure else ""
        line = f"[{turn.seq}] {who}{mark}: {cut_middle(turn.content, longest)}"
        if len(line) > room:
            break
        room -= len(line)
        lines.append(line)
    left_out = turns[-1].seq - len(lines) if turns else 0
    if left_out:
        lines.append(f"[{left_out} earlier turns are not shown.]")
    return "\n\n".join(reversed(lines))


TEMPERATURE = 0.3
LONGEST_PROBLEM = 500
# More turns than can fit into the window.
MOST_TURNS_KEPT = 300


async def inline_reflection(spec: TaskSpec, run: Progress) -> Outcome:
    """Return UNVERIFIED once the session has ended, or EXHAUSTED at the iteration limit.

    Each reflection counts as an iteration. A failed reflection is recorded with its problem, and the session continues.
    """
    turns: deque[Turn] = deque(maxlen=MOST_TURNS_KEPT)
    kept: list[KeptReflection] = []
    seen, has_failed = 0, False
    for number in count(1):
        new = await run.perform(
            AwaitTurns(key=f"turns-{number}", after=seen, count=spec.inline_every_turns, or_tool_failure=not has_failed)
        )
        if not new.turns:
            return Outcome.UNVERIFIED
        turns.extend(new.turns)
        trigger = trigger_of(new, has_failed=has_failed)
        has_failed = has_failed or trigger is ReflectorTrigger.TOOL_FAILURE
        if number > spec.limits.max_iterations:
            return Outcome.EXHAUSTED
        messages = question(spec.objective, list(turns), kept, new_from=seen + 1)
        seen = new.turns[-1].seq
        reflected = KeptReflection(number=number, turn=seen, trigger=trigger)
        run.check_limits()
        request = run.model_call(
            key=f"reflection-{number}/answer",
            role="reflector",
            messages=messages,
            temperature=TEMPERATURE,
            json_schema=ANSWER_SCHEMA,
        )
        try:
            answer = await ask(run, request, schema=ReflectorAnswer)
            reflected = reflected.model_copy(update={"reflection": answer.reflection()})
        except (EffectTimedOut, PriceUnknown):
            raise
        except EffectFailed as failure:
            reflected = reflected.model_copy(update={"problem": str(failure)[:LONGEST_PROBLEM]})
        kept.append(await run.perform(RecordReflection(key=f"reflection-{number}/kept", kept=reflected)))
        if new.is_end:
            return Outcome.UNVERIFIED
    raise AssertionError("count() has no end")


def trigger_of(new: Turns, *, has_failed: bool) -> ReflectorTrigger:
    """Return why these turns require a reflection; `has_failed` is True if a tool failed earlier."""
    if not has_failed and any(turn.is_tool_failure for turn in new.turns):
        return ReflectorTrigger.TOOL_FAILURE
    return ReflectorTrigger.END if new.is_end else ReflectorTrigger.EVERY_TURNS


def question(objective: str, turns: list[Turn], kept: list[KeptReflection], *, new_from: int) -> tuple[Message, ...]:
    """Return the reflector's messages. The session's frame is named after its hash, so it cannot be closed."""
    session = window(turns, new_from=new_from)
    # Show the newest earlier reflections, so that the next one continues from them and does not repeat them.
    earlier = []
    for turn, reflection in [(one.turn, one.reflection) for one in kept if one.reflection][-MOST_EARLIER:]:
        points = [issue.description for issue in reflection.issues] + list(reflection.suggestions)
        way = "on track" if reflection.on_track else "not on track"
        earlier.append(f"- after turn {turn}: {way}. {' | '.join(points)}"[:LONGEST_EARLIER])
    return (
        system(prompt("inline_system")),
        user(
            prompt(
                "inline_reflect",
                objective=framed_task(objective),
                frame=frame_of(session),
                session=session,
                earlier="\n".join(earlier) or "(none yet)",
                new_from=new_from,
            )
        ),
    )


def is_due(*, made: int, reflected: int, every: int, has_new_failure: bool, is_ended: bool) -> bool:
    """Return True if a session of `made` turns, of which `reflected` were reflected on, needs a reflection now."""
    new = made - reflected
    return new >= every or (new > 0 and (has_new_failure or is_ended))
