"""Sessions of agents for tests: turns, a reflector that a script plays, and recorded ones."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.models import Project
from tests import given

RECORDED = Path(__file__).parents[3] / "shared" / "data" / "tau_bench" / "airline_gpt4o.jsonl"
INLINE = {"mode": "inline", "every_turns": 5}
_numbers = count(1)


def reflection(text: str = "Go on.", *, on_track: bool = True, **more: Any) -> str:
    """What a reflector says."""
    return json.dumps({"on_track": on_track, "suggestions": [text], "confidence": 0.7, **more})


def watched_project(answers: dict[str, str] | None = None, **fields: Any) -> Project:
    """A project whose reflector is a script; without `answers` it says `Advice n` the n-th time."""
    said = (
        answers if answers is not None else {f"reflection-{n}/answer": reflection(f"Advice {n}") for n in range(1, 21)}
    )
    model = register_script(f"reflector-{next(_numbers)}", said)
    return given.project(models_by_role={"default": model}, **fields)


def turns(*said: str) -> list[dict[str, Any]]:
    """Messages of a user and an assistant in turn; what begins with `tool:` is a tool's answer."""
    return [
        {"role": "tool", "name": "search", "content": text.removeprefix("tool:").strip()}
        if text.startswith("tool:")
        else {"role": "assistant" if number % 2 else "user", "content": text}
        for number, text in enumerate(said)
    ]


def recorded_sessions(most: int) -> list[dict[str, Any]]:
    """Real sessions of an agent with tools; skips the test where there are none here."""
    if not RECORDED.exists():
        pytest.skip(f"there are no recorded sessions at {RECORDED}")
    return [json.loads(line) for line in RECORDED.read_text().splitlines()[:most]]


def turns_reflected_on(messages: list[dict[str, Any]], *, every: int) -> list[int]:
    """After which turns a session is reflected on while it is posted turn by turn, told from its recorded errors."""
    due, last, has_failed = list[int](), 0, False
    for seq, message in enumerate(messages, start=1):
        is_failure = message["role"] == "tool" and str(message["content"]).startswith("Error")
        if seq - last >= every or (is_failure and not has_failed):
            due.append(seq)
            last = seq
        has_failed = has_failed or is_failure
    return due
