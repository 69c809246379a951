"""Evaluate inspected files against the requirements: what is met, what decides, what is unknown. Pure.

A file that could not be inspected here has no fault and meets no requirement. Exceeding a limit (size, nesting, work to
open it) is a fault of the file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt

from reflection_app.loops.completeness.checks import CheckState, Completeness, FileAspect
from reflection_app.loops.completeness.files import (
    FaultCode,
    FileFacts,
    FileFault,
    FileRequirement,
    FilesInspected,
    fits,
)
from reflection_app.loops.completeness.looked import Holds, Looked
from reflection_app.loops.framing import framed
from reflection_app.loops.regions import Region
from reflection_app.loops.requirements import RequirementKind, RequirementResult
from reflection_app.loops.texts import cut, one_line
from reflection_app.loops.verdicts import Issue, IssueCategory, Judgement, Severity, Verdict

MOST_TOLD = 10
LONGEST_TOLD = 300
LONGEST_WHY = 2_000
LONGEST_LISTED = 8_000
LONGEST_BEGINNING = 200
MOST_ISSUES = 20

# Faults that count even without a requirement: the file cannot be used, or is not what its name says.
DECIDES_ALWAYS = frozenset(
    {FaultCode.OTHER_KIND, FaultCode.OTHER_ENDING, FaultCode.TRUNCATED, FaultCode.UNREADABLE, FaultCode.UNFOLDS}
)
NOT_PRODUCED = frozenset({FaultCode.NOT_THERE, FaultCode.TOO_FEW})


@dataclass(frozen=True)
class FilesChecked:
    """Evaluation of the inspected files.

    `all_required`: every file was submitted as part of what must be complete. `looked` holds the visual checks by a
    model.
    """

    inspected: FilesInspected
    required: tuple[FileRequirement, ...] = ()
    all_required: bool = False
    looked: Looked | None = None

    def is_required(self, facts: FileFacts) -> bool:
        return self.all_required or any(fits(facts.name, one.path) for one in self.required)

    def decisive(self, facts: FileFacts) -> list[FileFault]:
        """Return the file's faults that block a PASS: any fault of a required file, some of others."""
        faults = facts.faults if facts.could_look else ()
        return [one for one in faults if one.code in DECIDES_ALWAYS or self.is_required(facts)]

    @property
    def deciding(self) -> tuple[FileAspect, ...]:
        """Everything that blocks a PASS: missing required files and decisive faults, without duplicates."""
        found = [FileAspect(file=fault.place, fault=fault) for fault in self.inspected.missing]
        found += [
            FileAspect(file=one.name, fault=fault) for one in self.inspected.files for fault in self.decisive(one)
        ]
        return tuple(dict.fromkeys(found))

    @property
    def unknown(self) -> tuple[str, ...]:
        """A sentence for each required file not fully inspected, and each undecided visual check."""
        files = (one for one in self.inspected.files if self.is_required(one))
        unread = (one for one in files if not one.is_read and not (one.could_look and one.faults))
        told = (f"{one_line(one.name)} was not inspected: {facts_in_words(one)}." for one in unread)
        return (*told, *(self.looked.undecided if self.looked else ()))

    @property
    def results(self) -> tuple[RequirementResult, ...]:
        """A result for each requirement with a known state, and each other file with a decisive fault."""
        results = [self._result(one) for one in self.required]
        for facts in self.inspected.files:
            faults = self.decisive(facts)
            if faults and not self.is_required(facts):
                expected = f"{facts.name} is what its name says, and opens"
                results.append(_unmet(facts.name, expected=expected, actual=_listed(faults)))
        return tuple(one for one in results if one is not None)

    def _result(self, requirement: FileRequirement) -> RequirementResult | None:
        # Code cannot check what a file shows.
        expected = required_in_words(requirement.model_copy(update={"shows": ""}))
        files = [one for one in self.inspected.files if fits(one.name, requirement.path)]
        missing = [one for one in self.inspected.missing if one.place == requirement.path]
        told = [_listed(missing)] if missing else []
        told += [f"{one.name}: {_listed(one.faults)}" for one in files if one.could_look and one.faults][:MOST_TOLD]
        if told:
            return _unmet(requirement.path, expected=expected, actual="; ".join(told))
        if not all(one.is_read for one in files):
            return None
        actual = cut("; ".join(f"{one.name}: {facts_in_words(one)}" for one in files), LONGEST_TOLD * 2)
        return _unmet(requirement.path, expected=expected, actual=actual).model_copy(update={"met": True})

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Issues for faults of files that no requirement names, and for failed visual checks."""
        others = [one for one in self.inspected.files if one.could_look and not self.is_required(one)]
        issues = [file_issue(one.name, fault) for one in others for fault in one.faults]
        issues += [
            Issue(
                category=IssueCategory.COMPLETENESS,
                severity=Severity.HIGH,
                description=f"{look.file} does not show this: {look.shows}{f' ({look.why})' if look.why else ''}",
                region=Region(attachment=look.attachment) if look.attachment else None,
            )
            for look in (self.looked.not_shown if self.looked else ())
        ]
        return tuple(issues[:MOST_ISSUES])

    @property
    def is_contradicted(self) -> bool:
        """Return True if the files keep the work from passing."""
        return bool(self.deciding or (self.looked and self.looked.not_shown))


def _unmet(name: str, *, expected: str, actual: str) -> RequirementResult:
    return RequirementResult(kind=RequirementKind.FILE, name=name, met=False, expected=expected, actual=actual)


def file_issue(name: str, fault: FileFault) -> Issue:
    is_missing = fault.code in NOT_PRODUCED
    return Issue(
        category=IssueCategory.COMPLETENESS if is_missing else IssueCategory.FORMAT,
        severity=Severity.HIGH if is_missing or fault.code in DECIDES_ALWAYS else Severity.MEDIUM,
        description=f"{name}: {fault.in_words}",
        suggested_fix=f"Produce {name}" if is_missing else f"Make {name} anew, so that it opens and is whole",
    )


def with_files(judgement: Judgement, checked: FilesChecked) -> Judgement:
    """Return the judgement with the issues of the files. If they block a PASS, it becomes REVISE."""
    report = judgement.requirements
    is_told = report is not None and any(one.kind is RequirementKind.FILE for one in report.results)
    aspects = () if is_told else checked.deciding
    told = {issue.description for issue in judgement.issues}
    named = [*(file_issue(one.file, one.fault) for one in aspects), *checked.issues]
    added = {issue.description: issue for issue in named if issue.description not in told}
    verdict = Verdict.REVISE if judgement.passed and checked.is_contradicted else judgement.verdict
    if verdict is judgement.verdict and not added:
        return judgement
    issues = (*judgement.issues, *list(added.values())[:MOST_ISSUES])
    return judgement.model_copy(update={"verdict": verdict, "issues": issues})


def against_files(found: Completeness, checked: FilesChecked | None) -> Completeness:
    """Return the check combined with the file results, which can only make it worse.

    A decisive fault means INCOMPLETE. A check is never COMPLETE while something about a required file is unknown.
    """
    if checked is None:
        return found
    state, error = found.state, found.error
    if state is CheckState.COMPLETE and checked.unknown:
        state, error = CheckState.UNCHECKED, cut(" ".join(checked.unknown[:MOST_ISSUES]), LONGEST_WHY)
    missing = tuple(f"{one.file}: {one.shows}" for one in (checked.looked.not_shown if checked.looked else ()))
    return found.model_copy(
        update={
            "state": CheckState.INCOMPLETE if checked.is_contradicted else state,
            "error": error,
            "missing_aspects": tuple(dict.fromkeys((*found.missing_aspects, *missing))),
            "files": checked.inspected,
            "faulty_files": checked.deciding,
            "looked": checked.looked,
        }
    )


# Texts for models and agents. Pages use the labels of the registry.


def _listed(faults: Sequence[FileFault]) -> str:
    more = f"; and {len(faults) - MOST_TOLD} more" if len(faults) > MOST_TOLD else ""
    return "; ".join(one.in_words for one in faults[:MOST_TOLD]) + more


def required_in_words(one: FileRequirement) -> str:
    """Return what the file must be, on one line."""
    kind = f" ({one.kind.value})" if one.kind else ""
    parts = [f"at least {one.min_files} files {one.path}{kind}" if one.min_files > 1 else f"{one.path}{kind}"]
    for name in ("columns", "sheets", "sections", "entries"):
        parts += [f"with the {name} {', '.join(getattr(one, name))}"] if getattr(one, name) else []
    for name in ("bytes", "rows", "pages", "words", "width", "height"):
        least = getattr(one, f"min_{name}")
        parts += [f"{name}: at least {least:,}"] if least else []
    parts += ["data that fits its schema"] if one.schema_ is not None else []
    parts += [f"shows: {one.shows}"] if one.shows else []
    return cut(one_line("; ".join(parts)), LONGEST_TOLD * 2)


def facts_in_words(facts: FileFacts) -> str:
    """Return what was found in a file on one line, or why it could not be opened."""
    if not facts.could_look:
        why = facts.why_not.replace("_", " ") or "no reason is known"
        return one_line(f"it could not be opened: {why}{f' ({facts.lacks})' if facts.lacks else ''}")
    parts = [facts.kind.value, f"{facts.size:,} bytes"]
    for name in ("rows", "pages", "words", "width", "height"):
        count = getattr(facts, name)
        parts += [f"{name}: {count:,}"] if count is not None else []
    for name in ("columns", "sheets", "headings", "entries"):
        listed = ", ".join(getattr(facts, name))
        parts += [f"{name}: {cut(listed, LONGEST_TOLD)}"] if listed else []
    parts += [] if facts.is_whole else ["not inspected to its end"]
    return one_line(", ".join(parts))


def files_in_frame(checked: FilesChecked) -> str:
    """Return everything known about the files, as data in a frame that they cannot close."""
    lines = [f"- {one.place}: {one.in_words}" for one in checked.inspected.missing]
    for facts in checked.inspected.files:
        lines.append(f"- {one_line(facts.name)}: {facts_in_words(facts)}")
        if facts.could_look:
            lines += [f"  fault: {fault.in_words}" for fault in facts.faults[:MOST_TOLD]]
            lines += [f"  begins: {cut(one_line(facts.begins), LONGEST_BEGINNING)}"] if facts.begins.strip() else []
    for look in checked.looked.looks if checked.looked else ():
        if look.holds is not Holds.NOT_LOOKED_AT:
            told = f"{look.file} must show: {look.shows}. It does: {look.holds.value.replace('_', ' ')}. {look.why}"
            lines.append(f"- a model looked at it: {one_line(told)}")
    return framed("\n".join(lines) or "(no file was produced)", name="files", most=LONGEST_LISTED)


# Files that a model writes into its answer: one code block each, with the path on the opening line.

MOST_WRITTEN = 20
_BLOCKS = MarkdownIt("zero").enable("fence")
_NAMED = re.compile(r"""\b(?:path|file|filename|title)=["']?([^\s"']+)""")
_BARE = re.compile(r"(?:^|[\s:])([\w./-]*\w\.[A-Za-z0-9]{1,8})(?=\s|$)")


def files_written_in(content: str) -> tuple[tuple[str, str], ...]:
    """Return (path, text) of the files in an answer. For a duplicate path, the later file counts."""
    found: dict[str, str] = {}
    for block in _BLOCKS.parse(content):
        named = (_NAMED.search(block.info) or _BARE.search(block.info)) if block.type == "fence" else None
        if named:
            found[named[1]] = block.content
    return tuple(found.items())[:MOST_WRITTEN]
