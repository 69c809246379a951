"""Questions to a reviewer other than verdicts: a permission, a call to allow, knowledge, a manual repair."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from reflection_app.loops.storable import Text
from reflection_app.loops.tool_permission import PreparedCall
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import LONGEST_TEXT


class QuestionKind(StrEnum):
    PERMISSION = "permission"
    KNOWLEDGE = "knowledge"
    REPAIR = "repair"
    TOOL_CALL = "tool_call"


class Choice(StrEnum):
    """Choice offered as an answer to a question, in addition to free text. Each question lists its choices."""

    ANSWER = "answer"
    TRY_AGAIN = "try_again"
    SKIP = "skip"
    GIVE_UP = "give_up"
    ALLOW = "allow"
    REFUSE = "refuse"


class Question(Value):
    """A question. `context` lists helpful facts: the tool and its error, the objective, what was tried.

    `prepared` is the call that is made if the answer is ALLOW, with exactly these arguments.
    """

    kind: QuestionKind
    text: Text = Field(min_length=1, max_length=LONGEST_TEXT)
    context: tuple[Text, ...] = ()
    choices: Annotated[tuple[Choice, ...], Field(min_length=1)] = (Choice.ANSWER, Choice.SKIP)
    prepared: PreparedCall | None = Field(default=None, exclude_if=lambda prepared: prepared is None)


class PersonsAnswer(Value):
    """A person's answer. `text` is set if the choice is ANSWER; `by` is the person."""

    choice: Choice
    text: Text = ""
    by: str = ""
