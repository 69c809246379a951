"""How the project has work checked for what it still lacks, over REST."""

from pydantic import Field

from reflection_app.api.actions import change, read
from reflection_app.api.reading import Answer, Money
from reflection_app.api.view import DeskView
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.teams.projects import CompletenessChange, change_completeness


class CompletenessSettingsAnswer(CompletenessSettings, Answer):
    """The effective settings: the project's own, else the server's."""

    max_cost_usd: Money | None = Field(  # type: ignore[assignment]
        description="cost limit of a check with its follow-up steps; null: no limit"
    )
    chosen: list[str] = Field(description="names of the settings that the project set itself")


def settings_answer(project: Project) -> CompletenessSettingsAnswer:
    return CompletenessSettingsAnswer.from_row(project.get_completeness(), chosen=sorted(project.completeness))


class CompletenessSettingsView(DeskView):
    @read("get_completeness_settings", "Get the completeness check settings", may=Permission.READ)
    def retrieve(self) -> CompletenessSettingsAnswer:
        return settings_answer(self.project)

    @change(
        "patch_completeness_settings",
        "Change completeness check settings",
        may=Permission.CHANGE_SETTINGS,
        what="settings",
        examples={
            "Every fifth run, at most five cents a check": {
                "when": "sampled",
                "share": 0.2,
                "max_cost_usd": "0.05",
            },
        },
    )
    def partial_update(self, body: CompletenessChange) -> CompletenessSettingsAnswer:
        """Omitted settings stay unchanged; null restores the server's. Runs in progress are not affected."""
        return settings_answer(change_completeness(self.project, body, actor=self.actor))
