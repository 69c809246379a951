"""The five error classes and the facts that determine them."""

import json
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import IssueCategory, Score


class ErrorClass(StrEnum):
    """Codes of the error classes in reflection reports."""

    MODEL_CAPABILITY = "3.3.1"
    DECISION_ERROR = "3.3.2"
    PIPELINE_CRASH = "3.3.3"
    MISSING_KNOWLEDGE = "3.3.4"
    NORMAL_ITERATION = "3.3.5"


class AlikeBy(StrEnum):
    """Method that identified two issues as the same mistake."""

    WORDS = "words"
    MEANING = "meaning"
    REFLECTOR = "reflector"


class SimilarIssue(Value):
    """An issue of an earlier report on the same agent that matches a current issue.

    `similarity`, 0–1, is the confidence in the match: the probability if matched by meaning, or the share of common
    words if matched by words. It is 1 if the reflector matched and quoted the earlier issue.
    """

    reflection_id: str = ""
    category: IssueCategory
    description: Text
    now: Text
    similarity: float = Field(ge=0, le=1)
    by: AlikeBy = AlikeBy.WORDS


class UnknownBy(StrEnum):
    """Method that detected an agent's statement that it does not know something."""

    AGENT = "agent"
    REFLECTOR = "reflector"
    MEANING = "meaning"
    WORDS = "words"


class SaidUnknown(Value):
    """Result of reading an attempt by meaning: the sentence that states most clearly that something is not known.

    None was found if `quote` is empty. `found_nothing` names the tools whose last call in the run returned nothing.
    """

    quote: Text = ""
    found_nothing: tuple[Text, ...] = ()


class SimilarIssues(Value):
    """Matches among the last `looked_at` reports on the agent.

    `unknown` is None if the attempt was not read by meaning: no model, or a journal of an older version.
    """

    looked_at: int = 0
    found: tuple[SimilarIssue, ...] = ()
    unknown: SaidUnknown | None = None


class FailureFacts(Value):
    """Known facts about an unsuccessful attempt. They alone determine the error class.

    `quote` is the agent's statement that it does not know something, `unknown_by` the method that detected it, and
    `found_nothing` the tools that returned nothing. `interruption` describes what broke off and where.
    """

    is_completed: bool
    why_completed: Text = ""
    is_interrupted: bool = False
    interruption: Text = ""
    broken_phase: Text = ""
    said_unknown: bool = False
    quote: Text = ""
    unknown_by: UnknownBy | None = None
    found_nothing: tuple[Text, ...] = ()
    is_repeated: bool = False
    similar: SimilarIssues = SimilarIssues()
    score: Score = 0


# Texts in a reflector's answer: other types are converted, long texts are cut.

LONGEST_TEXT = 2_000
MOST_TEXTS = 12


def as_text(value: Any, *, longest: int = LONGEST_TEXT) -> str:
    """Return `value` converted to text, at most `longest` characters; "" for null."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = value
    elif isinstance(value, list):
        text = "; ".join(as_text(item) for item in value[:MOST_TEXTS])
    else:
        text = json.dumps(value, ensure_ascii=False)
    return text.strip()[:longest]


def as_texts(value: Any) -> tuple[str, ...]:
    """Return the nonempty items as texts; a single text is split into lines."""
    items = value.splitlines() if isinstance(value, str) else value if isinstance(value, list) else [value]
    texts = (as_text(item) for item in items)
    return tuple(text for text in texts if text)[:MOST_TEXTS]


LenientText = Annotated[str, BeforeValidator(as_text)]
LenientTexts = Annotated[tuple[str, ...], BeforeValidator(as_texts)]


# Texts of models and agents as list items of a prompt, which cannot imitate a line of the prompt itself

INDENT = "  "


def item(text: str) -> str:
    """Return the text as one list item. Its further lines are indented, so none starts a new item."""
    lines = [line.strip() for line in text.splitlines()]
    return "- " + f"\n{INDENT}".join(line for line in lines if line)
