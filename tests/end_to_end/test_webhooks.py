"""A receiver is told by the desk's own workers, the second time where it stumbles the first."""

from tests.end_to_end.desk import Desk
from tests.teams.webhooks import Receiver


def test_a_receiver_that_stumbles_is_told_again_what_became_of_a_run(desk: Desk) -> None:
    with Receiver("503 Busy", "204 No Content") as receiver:
        given = {"url": receiver.url, "events": ["run.finished"]}
        made = desk.tools_api.post("webhooks", json=given)
        assert made.status_code == 201, made.text
        webhook_id, secret = made.json()["webhook"]["id"], made.json()["secret"]

        run_id = desk.hand_in(objective="Write a haiku.", mode="actor_critic", execution="external", external_id="T-7")
        desk.post(f"runs/{run_id}/cancel", {})
        desk.wait_until(lambda: len(receiver.heard) >= 2)
        told = receiver.believed(secret)
        assert {one.id for one in told} == {told[0].id}
        assert told[1].heard.body == told[0].heard.body
        assert told[0].body["type"] == "run.finished"
        assert told[0].body["data"]["external_id"] == "T-7"
        assert told[0].body["data"]["payload"]["outcome"] == "cancelled"

        def log() -> list[tuple[str, int]]:
            answer = desk.tools_api.get(f"webhooks/{webhook_id}/deliveries").json()
            return [(one["state"], one["tries"]) for one in answer["results"]]

        desk.wait_until(lambda: log() == [("delivered", 2)])
        assert desk.tools_api.delete(f"webhooks/{webhook_id}").status_code == 204
