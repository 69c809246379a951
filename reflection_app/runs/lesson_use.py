"""Why a run used an entry of the notebook, or did not."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import models
from django.utils.translation import gettext_lazy as _

from notebook_app.public import BINDING_KINDS, Entry, EntryState, EntryVersion, entries_by_id, versions_of
from reflection_app.core.models import Project
from reflection_app.loops.lessons import Lessons, RecallLessons
from reflection_app.loops.task_spec import Execution
from reflection_app.runs.models import NOT_OF_THE_DESK, Run, Step, StepState

MOST_RUNS = 20


class UseReason(models.TextChoices):
    """Use of an entry in a run. The first two values reached the run; the others name the gate that stopped it."""

    USED = "used", _("Used in the prompt")
    CONTROL_GROUP = "control_group", _("Control group")
    NOT_RELEVANT = "not_relevant", _("Not relevant")
    NOT_FOUND = "not_found", _("Not in top results")
    OVER_LIMIT = "over_limit", _("Over the limit")
    NO_ROOM = "no_room", _("No room in the prompt")
    FLAGGED = "flagged", _("Flagged by safety check")
    NOT_APPROVED = "not_approved", _("Was not approved")
    OTHER_AGENT = "other_agent", _("Other agent")
    OFF = "off", _("Lessons off")
    NONE_APPROVED = "none_approved", _("None approved at submission")
    EXTERNAL = "external", _("External agent")
    PENDING = "pending", _("Not retrieved yet")
    NO_PROMPT = "no_prompt", _("Ended before retrieval")
    FAILED = "failed", _("Retrieval failed")


@dataclass(frozen=True)
class EntryUse:
    """`confidence` and `needed`, from 0 to 1, tell how surely a lesson concerned the task and what was required."""

    entry_id: UUID
    reason: UseReason
    version: int | None = None
    confidence: float | None = None
    needed: float | None = None

    @property
    def percent(self) -> int | None:
        return None if self.confidence is None else round(100 * self.confidence)


@dataclass(frozen=True)
class RunUse:
    """A run with what became of one entry in it."""

    run: Run
    use: EntryUse


@dataclass(frozen=True)
class ToldEntry:
    """What became of one entry in a run; no `entry` if it was deleted since."""

    use: EntryUse
    entry: Entry | None


@dataclass(frozen=True)
class Told:
    """What the run's retrieval step recorded, or None before it, and every entry that was considered."""

    found: Lessons | None
    entries: tuple[ToldEntry, ...] = ()


def retrieved(run: Run) -> Lessons | None:
    """Return what the run's retrieval step recorded, or None without one."""
    return _retrieved([run]).get(run.pk)


def told_to(run: Run, *, about: Entry | None = None) -> Told:
    """Return what the run was told of the notebook; with `about`, what became of that entry, considered or not."""
    found = retrieved(run)
    if about is not None:
        return Told(found, (ToldEntry(use_of(run, about, found=found, versions=versions_of(about)), about),))
    uses = uses_in(found) if found else []
    entries = entries_by_id(run.project_id, [one.entry_id for one in uses])
    return Told(found, tuple(ToldEntry(one, entries.get(one.entry_id)) for one in uses))


def gets_lessons(run: Run) -> bool:
    """Return True if the run asks the notebook."""
    return run.spec.get("lessons") is not None or bool(run.spec.get("injects_rules"))


def uses_in(found: Lessons) -> list[EntryUse]:
    """Return every entry that was considered: the rules, the lessons, and those that a gate stopped."""
    uses = [EntryUse(one.entry_id, UseReason.USED, one.version) for one in found.rules]
    for one in found.lessons:
        reason = UseReason.CONTROL_GROUP if one.is_withheld else UseReason.USED
        uses.append(EntryUse(one.entry_id, reason, one.version, one.score, found.least_sure))
    for other in found.rejected:
        needed = None if other.confidence is None else found.least_sure
        uses.append(EntryUse(other.entry_id, UseReason(other.gate.value), other.version, other.confidence, needed))
    return uses


def use_of(run: Run, entry: Entry, *, found: Lessons | None, versions: Sequence[EntryVersion]) -> EntryUse:
    """Return what became of `entry` in `run`. `versions` are the entry's, the newest first."""
    if found is None:
        return EntryUse(entry.id, _without_step(run, entry, versions))
    known = next((one for one in uses_in(found) if one.entry_id == entry.id), None)
    if known is not None:
        return known
    spec = run.get_spec()
    is_rule = entry.kind in BINDING_KINDS and spec.injects_rules
    if not _was_approved(versions, at=run.started_at or run.created_at):
        reason = UseReason.NOT_APPROVED
    elif not entry.covers(spec.agent):
        reason = UseReason.OTHER_AGENT
    elif found.problem:
        reason = UseReason.FAILED
    elif not is_rule and spec.lessons is None:
        reason = UseReason.OFF
    elif not is_rule and not found.looked_at:
        reason = UseReason.NO_ROOM if not found.least_sure else UseReason.NOT_FOUND
    else:
        reason = UseReason.NOT_FOUND
    return EntryUse(entry.id, reason)


def uses_of(project: Project, entry: Entry) -> list[RunUse]:
    """Return what became of `entry` in the project's newest runs, the newest first."""
    runs = list(Run.objects.filter(NOT_OF_THE_DESK, project=project).order_by("-created_at", "-id")[:MOST_RUNS])
    found, versions = _retrieved(runs), versions_of(entry)
    return [RunUse(run, use_of(run, entry, found=found.get(run.pk), versions=versions)) for run in runs]


def counts_of(uses: Iterable[RunUse]) -> list[tuple[UseReason, int]]:
    """Return how many of the runs have each reason, the most frequent first."""
    return Counter(one.use.reason for one in uses).most_common()


def _retrieved(runs: Sequence[Run]) -> dict[UUID, Lessons]:
    rows = Step.objects.filter(run__in=runs, kind=RecallLessons.kind, state=StepState.DONE)
    return {run_id: Lessons.model_validate(result) for run_id, result in rows.values_list("run", "result") if result}


def _without_step(run: Run, entry: Entry, versions: Sequence[EntryVersion]) -> UseReason:
    """Return why the run retrieved nothing."""
    spec = run.get_spec()
    if spec.execution is Execution.EXTERNAL:
        return UseReason.EXTERNAL
    if not _was_approved(versions, at=run.created_at):
        return UseReason.NOT_APPROVED
    if not entry.covers(spec.agent):
        return UseReason.OTHER_AGENT
    if spec.lessons is None and not spec.injects_rules:
        return UseReason.OFF if entry.kind not in BINDING_KINDS else UseReason.NONE_APPROVED
    return UseReason.NO_PROMPT if run.is_finished else UseReason.PENDING


def _was_approved(versions: Sequence[EntryVersion], *, at: datetime) -> bool:
    then = next((one for one in versions if one.created_at <= at), None)
    return then is not None and then.state == EntryState.APPROVED
