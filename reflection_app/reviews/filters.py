"""What a review can be looked for by, whoever looks: the filters of the queue, and the rules of named queues."""

from typing import Annotated, Any, Self

from django.db.models import Q
from django.utils.translation import gettext_noop
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.loops.storable import Text, agent_name
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Verdict
from reflection_app.tasks.models import has_metadata

LONGEST_SEARCH = 200
SCORES_REVERSED = gettext_noop("The minimum score is above the maximum.")
VALUE_ALONE = gettext_noop("Enter the metadata key for this value.")
Name = Annotated[Text, StringConstraints(strip_whitespace=True, max_length=LONGEST_SEARCH)]
Score = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


class ReviewFilter(BaseModel):
    """Conditions on a review that do not change while it waits. An empty string sets no condition."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reason: ReviewReason | None = Field(default=None, description="reason for the review")
    verdict: Verdict | None = Field(default=None, description="the verdict under review")
    kind: Name = Field(default="", description="kind of the task; case-insensitive", examples=["code_generation"])
    agent: Annotated[Name, AfterValidator(agent_name)] = Field(
        default="", description="agent of the task; case-insensitive"
    )
    mode: Mode | None = Field(default=None, description="the loop of the run")
    min_score: Score | None = Field(default=None, description="minimum score of the verdict")
    max_score: Score | None = Field(default=None, description="maximum score of the verdict")
    metadata_key: Name = Field(default="", description="key that the task's metadata contains", examples=["language"])
    metadata_value: Name = Field(
        default="",
        description="value of `metadata_key`: a string, or a number, `true`, `false` or `null` as written in JSON",
        examples=["zh"],
    )

    @model_validator(mode="after")
    def _check_pairs(self) -> Self:
        if self.min_score is not None and self.max_score is not None and self.min_score > self.max_score:
            raise ValueError(SCORES_REVERSED)
        if self.metadata_value and not self.metadata_key:
            raise ValueError(VALUE_ALONE)
        return self

    def conditions(self) -> Q:
        """Return the conditions on a review."""
        wanted: dict[str, Any] = {
            "reason": self.reason,
            "verdict__verdict": self.verdict,
            "run__task__kind__iexact": self.kind,
            "run__task__agent__iexact": self.agent,
            "run__mode": self.mode,
        }
        asked = Q(**{path: value for path, value in wanted.items() if value})
        if self.min_score is not None:
            asked &= Q(verdict__score__gte=self.min_score)
        if self.max_score is not None:
            asked &= Q(verdict__score__lte=self.max_score)
        if self.metadata_key:
            asked &= has_metadata(self.metadata_key, self.metadata_value or None, at="run__task__")
        return asked
