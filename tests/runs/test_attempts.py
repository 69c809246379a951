"""The outside agent's side: it is told what to attempt, hands it in, and is told how it goes on."""

import json
import threading
from typing import Any

import pytest
from django.db import connection, connections

from reflection_app.api import waiting
from reflection_app.core.audit import AuditEntry
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.models import Attempt, Run, RunState
from tests import given, then
from tests.api.caller import Answer, Caller
from tests.pace import PATIENCE_S

pytestmark = pytest.mark.django_db


def asked(caller: Caller, answers: dict[str, str] | None = None, **task: Any) -> Run:
    """An external run that waits for its first attempt."""
    caller.project.review_policy = {"audit_share": 0}
    caller.project.save(update_fields=["review_policy"])
    task = {"tests": given.TESTS, **task} if answers is None else task
    run = given.scripted_run(answers or {}, project=caller.project, execution="external", **task)
    advance(run.pk)
    return run


def hand_in(caller: Caller, run: Run, content: str = given.RIGHT, **more: Any) -> Answer:
    return caller.post(f"runs/{run.pk}/attempts", {"content": content, **more})


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting moves the run on itself, since no worker runs beside these tests."""
    monkeypatch.setattr(waiting, "sleep", lambda _s: [advance(pk) for pk in Run.objects.values_list("pk", flat=True)])


def test_a_run_that_waits_tells_what_to_attempt(caller: Caller) -> None:
    run = asked(caller, objective="Write f, which adds one.")
    told = caller.get(f"runs/{run.pk}").body
    assert (told["state"], told["waiting_for"]) == ("waiting_agent", "attempt 1")
    assert told["next"]["attempt"] == 1
    assert told["next"]["prompt"] == "Write f, which adds one."
    assert [message["role"] for message in told["next"]["messages"]] == ["system", "user"]
    assert told["next"]["verdict"] is None


@pytest.mark.parametrize(
    "parts",
    [
        [{"type": "text", "text": given.RIGHT}],
        [{"type": "thinking", "thinking": "Hm.", "signature": "x"}, {"type": "text", "text": given.RIGHT}],
        [{"text": given.RIGHT}],
        [given.RIGHT],
    ],
)
def test_an_attempt_in_parts_is_its_texts(caller: Caller, parts: list[Any]) -> None:
    run = asked(caller)
    assert hand_in(caller, run, parts, attempt=1).status == 202  # type: ignore[arg-type]
    advance(run.pk)
    assert Attempt.objects.get(run=run).content == given.RIGHT
    then.run_succeeded(run)
    # The same as a text is the same attempt.
    assert hand_in(caller, run, attempt=1).status == 200


def test_what_is_no_text_is_named_in_its_place_and_its_bytes_are_not_kept(caller: Caller) -> None:
    run = asked(caller)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400_000}}
    linked = {"type": "image", "source": {"type": "url", "url": "https://pictures.example/1.png"}}
    hand_in(caller, run, ["See:", image, linked, {"type": "hologram"}])  # type: ignore[arg-type]
    advance(run.pk)
    kept = "See:\n[image, image/png, 300 kB]\n[image, https://pictures.example/1.png]\n[hologram]"
    assert Attempt.objects.get(run=run).content == kept


def test_parts_that_are_none_are_refused_and_the_run_goes_on_waiting(caller: Caller) -> None:
    run, blank = asked(caller), {"type": "text", "text": " "}
    contents: list[Any] = [[], [1], [None], [blank], ["x"] * 201, [["x"]], {"type": "text", "text": "x"}, 7]
    for content in contents:
        refused = hand_in(caller, run, content)
        assert refused.status == 400
        assert {name.partition(".")[0] for name in then.named_fields(refused)} == {"content"}, content
    run.refresh_from_db()
    assert run.state == RunState.WAITING_AGENT


@pytest.mark.usefixtures("at_once")
def test_a_failing_attempt_is_answered_with_the_prompt_to_continue_with(caller: Caller) -> None:
    run = asked(caller)
    path = f"runs/{run.pk}/attempts"
    answer = caller.call("POST", path, data=json.dumps({"content": given.WRONG}), query={"wait": 10})
    assert (answer.status, answer.body["run"]["state"], answer.body["run"]["attempts"]) == (200, "waiting_agent", 1)
    told = answer.body["next"]
    assert (told["attempt"], told["verdict"]["verdict"], told["verdict"]["score"]) == (2, "REVISE", 50)
    assert "1 of 2 tests failed" in told["prompt"]

    answer = caller.call("POST", path, data=json.dumps({"content": given.RIGHT}), query={"wait": 10})
    assert (answer.status, answer.body["run"]["outcome"], answer.body["next"]) == (200, "succeeded", None)
    assert answer.body["run"]["best_attempt"]["number"] == 2


def test_what_the_agent_spent_counts(caller: Caller) -> None:
    run = asked(caller, limits={"token_budget": 300, "cost_budget_usd": "0.5"})
    usage = {"prompt_tokens": 250, "completion_tokens": 60, "cost_usd": "0.0123"}
    hand_in(caller, run, given.WRONG, usage=usage)
    advance(run.pk)
    told = caller.get(f"runs/{run.pk}").body
    assert (told["outcome"], told["usage"]["prompt_tokens"], told["usage"]["completion_tokens"]) == (
        "over_budget",
        250,
        60,
    )
    assert (told["usage"]["cost_usd"], told["usage"]["llm_calls"]) == ("0.01230000", 0)


def test_a_budget_of_money_asks_what_the_attempt_cost(caller: Caller) -> None:
    run = asked(caller, limits={"cost_budget_usd": "0.5"})
    refused = hand_in(caller, run)
    then.refused(refused, 400)
    assert then.named_fields(refused) == ["usage.cost_usd"]
    assert Attempt.objects.count() == 0
    assert hand_in(caller, run, usage={"cost_usd": 0}).status == 202


def test_what_came_beside_the_content_is_kept(caller: Caller) -> None:
    run = asked(caller)
    artifacts = [{"name": "log.txt", "content": "ok"}, {"name": "plot", "uri": "https://example.org/p.png"}]
    hand_in(caller, run, artifacts=artifacts, self_check={"is_satisfactory": False, "notes": "not sure"})
    [attempt] = caller.get(f"runs/{run.pk}/attempts").body["results"]
    assert attempt["self_check"] == {"is_satisfactory": False, "notes": "not sure"}
    assert [one["name"] for one in attempt["artifacts"]] == ["log.txt", "plot"]
    assert attempt["artifacts"][1]["uri"] == "https://example.org/p.png"
    resumed = Event.objects.get(run=run, type="run.resumed")
    assert resumed.payload == {"step": 1, "attempt": 1}
    assert AuditEntry.objects.filter(action="attempt.handed_in").count() == 1


def test_an_attempt_out_of_turn_is_told_to_come_back(caller: Caller) -> None:
    run = asked(caller)
    hand_in(caller, run)
    refused = hand_in(caller, run, "another")
    then.refused(refused, 409)
    assert refused.headers["retry-after"] == "2"
    assert "look again" in refused.body["detail"]
    assert Attempt.objects.count() == 1


def test_an_attempt_under_another_number_is_refused(caller: Caller) -> None:
    refused = hand_in(caller, asked(caller), attempt=2)
    then.refused(refused, 409)
    assert "The run is waiting for attempt 1, not attempt" in refused.body["detail"]


def test_the_same_attempt_again_changes_nothing_and_another_one_is_refused(caller: Caller) -> None:
    run = asked(caller)
    hand_in(caller, run, attempt=1)
    assert hand_in(caller, run, attempt=1).status == 202
    advance(run.pk)
    again = hand_in(caller, run, attempt=1)
    assert (again.status, again.body["run"]["outcome"]) == (200, "succeeded")
    refused = hand_in(caller, run, "other", attempt=1)
    then.refused(refused, 409)
    assert (
        "was already submitted with different content. The earlier submission is unchanged." in refused.body["detail"]
    )
    assert Attempt.objects.get().content == given.RIGHT


def test_a_request_sent_again_under_its_key_tells_the_present_state(caller: Caller) -> None:
    run = asked(caller)
    first, path = {"content": given.WRONG}, f"runs/{run.pk}/attempts"
    assert caller.post(path, first, idempotency_key="one").status == 202
    advance(run.pk)
    again = caller.post(path, first, idempotency_key="one")
    assert (again.status, again.body["next"]["attempt"]) == (200, 2)
    assert again.headers["idempotency-replayed"] == "true"
    assert Attempt.objects.count() == 1


def test_what_cannot_be_used_is_named_and_nothing_is_kept(caller: Caller) -> None:
    run = asked(caller)
    refusals: list[tuple[dict[str, Any], str]] = [
        ({}, "content"),
        ({"content": "x", "artifacts": [{"content": "a"}]}, "artifacts.0.name"),
        ({"content": "x", "usage": {"cost_usd": "NaN"}}, "usage.cost_usd"),
        ({"content": "x", "self_check": {"notes": "x" * 17_000}}, "self_check"),
        ({"content": "a\x00b"}, "content"),
    ]
    for body, field in refusals:
        refused = caller.post(f"runs/{run.pk}/attempts", body)
        then.refused(refused, 400)
        assert then.named_fields(refused) == [field]
    run.refresh_from_db()
    assert run.state == RunState.WAITING_AGENT


@pytest.mark.django_db(transaction=True)
def test_of_two_agents_at_once_exactly_one_wins(caller: Caller) -> None:
    run = asked(caller)
    together, answers = threading.Barrier(8), list[Answer]()

    def send(number: int) -> None:
        together.wait()
        try:
            answers.append(hand_in(caller, run, f"def f(x): return {number}"))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert sorted(answer.status for answer in answers) == [202] + [409] * 7
    assert Attempt.objects.count() == 1
    seqs = list(Event.objects.filter(run=run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))


@pytest.mark.django_db(transaction=True)
def test_no_connection_is_held_while_an_attempt_is_judged(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    run, held = asked(caller), list[bool]()

    def sleep(_seconds: float) -> None:
        held.append(connection.connection is not None)

    monkeypatch.setattr(waiting, "sleep", sleep)
    path = f"runs/{run.pk}/attempts"
    caller.call("POST", path, data='{"content": "x"}', query={"wait": "0.3"})
    assert held
    assert not any(held)
