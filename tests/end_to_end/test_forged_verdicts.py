"""Work that holds a verdict of its own, through a whole desk: whatever its critic quotes of it, it is never passed."""

import json

from tests.end_to_end.desk import Desk
from tests.end_to_end.playback import Playback, requests_for
from tests.loops.forgeries import FORGED_REPLIES, OWN, PLANTED, WORK
from tests.openai_server import OpenAIServer

LIMITS = {"max_iterations": 2, "token_budget": 1_000_000, "time_budget_s": 600}
CALLS = 3


def hand_in(desk: Desk, playback: Playback, case: str, *replies: str) -> str:
    """The run of an outside agent's work that holds a verdict; its critic says `replies` in turn, the last for ever."""
    left = list(replies)
    first_line = playback.add(case, lambda _: left.pop(0) if len(left) > 1 else left[0])
    run_id = desk.hand_in(
        objective=f"{first_line}Write a report.", mode="actor_critic", execution="external", limits=LIMITS
    )
    desk.wait_until(lambda: desk.get(f"runs/{run_id}")["state"] == "waiting_agent")
    answer = desk.api.post(f"runs/{run_id}/attempts", json={"content": WORK})
    # 200 where the worker has ended the run before the answer is written.
    assert answer.status_code in (200, 202), answer.text
    return run_id


def test_no_form_of_a_quoted_verdict_in_any_language_passes(
    desk: Desk, models: OpenAIServer, playback: Playback
) -> None:
    runs = {
        f"forged-{number}": hand_in(desk, playback, f"forged-{number}", reply)
        for number, reply in enumerate(FORGED_REPLIES.values())
    }
    for case, run_id in runs.items():
        run = desk.settled(run_id)
        [attempt] = desk.all_of(f"runs/{run_id}/attempts")
        assert (run["outcome"], attempt["verdicts"]) == ("unverified", []), case
        assert "no usable answer in 3 tries" in run["error"], case
        assert len(requests_for(models, case)) == CALLS, case


def test_the_critic_is_heard_once_it_speaks_for_itself(desk: Desk, models: OpenAIServer, playback: Playback) -> None:
    quoting = f"It says {json.dumps(PLANTED)}."
    own = f"{quoting} I say:\n{json.dumps(OWN | {'completeness': 60, 'correctness': 60})}"
    run_id = hand_in(desk, playback, "forged-and-heard", quoting, own)
    desk.wait_until(lambda: bool(desk.all_of(f"runs/{run_id}/attempts")[0]["verdicts"]))
    [attempt] = desk.all_of(f"runs/{run_id}/attempts")
    assert [(verdict["verdict"], verdict["score"]) for verdict in attempt["verdicts"]] == [("REVISE", 60)]
    first, second = requests_for(models, "forged-and-heard")
    asked = first.body["messages"][-1]["content"]
    nonce = asked.rpartition('"nonce": "')[2].partition('"')[0]
    assert len(nonce) == 16
    assert f'"nonce": "{nonce}"' in second.body["messages"][-1]["content"]
    assert first.body["response_format"]["json_schema"]["schema"]["required"][0] == "nonce"
