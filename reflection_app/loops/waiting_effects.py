"""Effects that wait: for a person's answer, or for time to pass. Nothing is held meanwhile."""

from pydantic import Field, TypeAdapter

from reflection_app.loops.effect import Effect
from reflection_app.loops.questions import PersonsAnswer, Question

LONGEST_WAIT_S = 86_400.0


class AskPerson(Effect[PersonsAnswer]):
    """Wait for a person's answer to a question. The run waits as `waiting_review`."""

    kind = "ask_person"
    results = TypeAdapter(PersonsAnswer)

    question: Question
    attempt: int | None = None


class Wait(Effect[None]):
    """Wait until `delay_s` have passed since this was first asked for; `why` is shown."""

    kind = "wait"
    results = TypeAdapter(None)

    delay_s: float = Field(gt=0, le=LONGEST_WAIT_S)
    why: str = ""
    attempt: int | None = None
