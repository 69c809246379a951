"""How far each critic can be believed."""

from pydantic import BaseModel, ConfigDict, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.desk_view import DeskView
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_query
from reflection_app.api.schema import described_get
from reflection_app.core.permissions import Permission
from reflection_app.loops.task_spec import Mode
from reflection_app.metrics.answers.calibration_answers import CalibrationAnswer, calibration_answer
from reflection_app.metrics.api.metrics_query import ChosenQuery, Day, Name, chosen_by
from reflection_app.metrics.calibration_figures import calibration_figures
from reflection_app.metrics.critic_rows import Judging


class CalibrationQuery(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    since: Day | None = Field(default=None, description="the first day of the verdicts, in UTC; without it 30 days")
    until: Day | None = Field(default=None, description="the last day, in UTC; without it today")
    agent: Name = Field(default="", max_length=120, description="of this agent's tasks")
    mode: Mode | None = Field(default=None, description="of runs of this loop")
    kind: Name = Field(default="", max_length=60, description="of tasks of this type")


class Calibration(DeskView):
    permissions = needs(get=Permission.READ_METRICS)

    @described_get(
        "get_calibration",
        summary="What critics said against what people said, critic by critic",
        query=CalibrationQuery,
        answer=CalibrationAnswer,
    )
    def get(self, request: Request) -> Response:
        """Verdicts weigh by how likely a policy was to put them before people. What several people judge blindly
        counts once it is settled. Imported judgements have no day or agent, so all of them count."""
        asked = read_query(request, CalibrationQuery)
        chosen = chosen_by(ChosenQuery(**asked.model_dump()))
        judging = Judging(chosen.since, chosen.until, agent=chosen.agent, mode=chosen.mode, kind=chosen.kind)
        found = calibration_figures(self.project.pk, judging)
        return Response(calibration_answer(found, judging).model_dump(mode="json"))
