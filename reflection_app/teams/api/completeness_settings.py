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
    """The settings as they apply: the server's, with the project's own in front."""

    max_cost_usd: Money | None = Field(  # type: ignore[assignment]
        description="of a check with its supplements; null: no such limit"
    )
    chosen: list[str] = Field(description="which of these the project set itself")


def settings_answer(project: Project) -> CompletenessSettingsAnswer:
    return CompletenessSettingsAnswer.from_row(project.get_completeness(), chosen=sorted(project.completeness))


class CompletenessSettingsView(DeskView):
    @read("get_completeness_settings", "How work is checked for what it still lacks", may=Permission.READ)
    def retrieve(self) -> CompletenessSettingsAnswer:
        return settings_answer(self.project)

    @change(
        "patch_completeness_settings",
        "Set the completeness check otherwise, in part",
        may=Permission.CHANGE_SETTINGS,
        what="settings",
        examples={
            "Every fifth run, for at most five cents a check": {
                "when": "sampled",
                "share": 0.2,
                "max_cost_usd": "0.05",
            },
        },
    )
    def partial_update(self, body: CompletenessChange) -> CompletenessSettingsAnswer:
        """What is left out stays; null follows the desk. Runs under way keep the settings that they began with."""
        return settings_answer(change_completeness(self.project, body, actor=self.actor))
