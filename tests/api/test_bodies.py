"""Bodies that are broken, hostile or merely unusual."""

import gzip
import json
import re
import tracemalloc
from collections.abc import Callable
from io import BytesIO

import pytest
from django.core.exceptions import RequestDataTooBig
from django.core.handlers.asgi import ASGIRequest
from pytest_django.fixtures import Settings
from rest_framework.request import Request

from reflection_app.api.reading import read_body, read_input
from reflection_app.core.errors import InvalidInput
from reflection_app.tasks.models import Task
from reflection_app.tasks.submission import TaskSubmission
from tests import then
from tests.api.caller import Caller

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"not json",
        b'{"objective": "x",}',
        b"\xff\xfe{}",
        b'{"objective": NaN}',
        b'{"objective": "x", "metadata": {"a": Infinity}}',
        b'{"objective": "x", "metadata": {"a": -1e999}}',
        b'{"objective": "x", "metadata": {"a": ' + b"9" * 5000 + b"}}",
        b'{"objective": "x"} {"objective": "y"}',
        b"[" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"objective": "x", "metadata": {"a": ' + b"[" * 300 + b"]" * 300 + b"}}",
        b"\x00",
    ],
)
def test_a_body_that_is_not_usable_json_is_refused(caller: Caller, body: bytes) -> None:
    then.refused(caller.call("POST", "tasks", data=body), 400)
    assert not Task.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"objective": "a\\u0000b"}', "objective"),
        ('{"objective": "a\\ud800b"}', "objective"),
        ('{"objective": "x", "metadata": {"list": [1, {"deep": "\\udfff"}]}}', "metadata.list.1.deep"),
        ('{"objective": "x", "metadata": {"\\ud800": 1}}', "metadata.\N{REPLACEMENT CHARACTER}"),
        ('{"\\u0000": 1}', "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_text_that_cannot_be_stored_is_refused_with_its_field(caller: Caller, body: str, field: str) -> None:
    answer = caller.call("POST", "tasks", data=body)
    then.refused(answer, 400)
    assert then.named_fields(answer) == [field]


def test_unusual_values_come_back_as_they_were_sent(caller: Caller) -> None:
    metadata = {
        "huge": 10**300,
        "tiny": 5e-324,
        "emoji": "\N{GRINNING FACE}",
        "中文": "值",
        "right to left": "\u202eabc",
        "": "no name",
        "deep": [[[[[[]]]]]],
        "none": None,
    }
    task = caller.post("tasks", {"objective": "x", "metadata": metadata}).body
    assert caller.get(f"tasks/{task['id']}").body["metadata"] == metadata


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
def test_a_body_that_is_not_said_to_be_json_is_refused(caller: Caller, content_type: str) -> None:
    answer = caller.call("POST", "tasks", data='{"objective": "x"}', content_type=content_type)
    then.refused(answer, 415)
    assert "application/json" in answer.body["detail"]


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_an_encoded_body_is_refused_by_its_encoding(admin: Caller, encoding: str) -> None:
    body = gzip.compress(b'{"objective": "x"}')
    for method, path in (("POST", "tasks"), ("PUT", "guidelines"), ("POST", "attachments")):
        answer = admin.call(method, path, data=body, headers={"Content-Encoding": encoding})
        then.refused(answer, 415)
        assert encoding in answer.body["detail"]


def test_a_body_over_the_limit_is_refused(caller: Caller, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    body = json.dumps({"objective": "x" * 1000})
    then.refused(caller.call("POST", "tasks", data=body), 413)


def chunked(body: bytes) -> Request:
    """A request as it comes from the server where the client sent no length."""
    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/api/v1/tasks", "query_string": b"", "headers": headers}
    return Request(ASGIRequest(scope, BytesIO(body)))


def test_a_body_without_a_length_over_the_limit_is_refused(settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    with pytest.raises(RequestDataTooBig):
        read_body(chunked(b'"' + b"x" * 1000 + b'"'))


def test_a_long_key_above_a_long_list_takes_no_memory_for_each_item() -> None:
    body = json.dumps({"k" * 100_000: [0] * 20_000}).encode()
    tracemalloc.start()
    try:
        read_body(chunked(body))
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


MANY = 201_000
HOSTILE: dict[str, Callable[[], object]] = {
    "unknown keys": lambda: {"objective": "x"} | {f"k{number}": 1 for number in range(MANY)},
    "unknown keys of a part": lambda: {"objective": "x", "limits": {f"k{number}": 1 for number in range(MANY)}},
    "free-form keys": lambda: {"objective": "x", "metadata": {f"k{number}": 1 for number in range(MANY)}},
    "wrong items": lambda: {"objective": "x", "tools": [1] * MANY},
    "empty lists": lambda: {"objective": "x", "metadata": {"a": [[]] * MANY}},
    "unstorable keys": lambda: {f"\ud800{number}": 1 for number in range(MANY)},
}


@pytest.mark.parametrize(("kind", "path"), [*((kind, "tasks") for kind in HOSTILE), ("unknown keys", "transcripts")])
def test_a_body_of_very_many_values_is_refused_before_it_is_read(caller: Caller, kind: str, path: str) -> None:
    answer = caller.post(path, HOSTILE[kind](), idempotency_key="a")
    then.refused(answer, 413)
    assert "200,000" in answer.body["detail"]
    assert not Task.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {"objective": "x"} | {f"k{number}": 1 for number in range(190_000)},
        {"objective": "x", "files": [1] * 190_000},
        {"objective": "x", "metadata": {"a": ["\ud800"] * 190_000}},
    ],
    ids=["unknown keys", "wrong items", "unstorable texts"],
)
def test_errors_are_counted_and_the_first_are_kept(body: dict[str, object]) -> None:
    """Of the body itself some 30 MB are kept at once; each error that is written down takes a kilobyte beside it."""
    sent = chunked(json.dumps(body).encode())
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput) as refused:
            read_input(sent, TaskSubmission, what="task")
        assert tracemalloc.get_traced_memory()[1] < 90_000_000
    finally:
        tracemalloc.stop()
    assert len(refused.value.errors) <= 51
    assert re.search(r"189,?9[0-9]{2}|190,?000", refused.value.errors[-1]["message"])


def test_large_bodies_that_mean_something_are_taken(caller: Caller) -> None:
    said = 'He said: "a, b, [c], {d}" \\ \n' * 600
    turns = [{"role": "user", "content": said}, {"role": "assistant", "content": said}] * 230
    assert caller.post("transcripts", {"agent": "a", "messages": turns}).status == 201
    assert len(json.dumps(turns)) > 9_000_000
    metadata = {f"k{number}": number for number in range(200)}
    batch = [{"objective": said[:10_000], "metadata": metadata} for _ in range(100)]
    assert caller.post("tasks/batch", {"tasks": batch}).status == 201
