"""The goals for what waits for people, over REST."""

from reflection_app.alerts.channels import change_waiting
from reflection_app.api.actions import change, read
from reflection_app.api.view import DeskView
from reflection_app.core.permissions import Permission
from reflection_app.loops.project_settings import WaitingSettings


class WaitingGoals(DeskView):
    @read("get_waiting_goals", "Within what time people are to answer", may=Permission.READ)
    def retrieve(self) -> WaitingSettings:
        return self.project.get_waiting()

    @change(
        "put_waiting_goals",
        "Set other goals for what waits for people; of what is left out, the usual",
        may=Permission.CHANGE_SETTINGS,
        what="goals",
        examples={"An hour, in Shanghai": {"review_goal_minutes": 60, "time_zone": "Asia/Shanghai"}},
    )
    def update(self, body: WaitingSettings) -> WaitingSettings:
        """What waits longer escalates: to the channels for it, and to admins and curators."""
        return change_waiting(self.project, body, actor=self.actor).get_waiting()
