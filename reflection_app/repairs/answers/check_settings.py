"""How work is checked for what it still lacks, as REST tells it."""

from pydantic import Field

from reflection_app.api.reading import Answer, Money
from reflection_app.loops.completeness.sampling import When


class CheckSettingsAnswer(Answer):
    """The settings as they hold."""

    enabled: bool = Field(description="false: never at all, whatever `when` says")
    when: When
    share: float = Field(description="of the runs that are checked where they are sampled")
    least_share: float = Field(description="what is checked of them in any case")
    holdout_share: float = Field(description="of the runs that would be checked, how many are not")
    max_supplements: int = Field(description="0: the check only looks")
    temperature: float
    top_p: float
    max_retries: int
    least_worth: float = Field(description="the share of runs that a supplement has to turn complete, 0 to 1")
    max_cost_per_completed_usd: Money | None = Field(description="null: whatever it costs")
    max_cost_usd: Money | None = Field(description="of a check with its supplements; null: no such limit")
    look_again: bool


class KindAnswer(Answer):
    """What a project chose for a kind of task; null, where it is as for the rest."""

    enabled: bool | None
    when: When | None
    share: float | None
    least_share: float | None
    holdout_share: float | None
    max_supplements: int | None
    temperature: float | None
    top_p: float | None
    max_retries: int | None
    least_worth: float | None
    max_cost_per_completed_usd: Money | None
    max_cost_usd: Money | None
    look_again: bool | None
