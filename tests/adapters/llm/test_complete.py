"""Model calls through litellm over a real connection, as in production; only the server is ours."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from reflection_app.adapters.llm import ModelRefused, ModelTimedOut, ModelUnavailable, complete, preload
from reflection_app.adapters.llm.gateway import model_loop, stop_model_loop
from reflection_app.adapters.llm.litellm_import import litellm
from reflection_app.adapters.llm.provider import close_connections, prepare, send
from tests.adapters.llm.conftest import API_KEY, asking
from tests.openai_server import OpenAIServer, Reply, ScriptedAnswers
from tests.pace import PATIENCE_S

Configured = Callable[[OpenAIServer], None]
SCHEMA = {"title": "Self check", "type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def test_the_provider_is_sent_what_was_asked_and_its_answer_comes_back_with_its_usage(configured: Configured) -> None:
    with OpenAIServer(lambda _: Reply("Hello.", prompt_tokens=11, completion_tokens=3)) as server:
        configured(server)
        answer = complete(asking())
        complete(asking(json_schema=SCHEMA))
    assert (answer.text, answer.model, answer.finish_reason) == ("Hello.", "house-model", "stop")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.tries) == (11, 3, 1)
    assert (answer.cost_usd, answer.cost_known) == (Decimal(0), False), "nobody knows the price"
    plain, in_form = server.requests
    assert plain.body["model"] == "house-model"
    assert [message["role"] for message in plain.body["messages"]] == ["system", "user"]
    assert (plain.body["temperature"], plain.body["max_tokens"]) == (0.3, 50)
    assert "response_format" not in plain.body
    assert plain.headers["authorization"] == f"Bearer {API_KEY}"
    assert in_form.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Self_check", "schema": SCHEMA, "strict": False},
    }


def test_litellm_logs_nothing_of_our_calls(configured: Configured, monkeypatch: pytest.MonkeyPatch) -> None:
    preload()
    from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER

    logged: list[Any] = []

    def note(async_coroutine: Any, **_: Any) -> None:
        async_coroutine.close()
        logged.append(async_coroutine)

    monkeypatch.setattr(GLOBAL_LOGGING_WORKER, "ensure_initialized_and_enqueue", note)
    with OpenAIServer(lambda _: "Hello.") as server:
        configured(server)
        complete(asking())
        assert logged == []
        # What it is spared: a call past the gateway would be logged.
        call = prepare(asking())
        model_loop(close_connections).submit(send(call)).result(PATIENCE_S)
    assert len(logged) == 1


def test_the_cost_of_a_model_with_a_known_price_is_computed(configured: Configured) -> None:
    with OpenAIServer(lambda _: Reply("x", prompt_tokens=1000, completion_tokens=1000)) as server:
        configured(server)
        answer = complete(asking("openai/gpt-4o-mini"))
    assert answer.cost_usd == Decimal("0.00075")
    assert answer.cost_known


def test_the_price_list_is_searched_once_for_a_model_that_is_not_in_it(
    configured: Configured, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []
    calculate = litellm().response_cost_calculator

    def note(**named: Any) -> Any:
        searched.append(named["model"])
        return calculate(**named)

    monkeypatch.setattr(litellm(), "response_cost_calculator", note)
    with OpenAIServer(lambda _: "x") as server:
        configured(server)
        answers = [complete(asking("openai/in-no-list")) for _ in range(2)]
        # An answer whose cost could not be computed says nothing of the next one.
        monkeypatch.setattr(litellm(), "response_cost_calculator", lambda **_: 1 / 0)
        failed = complete(asking("openai/gpt-4o-mini"))
        monkeypatch.setattr(litellm(), "response_cost_calculator", note)
        priced = complete(asking("openai/gpt-4o-mini"))
    assert [one.cost_known for one in (*answers, failed, priced)] == [False, False, False, True]
    assert len([model for model in searched if "in-no-list" in model]) == 1


def test_a_server_without_a_key_needs_none(configured: Configured, monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer(lambda _: "x") as server:
        configured(server)
        monkeypatch.delenv("OPENAI_API_KEY")
        assert complete(asking()).text == "x"


def test_the_local_model_is_called_at_its_address_with_its_key(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_MODEL_KEY", "local-key-123456")
    with OpenAIServer(lambda _: "x") as server:
        settings.LOCAL_MODEL_URL = server.url.removesuffix("/v1")
        answer = complete(asking("local/smollm2-135m-instruct", json_schema=SCHEMA))
    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer local-key-123456"
    assert request.body["model"] == "smollm2-135m-instruct"
    assert request.body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert answer.cost_usd == 0
    assert answer.cost_known


def test_a_rate_limit_is_waited_out_as_long_as_the_server_asks(configured: Configured) -> None:
    busy = Reply("slow down", status=429, headers={"Retry-After": "15", "retry-after-ms": "300"})
    with OpenAIServer(ScriptedAnswers([busy, "Hello."])) as server:
        configured(server)
        answer = complete(asking(timeout_s=10.0))
    assert (answer.text, answer.tries) == ("Hello.", 2)
    first, second = server.requests
    assert second.at - first.at >= 0.3


def test_a_long_wait_is_not_held_out_by_the_worker_though_there_is_time(configured: Configured) -> None:
    busy = Reply("slow down", status=429, headers={"Retry-After": "20"})
    with OpenAIServer(lambda _: busy) as server:
        configured(server)
        with pytest.raises(ModelUnavailable) as failure:
            complete(asking(timeout_s=100.0))
        with pytest.raises(ModelUnavailable):
            complete(asking(timeout_s=10.0))
    assert (failure.value.retry_after_s, len(server.requests)) == (20, 2)


@pytest.mark.parametrize("failure", [Reply("oops", status=529), Reply(raw_body=b"<html>"), Reply(raw_body=b'{"a": 1}')])
def test_a_passing_failure_is_tried_again(configured: Configured, failure: Reply) -> None:
    with OpenAIServer(ScriptedAnswers([failure, "Hello."])) as server:
        configured(server)
        answer = complete(asking())
    assert (answer.text, answer.tries) == ("Hello.", 2)


def test_failures_that_last_are_reported_as_unavailable(configured: Configured) -> None:
    with OpenAIServer(lambda _: Reply("oops", status=503)) as server:
        configured(server)
        with pytest.raises(ModelUnavailable, match=r"503.*oops"):
            complete(asking(timeout_s=1.2))
    assert len(server.requests) > 1
    # It is not even there any more.
    with pytest.raises(ModelUnavailable, match="openai/house-model"):
        complete(asking(timeout_s=1.5))


@pytest.mark.parametrize("silence", [Reply(delay_s=60.0), Reply(trickle=True)], ids=["hanging", "trickling"])
def test_the_deadline_ends_a_call_that_never_answers(configured: Configured, silence: Reply) -> None:
    preload()
    with OpenAIServer(lambda _: silence) as server:
        configured(server)
        began = time.monotonic()
        with pytest.raises(ModelTimedOut, match=r"within 1\.5 s"):
            complete(asking(timeout_s=1.5))
        assert 1.4 < time.monotonic() - began < 10
        deadline = time.monotonic() + PATIENCE_S
        while server.connections_open and time.monotonic() < deadline:
            time.sleep(0.02)
        assert server.connections_open == 0, "the call was not cancelled: its connection stayed open"


def test_a_refused_key_is_permanent_and_not_shown(configured: Configured) -> None:
    refused = Reply(f"Incorrect API key provided: {API_KEY}. Bearer {API_KEY}", status=401)
    with OpenAIServer(ScriptedAnswers([refused])) as server:
        configured(server)
        with pytest.raises(ModelRefused) as failure:
            complete(asking())
    said = str(failure.value)
    assert API_KEY not in said
    assert "openai/house-model" in said
    assert "OPENAI_API_KEY" in said
    assert len(server.requests) == 1
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None


def test_a_refused_request_is_not_repeated(configured: Configured) -> None:
    with OpenAIServer(ScriptedAnswers([Reply("this model's maximum context length is 10", status=400)])) as server:
        configured(server)
        with pytest.raises(ModelRefused, match=r"400.*maximum context length"):
            complete(asking())


def test_an_empty_account_is_not_waited_for(configured: Configured) -> None:
    with OpenAIServer(ScriptedAnswers([Reply("You exceeded your current quota", status=429)])) as server:
        configured(server)
        with pytest.raises(ModelRefused, match="quota"):
            complete(asking())


def test_a_missing_key_says_which_variable_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelRefused, match="OPENAI_API_KEY"):
        complete(asking("openai/gpt-4o-mini"))


def test_a_name_without_a_provider_is_refused() -> None:
    with pytest.raises(ModelRefused, match=r"'no-such-model' names no provider"):
        complete(asking("no-such-model", json_schema=SCHEMA))


def test_a_server_that_refuses_the_form_is_asked_without_it(configured: Configured) -> None:
    unknown = Reply("response_format is not supported", status=400)
    with OpenAIServer(ScriptedAnswers([unknown, '{"ok": true}', unknown, Reply("bad", status=400)])) as server:
        configured(server)
        answer = complete(asking(json_schema=SCHEMA))
        assert (answer.text, answer.tries) == ('{"ok": true}', 2)
        assert ["response_format" in request.body for request in server.requests] == [True, False]
        with pytest.raises(ModelRefused, match="bad"):
            complete(asking(json_schema=SCHEMA))


def test_a_model_that_takes_no_form_is_asked_without_it(configured: Configured) -> None:
    with OpenAIServer(lambda _: "x") as server:
        configured(server)
        complete(asking("openai/gpt-4", json_schema=SCHEMA))
    assert "response_format" not in server.requests[0].body


def test_64_threads_call_at_once(configured: Configured) -> None:
    preload()
    with OpenAIServer(lambda request: Reply(request["messages"][-1]["content"]), together=64) as server:
        configured(server)
        message = asking().messages[0]
        requests = [
            asking(messages=(message.model_copy(update={"content": str(n)}),), timeout_s=PATIENCE_S) for n in range(64)
        ]
        with ThreadPoolExecutor(64) as pool:
            answers = list(pool.map(complete, requests))
    assert [answer.text for answer in answers] == [str(n) for n in range(64)]
    assert server.most_at_once == 64


def test_connections_are_used_again(configured: Configured) -> None:
    with OpenAIServer(lambda _: "x") as server:
        configured(server)
        for seconds in (20.0, 21.0, 22.0):
            complete(asking(timeout_s=seconds))
    assert server.connections_opened == 1


def test_calls_work_again_after_the_loop_was_stopped(configured: Configured) -> None:
    with OpenAIServer(lambda _: "x") as server:
        configured(server)
        complete(asking())
        stop_model_loop()
        assert complete(asking()).text == "x"


@pytest.mark.parametrize("choices", [[], [{"index": 0, "finish_reason": "content_filter"}]])
def test_an_answer_that_cannot_be_read_is_not_asked_and_paid_for_again(
    choices: list[dict[str, object]], configured: Configured
) -> None:
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
    with OpenAIServer(lambda _: Reply("", raw_body=json.dumps(body).encode())) as server:
        configured(server)
        with pytest.raises(ModelRefused, match="cannot be read"):
            complete(asking())
    assert len(server.requests) == 1
