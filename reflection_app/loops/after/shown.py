"""What a reflector is shown of the work: as data, in frames that nothing in it can close."""

from reflection_app.loops.after.conversation import LONGEST_SHOWN, SESSION_FILE
from reflection_app.loops.after.findings import SessionRead
from reflection_app.loops.prompts import prompt
from reflection_app.loops.tool_frames import framed

LONGEST_OBJECTIVE = 4_000
LONGEST_ENDED = 1_000
LONGEST_ERRORS = 6_000
LONGEST_NAMES = 3_000
LONGEST_KNOWN = 6_000


def shown_session(session: SessionRead) -> str:
    """The part of the prompt that both reflectors share."""
    errors = "\n".join(f"- {error}" for error in session.tool_errors)
    files = "\n".join([SESSION_FILE, *session.files])
    return prompt(
        "after_session",
        objective=framed(session.objective or "(not stated)", name="objective", most=LONGEST_OBJECTIVE),
        # An error quotes what a model said.
        ended=framed(session.ended or "It has ended.", name="ended", most=LONGEST_ENDED),
        conversation=framed(session.conversation or "(empty)", name="session", most=LONGEST_SHOWN),
        errors=framed(errors or "(none)", name="errors", most=LONGEST_ERRORS),
        files=framed(files, name="files", most=LONGEST_NAMES),
    )


def shown_known(session: SessionRead) -> str:
    """The names that the notebook holds, one a line."""
    lines = "\n".join(f"- {one.name}: {one.description}" for one in session.known)
    return framed(lines or "(none yet)", name="known", most=LONGEST_KNOWN)
