"""Whether what a repair step was to mend is mended: looked at by code, never by the word of whoever did the step.

A step that wrote something has written, and no more. It is completed where a minimum requirement that it was to mend
holds by now, or where what it was to bring exists and did not before.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from reflection_app.loops.actor_critic import requirements_of
from reflection_app.loops.protocol.stages import Executed, RepairKind, RepairStatus, RepairStep
from reflection_app.loops.requirement_checks import check_requirements
from reflection_app.loops.requirements import LONGEST_PATH, Requirements, RequirementsReport
from reflection_app.loops.task_spec import TaskSpec

NOTHING_TO_SEE = "it names nothing that code can look at"
MOST_NAMED = 5
LONGEST_HEADING = 200
_HEADING = re.compile(r"^\s{0,3}(?:#{1,6}\s|(?:\*\*|__)|(?:\d+\.)+\s)|^.{1,80}[:：]\s*$")
_MARKS = "#*_`\"'“”‘’「」《》 \t:：.。"
_NUMBER = re.compile(r"^(?:\d+[.)、．]\s*)+|^第?[一二三四五六七八九十]+[、．章节]\s*")
_DEFINES = r"\b(?:def|class|function|func|fn|const|let|var|interface|type|struct)\s+"


@dataclass(frozen=True)
class Work:
    """What can be looked at: a text, and the names of the files that came with it."""

    spec: TaskSpec
    text: str
    files: tuple[str, ...] = ()

    @cached_property
    def requirements(self) -> RequirementsReport:
        return requirements_of(self.spec, self.text) or RequirementsReport()

    @cached_property
    def headings(self) -> list[str]:
        lines = (line for line in self.text.splitlines() if len(line) <= LONGEST_HEADING and _HEADING.match(line))
        return [_NUMBER.sub("", _folded(line)).strip(_MARKS) for line in lines]

    def has(self, deliverable: str) -> bool:
        """Whether there is such a file, field of the data, heading or definition in code. A mention is none."""
        name = _folded(deliverable)
        if not name:
            return False
        if any(name in {_folded(file), _folded(file.rsplit("/", 1)[-1])} for file in self.files):
            return True
        if name in self.headings:
            return True
        bare = deliverable.strip().strip("`\"'").removesuffix("()")
        if re.search(_DEFINES + re.escape(bare) + r"\b", self.text):
            return True
        if len(bare) > LONGEST_PATH or any(map(str.isspace, bare)):
            return False
        asked = Requirements(required_fields=(bare,))
        return check_requirements(asked, self.text, chain_of_thought=self.spec.chain_of_thought).all_met


def verified(step: RepairStep, *, before: Work, after: Work, is_only: bool, is_final: bool) -> tuple[RepairStatus, str]:
    """How the step stands, and what shows it or why nothing does.

    `is_only`: the plan has no other step. `is_final`: what it was to mend has to be mended in `after`, the revised
    output; before that a step may have written a part of it.
    """
    wanting = RepairStatus.FAILED if is_final else RepairStatus.WRITTEN
    # What the step itself wrote shows what it mends, whatever other steps there are; the revised output is all theirs.
    targets = _targets(step, before.requirements, is_only=is_only or not is_final)
    shown = []
    if targets:
        left = [result.name for result in after.requirements.unmet if result.name in targets]
        if left:
            return wanting, f"it does not hold yet: {_listed(left)}"
        shown.append(f"it holds now: {_listed(sorted(targets))}")
    if step.deliverable:
        if not after.has(step.deliverable):
            return wanting, f"it is not there: {step.deliverable[:LONGEST_HEADING]}"
        if not before.has(step.deliverable):
            shown.append(f"it is there now: {step.deliverable[:LONGEST_HEADING]}")
        elif not shown:
            return RepairStatus.WRITTEN, f"it was there before: {step.deliverable[:LONGEST_HEADING]}"
    return (RepairStatus.COMPLETED, "; ".join(shown)) if shown else (RepairStatus.WRITTEN, NOTHING_TO_SEE)


def verified_at_last(done: Sequence[Executed], *, before: Work, after: Work, planned: int) -> list[Executed]:
    """Those of `done` that stand otherwise, now that there is a revised output to look at.

    Only what was written is looked at again: a call that worked and a person's answer are what they are, and so is what
    failed. What a step brought itself stays, wherever the revised output has it.
    """
    changed = []
    for one in done:
        if one.repair.kind is not RepairKind.MODEL or one.status not in {RepairStatus.WRITTEN, RepairStatus.COMPLETED}:
            continue
        status, why = verified(one.repair, before=before, after=after, is_only=planned == 1, is_final=True)
        targets = _targets(one.repair, before.requirements, is_only=planned == 1)
        stays = one.status is RepairStatus.COMPLETED and status is not RepairStatus.COMPLETED and not targets
        if not stays and status is not one.status:
            changed.append(one.model_copy(update={"status": status, "why": why}))
    return changed


def _targets(step: RepairStep, before: RequirementsReport, *, is_only: bool) -> set[str]:
    """The requirements that did not hold and that the step is to mend.

    Those that it names, or whose own words stand in what it does; all of them where it says nothing of them and no
    other step can have mended them.
    """
    named = [_folded(name) for name in step.mends]
    does = _folded(f"{step.action} {step.expected_outcome}")
    found = set()
    for result in before.unmet:
        words = {_folded(result.name), _folded(result.expected), _folded(result.in_words), _folded(result.path)} - {""}
        if any(one in words for one in named) or _folded(result.expected) in does:
            found.add(result.name)
    if found or named or step.deliverable or not is_only:
        return found
    return {result.name for result in before.unmet}


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(_MARKS)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(name[:LONGEST_HEADING] for name in names[:MOST_NAMED]) + more
