"""`ETag`, `If-Match` and `Location`: nobody writes over what they did not see, and is told where a new thing is."""

import json
from typing import Any

import pytest

from tests import given, then
from tests.adapters.outgoing.conftest import loopback
from tests.api.caller import Answer, Caller
from tests.notebook.entries import make_entry
from tests.teams.test_tools_api import WEATHER

__all__ = ["loopback"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback")]
HOOK = {"url": "http://127.0.0.1:9/hook", "events": ["run.finished"]}
RULES: dict[str, Any] = {"rules": [{}]}


def made(admin: Caller, kind: str) -> str:
    """The address of a thing that was just made."""
    if kind == "task":
        return f"tasks/{given.submitted_run(admin.project).task_id}"
    if kind == "entry":
        return f"notebook/entries/{make_entry(admin.project).pk}"
    if kind == "policy":
        return "review-policy"
    return admin.post(*(("tools", WEATHER) if kind == "tool" else ("webhooks", HOOK))).headers["location"]


EDITS: dict[str, tuple[str, Any, Any]] = {
    "task": ("PATCH", {"external_id": "one"}, {"external_id": "two"}),
    "tool": ("PATCH", {"name": "forecast"}, {"description": "Of a city."}),
    "webhook": ("PATCH", {"description": "One"}, {"description": "Two"}),
    "entry": ("PATCH", {"content": "One."}, {"content": "Two."}),
    "policy": ("PUT", RULES, {"rules": [{"verdicts": ["REJECT"]}]}),
}


def send(admin: Caller, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return admin.call(method, path, data="" if body is None else json.dumps(body), headers=named)


@pytest.mark.parametrize("kind", EDITS)
def test_what_was_changed_since_it_was_seen_is_left_alone(admin: Caller, kind: str) -> None:
    path, (method, first, second) = made(admin, kind), EDITS[kind]
    seen = admin.get(path).headers["etag"]
    done = send(admin, method, path, first, if_match=seen)
    assert done.status == 200, done.body
    if kind == "tool":
        path = "tools/forecast"
    now = admin.get(path)
    assert done.headers["etag"] == now.headers["etag"] != seen
    refused = send(admin, method, path, second, if_match=seen)
    then.refused(refused, 412)
    assert now.headers["etag"] in refused.body["detail"]
    assert admin.get(path).body == now.body
    assert send(admin, method, path, second, if_match=f'"other", {now.headers["etag"]}').status == 200
    assert send(admin, method, path, first, if_match="*").status == 200
    # Nobody has to say what they saw.
    assert send(admin, method, path, second).status == 200


@pytest.mark.parametrize("kind", ["tool", "webhook"])
def test_what_was_changed_since_it_was_seen_is_not_deleted(admin: Caller, kind: str) -> None:
    path, (method, first, _) = made(admin, kind), EDITS[kind]
    first = first | ({"name": WEATHER["name"], "is_enabled": False} if kind == "tool" else {})
    seen = admin.get(path).headers["etag"]
    assert send(admin, method, path, first).status == 200
    then.refused(send(admin, "DELETE", path, if_match=seen), 412)
    assert send(admin, "DELETE", path, if_match=admin.get(path).headers["etag"]).status == 204


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("tasks", {"objective": "Write a haiku.", "kind": "creative_writing"}),
        ("webhooks", HOOK),
        ("transcripts", {"messages": [{"role": "user", "content": "Hello"}]}),
        ("tool-failures", {"tool": "search", "error_message": "Timeout after 30s"}),
        ("completeness-checks", {"objective": "Read it.", "history": [{"operation": "Read it"}]}),
        ("notebook/entries", {"kind": "rule", "name": "kebab-case", "content": "Files are named in kebab-case."}),
    ],
)
def test_what_is_made_is_found_where_the_answer_says(admin: Caller, path: str, body: dict[str, Any]) -> None:
    first = admin.post(path, body, idempotency_key="one")
    assert first.status == 201, first.body
    made_id = (first.body.get("webhook") or first.body.get("entry") or first.body)["id"]
    found = admin.get(first.headers["location"])
    assert (found.status, found.body["id"]) == (200, made_id)
    assert admin.post(path, body, idempotency_key="one").headers["location"] == first.headers["location"]
