"""A verdict that waits for a person, decided over REST while the worker is free."""

from typing import Any

from tests.end_to_end.desk import Desk
from tests.end_to_end.playback import Playback, requests_for
from tests.openai_server import OpenAIServer
from tests.runs.critiques import critique


def test_a_rejected_attempt_waits_for_a_decision_and_then_goes_on(
    desk: Desk, models: OpenAIServer, playback: Playback
) -> None:
    def answer(body: dict[str, Any]) -> str:
        prompt = body["messages"][-1]["content"]
        if "<work-" in prompt:
            return critique(90, approved=True) if "with a season in it" in prompt else critique(10)
        return "A haiku with a season in it." if "Name a season." in prompt else "Not a haiku."

    first_line = playback.add("haiku", answer)
    run_id = desk.hand_in(objective=f"{first_line}Write a haiku.", mode="actor_critic", limits={"time_budget_s": 60})

    waiting = desk.get(f"runs/{run_id}", wait=30)
    assert (waiting["state"], waiting["waiting_for"], waiting["outcome"]) == ("waiting_review", "rejected", None)
    [review] = desk.all_of("reviews", run=run_id)
    assert (review["state"], review["reason"], review["verdict"]["verdict"]) == ("waiting", "rejected", "REJECT")

    claim = desk.decide("reviews/claim", {"review_id": review["id"]})
    decision = {
        "lease_token": claim["lease_token"],
        "decision": "overrule",
        "verdict": "REVISE",
        "reason": "Name a season.",
    }
    decided = desk.decide(f"reviews/{review['id']}/decision", decision)
    assert decided["state"] == "decided"
    desk.decide(f"reviews/{review['id']}/decision", decision, status=409)

    run = desk.settled(run_id)
    assert (run["state"], run["outcome"], run["attempts"]) == ("finished", "succeeded", 2)
    assert run["best_attempt"]["content"] == "A haiku with a season in it."
    assert len(requests_for(models, "haiku")) == 4
