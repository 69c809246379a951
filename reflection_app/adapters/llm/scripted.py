"""The scripted model, for the demo and for tests: answers by step key, so that a replay after a crash says the same.

A script is `<name>.json`: `{"answers": {"<step key>": {"text", "prompt_tokens"?, "completion_tokens"?, "delay_ms"?,
"cost_usd"?}}}`. It stands in for a provider on purpose and by name only; no setting falls back to it.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reflection_app.adapters.llm.completion import Completion, CompletionRequest
from reflection_app.adapters.llm.errors import ModelTimedOut, ScriptExhausted, ScriptInvalid

PREFIX = "scripted/"
SCRIPTS = Path(__file__).parent / "scripts"
PIECE_MS = 50
NAME = re.compile(r"[a-z0-9-]+")

OnText = Callable[[str], None]


class ScriptedAnswer(BaseModel):
    """One prepared answer. Token counts that are not given are estimated from the lengths."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)
    delay_ms: int = Field(default=0, ge=0)
    cost_usd: Decimal = Field(default=Decimal(0), ge=0)


class Script(BaseModel):
    """The prepared answers of one model, by step key."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    answers: dict[str, ScriptedAnswer]


_registered: dict[str, Script] = {}


def register_script(name: str, answers: Mapping[str, str | ScriptedAnswer]) -> str:
    """The model name that now answers with `answers` in this process. Replaces a script of the same name."""
    _registered[_checked(name)] = Script(
        answers={key: ScriptedAnswer(text=a) if isinstance(a, str) else a for key, a in answers.items()}
    )
    return f"{PREFIX}{name}"


def load_script(name: str, *, folder: Path = SCRIPTS) -> Script:
    """The script `name` from `folder`, each file being read once. Raises ScriptInvalid where it cannot be had."""
    return _registered.get(name) or _read(folder / f"{_checked(name)}.json")


def answer_from_script(request: CompletionRequest, *, on_text: OnText | None = None) -> Completion:
    """The script's answer to the request's key; one with a delay is shown to `on_text` in pieces meanwhile.

    Raises ScriptExhausted where it has none, ModelTimedOut where its delay is longer than the request's deadline.
    """
    name = request.model.removeprefix(PREFIX)
    answer = load_script(name).answers.get(request.key)
    if answer is None:
        raise ScriptExhausted(f"The script {name!r} has no answer for the step {request.key!r}.")
    if answer.delay_ms > request.timeout_s * 1000:
        time.sleep(request.timeout_s)
        raise ModelTimedOut(f"{request.model} gave no answer within {request.timeout_s:g} s.")
    is_streamed = on_text is not None and request.json_schema is None
    pieces = max(1, answer.delay_ms // PIECE_MS) if is_streamed else 1
    for piece in range(pieces):
        if on_text is not None and is_streamed and piece:
            on_text(answer.text[: len(answer.text) * piece // pieces])
        time.sleep(answer.delay_ms / 1000 / pieces)
    asked = sum(len(message.content) for message in request.messages)
    return Completion(
        text=answer.text,
        model=request.model,
        prompt_tokens=_estimate(asked) if answer.prompt_tokens is None else answer.prompt_tokens,
        completion_tokens=_estimate(len(answer.text)) if answer.completion_tokens is None else answer.completion_tokens,
        cost_usd=answer.cost_usd,
        cost_known=True,
        finish_reason="stop",
    )


def _estimate(characters: int) -> int:
    return -(-characters // 4)


def _checked(name: str) -> str:
    # The name becomes part of a path, and task authors may choose it.
    if not NAME.fullmatch(name):
        raise ScriptInvalid("A script's name has lower-case letters, digits and hyphens only.")
    return name


@lru_cache(maxsize=128)
def _read(path: Path) -> Script:
    try:
        return Script.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ScriptInvalid(f"There is no script named {path.stem!r}.") from None
    except (ValueError, ValidationError) as error:
        raise ScriptInvalid(f"The script {path.stem!r} is malformed: {error}") from error
