"""A model behind HTTP that sends no answer, or tells nothing of what it took: the run, REST, its page, its graph."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from reflection_app.adapters.llm import preload
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Attempt, Run, Step, Verdict
from tests import given
from tests.api.caller import Caller
from tests.openai_server import OpenAIServer, Reply, ScriptedAnswers
from tests.runs.critiques import critique
from tests.runs.test_attempts import asked, hand_in

pytestmark = pytest.mark.django_db

GOOD = critique(90, approved=True)
Ran = Callable[..., Any]


@pytest.fixture
def ran(caller: Caller, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Runs a task whose calls are answered in order by a server, and gives the run as REST tells it."""
    preload()
    settings.LLM_MODEL = "openai/house-model"
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    caller.project.review_policy = {"audit_share": 0}
    caller.project.save(update_fields=["review_policy"])

    def run(*answers: str | Reply, **task: Any) -> Any:
        script = ScriptedAnswers(answers)
        task.setdefault("limits", {"time_budget_s": 600})
        with OpenAIServer(script) as server:
            monkeypatch.setenv("OPENAI_API_BASE", server.url)
            row = given.submitted_run(caller.project, **task)
            advance(row.pk)
        assert (script.left, script.overrun) == (0, 0)
        return caller.get(f"runs/{row.pk}").body

    return run


def steps(caller: Caller, run: Any) -> list[Any]:
    return list(caller.get(f"runs/{run['id']}/steps").body["results"])


def page(caller: Caller, run: Any, *, language: str = "en") -> str:
    client = Client(headers={"accept-language": language})
    client.force_login(given.member(caller.project))
    return client.get(f"/p/{caller.project.slug}/runs/{run['id']}/").content.decode()


NONE = {
    "refused": Reply(None, refusal="I must not write that."),
    "filtered": Reply("Half of", finish_reason="content_filter"),
}


@pytest.mark.parametrize("fault", NONE)
def test_what_is_no_answer_fails_the_run_with_no_attempt_and_no_verdict(caller: Caller, ran: Ran, fault: str) -> None:
    run = ran(*[NONE[fault]] * 3)
    assert (run["outcome"], run["attempts"], run["best_attempt"]) == ("failed", 0, None)
    assert run["error"].startswith("The actor gave no answer in 3 tries.")
    assert not Attempt.objects.filter(run=run["id"]).exists()
    assert not Verdict.objects.exists()
    told = steps(caller, run)
    assert [(step["key"], step["fault"]) for step in told] == [
        ("attempt-1/answer", fault),
        ("attempt-1/answer/again-1", fault),
        ("attempt-1/answer/again-2", fault),
    ]
    assert told[0]["refusal"] == ("I must not write that." if fault == "refused" else None)
    assert ("I must not write that." in run["error"]) is (fault == "refused")


def test_an_answer_that_is_cut_off_goes_on_and_the_whole_is_judged(caller: Caller, ran: Ran) -> None:
    run = ran(Reply("The sea is ", finish_reason="length"), Reply("wide.", finish_reason="stop"), GOOD)
    assert (run["outcome"], run["attempts"], run["best_attempt"]["content"]) == ("succeeded", 1, "The sea is wide.")
    assert run["best_attempt"]["cut_off"] is False
    attempt = Attempt.objects.select_related("step").get(run=run["id"])
    assert attempt.step is not None
    assert attempt.step.model == "openai/house-model"


def test_tokens_that_nobody_tells_are_counted_marked_and_kept_within_the_budget(caller: Caller, ran: Ran) -> None:
    long = Reply("word " * 400, tells_usage=False)
    run = ran(long, limits={"token_budget": 300, "time_budget_s": 600})
    assert run["outcome"] == "over_budget"
    usage = run["usage"]
    assert usage["estimated_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 400
    assert [step["tokens_estimated"] for step in steps(caller, run)] == [True]


def test_tokens_are_summed_tries_counted_and_a_cost_without_a_price_is_unknown(caller: Caller, ran: Ran) -> None:
    busy = Reply("busy", status=503, headers={"retry-after-ms": "1"})
    told = Reply("x", prompt_tokens=100, completion_tokens=40, cached_tokens=64, reasoning_tokens=30)
    run = ran(busy, busy, told, Reply(GOOD, prompt_tokens=50, completion_tokens=20, cached_tokens=0))
    usage = run["usage"]
    assert (usage["cached_tokens"], usage["reasoning_tokens"]) == (64, 30)
    assert (usage["cost_usd"], usage["known_cost_usd"], usage["unpriced_calls"]) == (None, "0.00000000", 2)
    assert [
        (step["tries"], step["cached_tokens"], step["reasoning_tokens"], step["cost_usd"])
        for step in steps(caller, run)[:2]
    ] == [(3, 64, 30, None), (1, 0, None, None)]
    assert caller.get("runs").body["results"][0]["usage"]["cost_usd"] is None
    assert "$0" not in page(caller, run)


def test_a_fork_with_an_answer_written_in_place_of_a_refusal_goes_on(caller: Caller, ran: Ran) -> None:
    run = ran(*[NONE["refused"]] * 3)
    forked = caller.post(f"runs/{run['id']}/fork", {"from_step": 1, "result": {"text": "Written by hand."}})
    assert forked.status == 201, forked.body
    child = Run.objects.get(parent=run["id"])
    assert [attempt.content for attempt in child.attempts.all()] == ["Written by hand."]
    assert Step.objects.filter(run=child, seq=1, result__fault="").exists()


def test_an_agent_that_tells_no_usage_leaves_it_unknown(caller: Caller) -> None:
    run = asked(caller)
    hand_in(caller, run)
    usage = caller.get(f"runs/{run.pk}").body["usage"]
    assert (usage["cost_usd"], usage["unpriced_calls"], usage["unmetered_calls"]) == (None, 1, 1)
