"""How good the referee's picks are, by recorded runs whose right answers are known."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from django.db import transaction
from pydantic import BaseModel, ConfigDict, Field

from reflection_app.core.audit import Actor, audit
from reflection_app.core.models import Project
from reflection_app.metrics.models import RefereeMeasurement
from reflection_app.metrics.statistics import Interval, wilson

# What each kind of pick is worth: how often it is right, and whether keeping another attempt would pay. Pure.
#
# Everything is counted by problem: runs of one problem repeat each other. What is told of a problem comes from the
# others alone, and a kind with few problems is drawn to one half, since what was found on few problems did not hold
# on others.


# Imaginary problems, of which half are right, that stand beside those of a kind. Not fitted to the runs that it was
# made on, where fewer would do better: with it, "most tests pass" says what was measured on runs nobody had seen, 85 %.
PRIOR_PROBLEMS = 30


@dataclass(frozen=True)
class Picked:
    """A run's pick, and what became of it. `rival_is_right` is of the attempt that the tests would have kept."""

    problem: str
    because: str
    stated: float
    is_right: bool
    rival_is_right: bool


class PickKind(BaseModel):
    """The picks that rest on the same, as stated and as they are.

    `low` and `high` are the 95 % interval of the share of right ones by problem, `held_out` what the other problems say
    of each, on average. `gained` and `lost` are the problems on which keeping what passes most tests would be better or
    worse; it `pays` where the gain, with each problem left out in turn, is beyond chance.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    because: str
    stated: float
    runs: int = Field(ge=0)
    problems: int = Field(ge=0)
    right: int = Field(ge=0)
    low: float
    high: float
    held_out: float
    gained: int = Field(ge=0)
    lost: int = Field(ge=0)
    pays: bool


def kinds_of(picks: Iterable[Picked]) -> tuple[PickKind, ...]:
    """The kinds that occur, the surest first."""
    found: dict[tuple[float, str], list[Picked]] = defaultdict(list)
    for pick in picks:
        found[pick.stated, pick.because].append(pick)
    alike = defaultdict[float, list[Picked]](list)
    for (stated, _), of_kind in found.items():
        alike[stated] += of_kind
    ordered = sorted(found.items(), key=lambda item: (-item[0][0], item[0][1]))
    kinds = []
    for (stated, because), of_kind in ordered:
        shares = _by_problem((pick.problem, float(pick.is_right)) for pick in of_kind)
        nets = _by_problem((pick.problem, float(pick.rival_is_right) - pick.is_right) for pick in of_kind)
        share = wilson(sum(shares.values()), len(shares))
        assert share is not None
        gained, lost = sum(net > 0 for net in nets.values()), sum(net < 0 for net in nets.values())
        # More has to be gained than lost, beyond chance (95 %), whichever problem is left out.
        without_best = wilson(gained - 1, gained - 1 + lost) if gained else None
        # Told from all that are stated alike, of which kinds share a figure.
        others = held_out(alike[stated])
        kinds.append(
            PickKind(
                because=because,
                stated=stated,
                runs=len(of_kind),
                problems=len(shares),
                right=sum(pick.is_right for pick in of_kind),
                low=round(share.low, 4),
                high=round(share.high, 4),
                held_out=round(fmean(others[pick.problem] for pick in of_kind), 4),
                gained=gained,
                lost=lost,
                pays=without_best is not None and without_best.low > 0.5,
            )
        )
    return tuple(kinds)


def held_out(picks: Iterable[Picked]) -> dict[str, float]:
    """By problem, the confidence that the other problems give to these picks."""
    shares = _by_problem((pick.problem, float(pick.is_right)) for pick in picks)
    total, others = sum(shares.values()), len(shares) - 1
    return {
        problem: (total - share + PRIOR_PROBLEMS / 2) / (others + PRIOR_PROBLEMS) for problem, share in shares.items()
    }


def _by_problem(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The mean of each problem."""
    found = defaultdict[str, list[float]](list)
    for problem, value in values:
        found[problem].append(value)
    return {problem: fmean(each) for problem, each in found.items()}


# How often the attempt that is kept is right, beside what else could have been kept. Pure.
#
# Measured on recorded runs whose right answers are known (metrics/trace_replay.py); ordinary work has no such answers.

# What is kept, from the simplest rule to what nobody can do better than.
RULES = ("first", "last", "best_self_score", "kept", "any")


class RefereeQuality(BaseModel):
    """Counts of runs that are right in the end, by the attempt that is kept.

    `first` and `last` are the attempts so recorded, `best_self_score` the one that passes most of the tests that the
    model wrote, `kept` the referee's, `any` a right one wherever there is one. `review_curve` is the share that is
    right once a person has looked at that share (%) of the runs, the least settled first. `gained` are the runs that
    are right with what is kept and not with the first attempt, `lost` those the other way round. `succeeded` are those
    that ended so without a person, `succeeded_right` the right ones of them. Older measurements have None there.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    runs: int = Field(ge=0)
    first: int = Field(ge=0)
    last: int = Field(ge=0)
    best_self_score: int = Field(ge=0)
    kept: int = Field(ge=0)
    any: int = Field(ge=0)
    gained: int | None = Field(default=None, ge=0)
    lost: int | None = Field(default=None, ge=0)
    succeeded: int | None = Field(default=None, ge=0)
    succeeded_right: int | None = Field(default=None, ge=0)
    attempts_recorded: int = Field(ge=0)
    attempts_used: int = Field(ge=0)
    review_curve: dict[str, float] = Field(default_factory=dict)
    kinds: tuple[PickKind, ...] = ()

    def share(self, rule: str) -> Interval | None:
        """The share right by this rule, with its 95 % interval; None without runs. Raises KeyError for no rule."""
        return wilson({name: getattr(self, name) for name in RULES}[rule], self.runs)


# Keeping what a replay of recorded runs measured, for the page that shows it.

LONGEST_NAME = 200


@transaction.atomic
def keep_measurement(project: Project, quality: RefereeQuality, *, name: str, actor: Actor) -> RefereeMeasurement:
    """The measurement, kept in the project under the name of its file."""
    row = RefereeMeasurement.objects.create(
        project=project, name=name[:LONGEST_NAME], figures=quality.model_dump(mode="json"), by_label=actor.label
    )
    after = {"name": row.name, "runs": quality.runs, "kept": quality.kept}
    audit(project.pk, actor, "referee.measured", target=row, after=after)
    return row
