"""The error reflector: what went wrong in work that has ended, and how good it was."""

from typing import Any

from reflection_app.loops.after.looking_back import ErrorsAnswer, Question, look_back, session_of, shown_session
from reflection_app.loops.effects import RecordFindings
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.session_reflections import Finding
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.values import system, user
from reflection_app.loops.verdicts import Outcome

ROLE = "error_reflector"
KEY = "errors"
MOST_TURNS = 4

# Written out for providers that constrain the answer; stricter than what is accepted, on purpose.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["score", "findings"],
    "properties": {
        "score": {"type": "number", "minimum": 0, "maximum": 100},
        "findings": {
            "type": "array",
            "maxItems": 10,
            "items": {
                "type": "object",
                "required": ["category", "description", "cause", "suggestion"],
                "properties": {
                    "category": {"type": "string", "enum": [finding.value for finding in Finding]},
                    "description": {"type": "string"},
                    "cause": {"type": "string"},
                    "suggestion": {"type": "string"},
                },
            },
        },
    },
}


async def error_reflection(spec: TaskSpec, run: Progress) -> Outcome:
    """Succeeded once the findings are kept, whatever and however many they are."""
    session = await session_of(run)
    question = Question(
        role=ROLE,
        key=KEY,
        messages=(
            system(prompt("after_errors_system")),
            user(prompt("after_errors", session=shown_session(session))),
        ),
        answer=ErrorsAnswer,
        schema=SCHEMA,
        most_turns=min(MOST_TURNS, spec.limits.max_iterations),
    )
    answer = await look_back(run, question)
    await run.perform(RecordFindings(key="findings", found=answer.found()))
    return Outcome.SUCCEEDED
