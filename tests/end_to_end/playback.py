"""What the model server says: each test's tasks name themselves in their objective, and are answered by that name."""

import re
from typing import Any

from tests.openai_server import Answer, OpenAIServer, Reply, Request

NAMED = re.compile(r"^Case: (\S+)$", re.MULTILINE)


class Playback:
    """An `Answer` for OpenAIServer that asks the answer of the case named in the prompt."""

    def __init__(self) -> None:
        self._answers: dict[str, Answer] = {}

    def __call__(self, body: dict[str, Any]) -> str | Reply:
        return self._answers[case_of(body)](body)

    def add(self, case: str, answer: Answer) -> str:
        """The first line that an objective needs to be answered by `answer`."""
        self._answers[case] = answer
        return f"Case: {case}\n"


def case_of(body: dict[str, Any]) -> str:
    """The case that the request is about. Raises LookupError where it names none."""
    for message in body["messages"]:
        if found := NAMED.search(message["content"]):
            return found[1]
    raise LookupError("no case in the prompt")


def attempt_of(body: dict[str, Any]) -> int:
    """Which attempt of an external loop is asked for: its context grows by one answer each time."""
    return 1 + len([message for message in body["messages"] if message["role"] == "assistant"])


def requests_for(server: OpenAIServer, case: str) -> list[Request]:
    """What was asked about `case`, oldest first."""
    return [request for request in server.requests if case_of(request.body) == case]


def python(code: str) -> str:
    """An answer that consists of this code."""
    return f"```python\n{code.rstrip()}\n```"
