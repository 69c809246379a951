import hashlib
import json
import threading

import pytest

from reflection_app.core.models import IdempotentAnswer
from reflection_app.tasks.models import Task
from tests import given, then
from tests.api.caller import Answer, Caller
from tests.notebook.at_once import at_once

pytestmark = pytest.mark.django_db


def test_a_request_sent_again_is_answered_again_and_carried_out_once(caller: Caller) -> None:
    first = caller.post("tasks", {"objective": "x"}, idempotency_key="a")
    again = caller.post("tasks", {"objective": "x"}, idempotency_key="a")

    assert (again.status, again.body) == (201, first.body)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert Task.objects.count() == 1


def test_a_key_used_for_another_body_is_refused(caller: Caller) -> None:
    caller.post("tasks", {"objective": "x"}, idempotency_key="a")
    then.refused(caller.post("tasks", {"objective": "y"}, idempotency_key="a"), 422)
    assert Task.objects.count() == 1


@pytest.mark.parametrize(
    "again",
    [
        '{"metadata": {"b": [1, {"y": 2.5, "x": 1}], "a": "\u00e9"}, "objective": "x"}',
        '{"objective":"x","metadata":{"a":"é","b":[1,{"x":1,"y":2.50}]}}',
        '{"objective": "z", "objective": "x", "metadata": {"a": "é", "b": [1, {"x": 1, "y": 25e-1}]}}\n',
    ],
)
def test_the_same_json_written_otherwise_is_the_same_request(caller: Caller, again: str) -> None:
    first = caller.post(
        "tasks", {"objective": "x", "metadata": {"a": "é", "b": [1, {"x": 1, "y": 2.5}]}}, idempotency_key="a"
    )
    second = caller.call("POST", "tasks", data=again, headers={"Idempotency-Key": "a"})
    assert (first.status, second.status, second.body) == (201, 201, first.body)
    assert Task.objects.count() == 1


@pytest.mark.parametrize("metadata", [{"b": [{"x": 1}, 1]}, {"b": [1, {"x": 1.0}]}, {"b": [1, {"x": "1"}]}])
def test_another_order_of_items_or_another_number_is_another_request(
    caller: Caller, metadata: dict[str, object]
) -> None:
    caller.post("tasks", {"objective": "x", "metadata": {"b": [1, {"x": 1}]}}, idempotency_key="a")
    then.refused(caller.post("tasks", {"objective": "x", "metadata": metadata}, idempotency_key="a"), 422)


def test_a_body_that_is_no_json_is_told_apart_by_its_bytes(caller: Caller) -> None:
    caller.post("tasks", {"objective": "x"}, idempotency_key="a")
    then.refused(caller.call("POST", "tasks", data="{", headers={"Idempotency-Key": "a"}), 422)


def test_answers_kept_by_the_hash_of_the_very_bytes_are_given_again(caller: Caller) -> None:
    first = caller.post("tasks", {"objective": "x", "kind": "y"}, idempotency_key="a")
    body = json.dumps({"objective": "x", "kind": "y"}).encode()
    kept = hashlib.sha256(b"POST /api/v1/tasks\n" + body).hexdigest()
    IdempotentAnswer.objects.update(fingerprint=kept)
    assert caller.post("tasks", {"objective": "x", "kind": "y"}, idempotency_key="a").body == first.body
    then.refused(caller.post("tasks", {"objective": "x", "kind": "z"}, idempotency_key="a"), 422)


def test_a_request_sent_again_may_wait_for_another_while(caller: Caller) -> None:
    body = {"tool": "search", "error_message": "HTTP 429: rate limit exceeded"}
    first = caller.post("tool-failures?wait=0.1", body, idempotency_key="a")
    again = caller.post("tool-failures?wait=0.2", body, idempotency_key="a")
    assert (first.status, again.status) == (201, 201)
    assert again.body["id"] == first.body["id"]
    assert again.headers["idempotency-replayed"] == "true"


def test_two_callers_may_use_the_same_key(caller: Caller) -> None:
    assert caller.post("tasks", {"objective": "x"}, idempotency_key="a").status == 201
    assert given.caller(caller.project).post("tasks", {"objective": "y"}, idempotency_key="a").status == 201


def test_a_refusal_is_not_kept(caller: Caller) -> None:
    then.refused(caller.post("tasks", {"objective": ""}, idempotency_key="a"), 400)
    assert not IdempotentAnswer.objects.exists()
    assert caller.post("tasks", {"objective": "x"}, idempotency_key="a").status == 201


@pytest.mark.parametrize("key", ["", "x" * 201, "ä"])
def test_a_key_that_is_not_usable_is_refused(caller: Caller, key: str) -> None:
    answer = caller.post("tasks", {"objective": "x"}, idempotency_key=key)
    then.refused(answer, 400)
    assert then.named_fields(answer) == ["Idempotency-Key"]


@pytest.mark.django_db(transaction=True)
def test_requests_with_one_key_at_the_same_time_are_carried_out_once(caller: Caller) -> None:
    together = threading.Barrier(6)

    def send(_: int) -> Answer:
        together.wait()
        return caller.post("tasks/batch", {"tasks": [{"objective": "x"}] * 5}, idempotency_key="a")

    answers = at_once(send, range(6), threads=6)
    assert [answer.status for answer in answers] == [201] * 6
    assert all(answer.body == answers[0].body for answer in answers)
    assert sum("idempotency-replayed" in answer.headers for answer in answers) == 5
    assert Task.objects.count() == 5
