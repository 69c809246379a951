"""How the project has work checked for what it still lacks, over REST."""

from pydantic import Field

from reflection_app.api.actions import change, read
from reflection_app.api.view import DeskView
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.repairs.answers.check_settings import CheckSettingsAnswer, KindAnswer
from reflection_app.teams.completeness_settings import CompletenessChange, change_completeness


class CompletenessSettingsAnswer(CheckSettingsAnswer):
    """The settings as they hold: the desk's, with the project's own in front."""

    chosen: list[str] = Field(description="which of these the project set itself")
    kinds: dict[str, KindAnswer]


def settings_answer(project: Project) -> CompletenessSettingsAnswer:
    kinds = project.get_completeness_by_kind()
    return CompletenessSettingsAnswer.from_row(
        project.get_completeness(),
        chosen=sorted(project.completeness),
        kinds={kind: KindAnswer.from_row(choice) for kind, choice in kinds.items()},
    )


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
            "At most five cents a check, and less for reports": {
                "max_cost_usd": "0.05",
                "kinds": {"report": {"max_supplements": 1, "least_worth": 0.2}},
            },
        },
    )
    def partial_update(self, body: CompletenessChange) -> CompletenessSettingsAnswer:
        """What is left out stays; null follows the desk. Runs under way keep the settings that they began with."""
        return settings_answer(change_completeness(self.project, body, actor=self.actor))
