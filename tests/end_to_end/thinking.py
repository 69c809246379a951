"""A model behind HTTP that answers by what it is asked for: the form tells a critic's question from a planner's."""

import json
from collections.abc import Callable, Sequence
from typing import Any

# The field by which each question's form is known.
ASKED_BY_FIELD = {
    "approved": "critic",
    "gap": "reflect",
    "repair_steps": "repair_plan",
    "is_complete": "completeness",
    "error_type": "diagnosis",
    "steps": "plan",
    "arguments": "call",
}
Said = str | dict[str, Any] | Callable[[str], Any]


class Mind:
    """Answers each kind of question by its own list, the last one again and again; `asked` keeps what was asked.

    What is asked for in no form is the attempt itself, or a step of a repair or a plan: `answer`.
    """

    def __init__(self, **said: Said | Sequence[Said]) -> None:
        self._said = {kind: list(given) if isinstance(given, list | tuple) else [given] for kind, given in said.items()}
        self.asked: list[tuple[str, str]] = []

    def __call__(self, body: dict[str, Any]) -> str:
        kind = kind_of(body)
        prompt = "\n".join(message["content"] for message in body["messages"])
        self.asked.append((kind, prompt))
        said = self._said[kind]
        answer = said.pop(0) if len(said) > 1 else said[0]
        if callable(answer):
            answer = answer(prompt)
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

    def times(self, kind: str) -> int:
        return sum(asked == kind for asked, _ in self.asked)


def kind_of(body: dict[str, Any]) -> str:
    form = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    return next((kind for field, kind in ASKED_BY_FIELD.items() if field in form), "answer")
