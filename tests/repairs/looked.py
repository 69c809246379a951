"""Checks of histories whose files a model looks at, on real parts: the sandbox draws, and the model is behind HTTP."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.repairs.completeness import CheckSubmission, check_completeness
from reflection_app.runs.models import Run
from tests import given, when
from tests.adapters.llm.conftest import API_KEY
from tests.attachments.produced import file_part
from tests.loops.completeness.scenes import checked
from tests.openai_server import OpenAIServer, Reply, SentPicture, openai_parts

CHART = "a bar chart per region, with a legend"
_numbers = count(1)
_NONCE = re.compile(r'"nonce": "([0-9a-f]{16})"')


class Eyes:
    """A model that sees, behind HTTP."""

    model = "openai/house-eyes"

    def __init__(self, server: OpenAIServer) -> None:
        self.server = server

    def parts(self, at: int = 0) -> list[str | SentPicture]:
        """What stood in the first message of a user of request number `at`, in its order."""
        messages = self.server.requests[at].body["messages"]
        return openai_parts(next(one for one in messages if one["role"] == "user"))

    def pictures(self, at: int = 0) -> list[SentPicture]:
        return [one for one in self.parts(at) if isinstance(one, SentPicture)]


@contextmanager
def eyes(answer: Callable[[str], str | Reply], monkeypatch: pytest.MonkeyPatch) -> Iterator[Eyes]:
    """Such a model; `answer` is given the text that it is asked with."""

    def answered(body: dict[str, Any]) -> str | Reply:
        return answer(json.dumps(body["messages"][-1]["content"]).replace('\\"', '"'))

    with OpenAIServer(answered) as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", API_KEY)
        yield Eyes(server)


def seen(asked: str, *, holds: str = "yes", saw: str = "A bar chart of four regions.") -> str:
    """An answer of a model that looked, with the nonce that it was asked for."""
    nonce = _NONCE.search(asked)
    said = {
        "nonce": nonce[1] if nonce else "",
        "saw": saw,
        "requirements": [{"number": 1, "holds": holds, "why": "The chart is on the left."}],
    }
    return json.dumps(said)


def looking_project(model: str = "", *, check: str = "", **fields: Any) -> Project:
    """A project whose checks are made by a script, and whose pictures `model` looks at; nobody where that is empty."""
    script = register_script(
        f"eyes-{next(_numbers)}", {"history/completeness": check or checked(analysis="All is there.")}
    )
    models = {"default": script} | ({"vision": model} if model else {})
    return given.project(f"eyes-{next(_numbers)}", models_by_role=models, **fields)


def looked_check(project: Project, files: dict[str, bytes], *, shows: str = CHART, **submission: Any) -> Run:
    """The run of a check of these files, each of which must show `shows`, as far as it goes by itself."""
    body = {
        "objective": "Draw the sales per region.",
        "history": [{"operation": "Draw the chart", "tool": "draw", "result": "done"}],
        "files": [file_part(content, name=name) for name, content in files.items()],
        "required_files": [{"path": name, "shows": shows} for name in files],
    }
    run = check_completeness(project, CheckSubmission.model_validate(body | submission), actor=Actor())
    when.advances(run)
    return run
