"""The goals for what waits for people, over REST."""

from reflection_app.alerts.channels import change_waiting
from reflection_app.api.actions import change, read
from reflection_app.api.view import DeskView
from reflection_app.core.permissions import Permission
from reflection_app.loops.project_settings import WaitingSettings


class WaitingGoals(DeskView):
    @read("get_waiting_goals", "Get response-time targets", may=Permission.READ)
    def retrieve(self) -> WaitingSettings:
        return self.project.get_waiting()

    @change(
        "put_waiting_goals",
        "Replace response-time targets",
        may=Permission.CHANGE_SETTINGS,
        what="goals",
        examples={"One-hour target, Shanghai time": {"review_goal_minutes": 60, "time_zone": "Asia/Shanghai"}},
    )
    def update(self, body: WaitingSettings) -> WaitingSettings:
        """Omitted fields get their defaults. Overdue items escalate to their channels, admins and curators."""
        return change_waiting(self.project, body, actor=self.actor).get_waiting()
