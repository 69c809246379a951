"""An agent's name in either Unicode form is the name of one agent."""

from unicodedata import normalize

import pytest
from django.test import Client

from tests import given

pytestmark = pytest.mark.django_db
NAME = "Café 가게"


def test_work_of_an_agent_is_found_in_either_form(client: Client) -> None:
    caller = given.caller()
    agent, wanted = normalize("NFD", NAME), normalize("NFC", NAME)
    objective = {"objective": "Write a haiku.", "kind": "creative_writing"}
    assert caller.post("tasks", objective | {"agent": agent}).status == 201
    failure = {"tool": "search", "params": {}, "error_message": "Timeout after 30s", "agent": agent}
    assert caller.post("tool-failures", failure).status in (200, 201)
    session = {"agent": agent, "messages": [{"role": "user", "content": "Hello."}]}
    assert caller.post("transcripts", session).status == 201
    for path in ("tasks", "runs", "tool-failures", "transcripts"):
        assert len(caller.get(path, agent=wanted).body["results"]) == 1, path
    given.logged_in(client, caller.project)
    for page in ("runs", "tools/failures"):
        assert normalize("NFC", NAME) in client.get(f"/p/{caller.project.slug}/{page}/", {"agent": wanted}).text
