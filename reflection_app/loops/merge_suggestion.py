"""Ask a model to merge several notebook entries into one. The result is a suggestion; nothing is changed."""

import json
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from reflection_app.loops.answer_reading import Lenient
from reflection_app.loops.answer_schemas import TEXT, open_object
from reflection_app.loops.answers import ask
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.framing import framed
from reflection_app.loops.merging import (
    LONGEST_NAME,
    LONGEST_TEXT,
    EntryToMerge,
    MergeSuggestion,
    RecordMergeSuggestion,
)
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.texts import at_most, one_line
from reflection_app.loops.values import system, user
from reflection_app.loops.verdicts import Outcome

ROLE = "merger"
TEMPERATURE = 0.2
LONGEST_SHOWN = 12_000

ANSWER_SCHEMA = open_object(name=TEXT, description=TEXT, content=TEXT, note=TEXT)


def _text(value: Any) -> Any:
    """Return "" for null, and a list of lines as one text."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "\n".join(value)
    return "" if value is None else value


Line = Annotated[str, BeforeValidator(_text), AfterValidator(one_line), at_most(LONGEST_NAME)]
Long = Annotated[str, BeforeValidator(_text), at_most(LONGEST_TEXT, stripped=True)]


class MergeAnswer(Lenient):
    """A model's suggestion. It needs a name, and a description or content."""

    name: Line = Field(min_length=1)
    description: Long = ""
    content: Long = ""
    note: Long = ""

    @model_validator(mode="after")
    def check_it_says_something(self) -> Self:
        if not self.name or not (self.description or self.content):
            raise ValueError("the name, and one of description and content, must say something")
        return self


async def merge_suggestion(spec: TaskSpec, run: Progress) -> Outcome:
    """Store a suggestion and return SUCCEEDED.

    Raise EffectFailed if there are not two entries, or if the conflict was settled or changed meanwhile.
    """
    if len(spec.to_merge) != 2:
        raise EffectFailed("There are not two entries to merge.")
    first, second = spec.to_merge
    question = prompt("merge_entries", first=_framed(first, name="first"), second=_framed(second, name="second"))
    request = run.model_call(
        key="merge",
        role=ROLE,
        messages=(system(prompt("merge_system")), user(question)),
        temperature=TEMPERATURE,
        json_schema=ANSWER_SCHEMA,
    )
    answer = await ask(run, request, schema=MergeAnswer)
    suggestion = MergeSuggestion.model_validate(answer.model_dump())
    recorded = await run.perform(RecordMergeSuggestion(key="suggestion", suggestion=suggestion))
    if not recorded.is_kept:
        raise EffectFailed("The suggestion was not kept: its conflict was settled, or says something else by now.")
    return Outcome.SUCCEEDED


def _framed(entry: EntryToMerge, *, name: str) -> str:
    """Return the entry as data, in a frame that it cannot close."""
    filled = {key: value for key, value in entry.model_dump(mode="json").items() if value}
    return framed(json.dumps(filled, ensure_ascii=False, indent=1), name=name, most=LONGEST_SHOWN)
