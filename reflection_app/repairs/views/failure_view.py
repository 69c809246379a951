"""A failed call as pages show it: in the list, on its own page, and beside the call in a run."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _

from reflection_app.loops.diagnosis.checklist import FailureChecklist, checklist_of
from reflection_app.loops.diagnosis.diagnoses import CorrectiveAction, Source
from reflection_app.loops.diagnosis.error_texts import headline
from reflection_app.loops.diagnosis.rules import RULES
from reflection_app.loops.diagnosis.shown_fixes import ChangedParam, changed_params
from reflection_app.loops.tool_diagnosis import PLACE
from reflection_app.repairs.models.tool_failure import ToolFailure
from reflection_app.runs.models import Run
from reflection_app.web.template_filters import shortened

LONGEST_VALUE = 400
RULE_SOURCES = {rule.id: rule.source for rule in RULES}


@dataclass(frozen=True)
class FailureShown:
    row: ToolFailure

    @property
    def is_known(self) -> bool:
        """Whether it has a diagnosis that says more than that nobody knows."""
        return self.row.is_diagnosed and self.row.source != Source.NONE

    @property
    def is_being_diagnosed(self) -> bool:
        return not self.row.is_diagnosed and self.row.run is not None and not self.row.run.is_finished

    @property
    def headline(self) -> str:
        """The error as a list shows it."""
        return headline(self.row.error_message) or _("(no message)")

    @property
    def is_reported(self) -> bool:
        """Whether an agent or a person told of it; otherwise it happened in a run of the desk."""
        return bool(self.row.reported_by_label)

    @property
    def asks_a_model(self) -> bool:
        """Whether its run was begun to diagnose it."""
        return self.row.place == PLACE

    @property
    def rule_source(self) -> str:
        """What the rule that fitted rests on."""
        return RULE_SOURCES.get(self.row.rule, "")

    @cached_property
    def action(self) -> CorrectiveAction | None:
        return CorrectiveAction.model_validate(self.row.action) if self.row.action else None

    @property
    def changes(self) -> list["ChangeShown"]:
        """What the corrective action changes of the parameters."""
        after = self.action.modified_params if self.action else None
        return [ChangeShown(change) for change in changed_params(self.row.params, after)]

    @property
    def told(self) -> dict[str, Any]:
        """How it went, as it was told."""
        return self.row.outcome if isinstance(self.row.outcome, dict) else {}

    @property
    def told_changes(self) -> list["ChangeShown"]:
        """What was done otherwise than it had failed, as it was told."""
        after = self.told.get("params")
        return [ChangeShown(change) for change in changed_params(self.row.params, after or None)]

    @property
    def told_delay(self) -> float | None:
        return self.told.get("delay_seconds", self.told.get("delay_s"))

    @property
    def checklist(self) -> FailureChecklist:
        row = self.row
        return checklist_of(
            tool=row.tool, params=row.params, error_type=row.error_type, action=row.action, worked=row.worked
        )


@dataclass(frozen=True)
class ChangeShown:
    """A parameter before and after, as text."""

    change: ChangedParam

    @property
    def before(self) -> str:
        return _written(self.change.before)

    @property
    def after(self) -> str:
        return _written(self.change.after)


def _written(value: Any) -> str:
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), LONGEST_VALUE)


def failures_by_place(run: Run) -> dict[str, FailureShown]:
    """The run's failed calls by the keys of the steps that made them. Runs without tools are not asked about."""
    if not run.spec.get("tools"):
        return {}
    rows = ToolFailure.objects.filter(run=run).exclude(place="")
    return {row.place: FailureShown(row) for row in rows}
