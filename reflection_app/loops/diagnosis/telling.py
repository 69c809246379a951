"""What people and journals are told of a failed call: the question, why it is given up, and what a fix was."""

import json

from reflection_app.loops.diagnosis.diagnoses import Diagnosis, Source
from reflection_app.loops.questions import Choice, Question, QuestionKind
from reflection_app.loops.tool_calls import ToolCall
from reflection_app.loops.tool_tries import Try

CHOICES = (Choice.TRY_AGAIN, Choice.SKIP, Choice.GIVE_UP)
LONGEST_SHOWN = 1_000


def permission_for(tried: Try) -> Question:
    """What a person is asked where a call was refused."""
    arguments = json.dumps(tried.call.arguments, ensure_ascii=False)
    error = f"{tried.result.error}\n{tried.result.content}".strip()
    diagnosis = diagnosis_of(tried)
    needed = diagnosis.action.action[:LONGEST_SHOWN]
    return Question(
        kind=QuestionKind.PERMISSION,
        text=f"The tool {tried.call.tool} needs a person. {needed} Then let it try again, or go on without it.",
        context=(
            f"Tool: {tried.call.tool}",
            f"Error: {error[:LONGEST_SHOWN]}",
            f"Arguments: {arguments[:LONGEST_SHOWN]}",
            f"Cause: {diagnosis.root_cause[:LONGEST_SHOWN]}",
        ),
        choices=CHOICES,
    )


def given_up(tried: Try) -> str:
    """Why no further call is made, for the step or the run that ends with it."""
    diagnosis = diagnosis_of(tried)
    wrong = tried.issues[0].description if tried.issues else diagnosis.root_cause
    instead = diagnosis.action.alternative.strip()
    told = f"The tool {tried.call.tool} is not called again: {wrong} ({diagnosis.root_cause[:LONGEST_SHOWN]})"
    return f"{told} Instead: {instead[:LONGEST_SHOWN]}" if instead else told


def diagnosis_of(tried: Try) -> Diagnosis:
    """The diagnosis of a try that failed and was closed."""
    assert tried.diagnosis is not None, "a failed try is closed with its diagnosis"
    return tried.diagnosis


def fix_in_words(diagnosis: Diagnosis, failed: ToolCall, made: ToolCall) -> str:
    """What was done, in words that hold no values of parameters."""
    if diagnosis.source is not Source.NONE:
        return diagnosis.action.action
    if failed.tool != made.tool:
        return f"Call {made.tool} instead."
    names = dict.fromkeys((*failed.arguments, *made.arguments))
    changed = [name for name in names if failed.arguments.get(name) != made.arguments.get(name)]
    return f"Other values of: {', '.join(changed)}." if changed else "The same call again."
