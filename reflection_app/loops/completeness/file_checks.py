"""What the files that work has produced say of it: which requirements hold, what decides, and in which words. Pure.

That a file could not be inspected here is no fault of it, and no requirement holds by it. A limit that the file itself
exceeds (its size, its nesting, the work that opening it takes) is a fault of the file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reflection_app.loops.completeness.checks import FileAspect
from reflection_app.loops.completeness.files import (
    FaultCode,
    FileFacts,
    FileFault,
    FileRequirement,
    FilesInspected,
    WhyNot,
    fits,
)
from reflection_app.loops.framing import framed
from reflection_app.loops.requirements import RequirementKind, RequirementResult
from reflection_app.loops.texts import cut, one_line
from reflection_app.loops.verdicts import Issue, IssueCategory, Judgement, Severity, Verdict

MOST_TOLD = 10
LONGEST_TOLD = 300
LONGEST_LISTED = 8_000
LONGEST_BEGINNING = 200
MOST_ISSUES = 20

# What a file is faulty by though no requirement names it: whoever opens it gets nothing, or something else.
DECIDES_ALWAYS = frozenset(
    {FaultCode.OTHER_KIND, FaultCode.OTHER_ENDING, FaultCode.TRUNCATED, FaultCode.UNREADABLE, FaultCode.UNFOLDS}
)
NOT_PRODUCED = frozenset({FaultCode.NOT_THERE, FaultCode.TOO_FEW})

# As models and agents are told; pages have the words of the registry.
WORDS: dict[FaultCode, str] = {
    FaultCode.NOT_THERE: "there is no such file",
    FaultCode.TOO_FEW: "there are too few such files",
    FaultCode.EMPTY: "it is empty",
    FaultCode.OTHER_KIND: "it is of another kind than required",
    FaultCode.OTHER_ENDING: "its content is not what its name says",
    FaultCode.TRUNCATED: "it breaks off before its end",
    FaultCode.UNREADABLE: "it cannot be opened",
    FaultCode.ENCRYPTED: "it is encrypted",
    FaultCode.ENCODING: "its encoding is broken",
    FaultCode.SYNTAX: "it cannot be parsed",
    FaultCode.TORN_ROW: "a row has another number of fields than the others",
    FaultCode.BAD_LINE: "a line cannot be parsed",
    FaultCode.NO_TEXT: "it has no text",
    FaultCode.SCHEMA: "its data does not fit the schema",
    FaultCode.MISSING_COLUMN: "a column is missing",
    FaultCode.MISSING_SHEET: "a sheet is missing",
    FaultCode.MISSING_SECTION: "a section is missing",
    FaultCode.MISSING_ENTRY: "an entry is missing",
    FaultCode.TOO_FEW_ROWS: "it has too few rows",
    FaultCode.TOO_FEW_PAGES: "it has too few pages",
    FaultCode.TOO_FEW_WORDS: "it has too few words",
    FaultCode.TOO_SMALL: "it is too small",
    FaultCode.BROKEN_LINK: "a link in it leads nowhere",
    FaultCode.FORMULA_ERROR: "a formula in it comes to an error",
    FaultCode.UNFOLDS: "it unfolds to far more than it says",
    FaultCode.UNSAFE_ENTRY: "an entry in it would be written outside of its folder",
    FaultCode.TOO_LARGE: "it is larger than what can be opened",
    FaultCode.TOO_SLOW: "opening it takes more work than allowed",
}


def fault_in_words(fault: FileFault) -> str:
    """The fault as models are told it: what, where, and what was expected and found."""
    told = WORDS.get(fault.code, fault.code.value.replace("_", " "))
    if fault.place:
        told += f" ({one_line(fault.place)})"
    if fault.expected:
        told += f", expected {one_line(fault.expected)}"
    if fault.actual:
        told += f", found {one_line(fault.actual)}"
    return cut(told, LONGEST_TOLD)


WHY_NOT: dict[str, str] = {
    WhyNot.NO_SANDBOX: "there is no sandbox to open it in",
    WhyNot.NO_LIBRARY: "the library for it is not installed",
    WhyNot.NO_READER: "nothing here reads this format",
    WhyNot.NO_TIME: "the time for all files was up",
}


@dataclass(frozen=True)
class FilesChecked:
    """What the look at the files told, against what the task requires of them.

    `all_required`: each of them was handed in as part of what is to be complete, whether or not it is named besides.
    """

    inspected: FilesInspected
    required: tuple[FileRequirement, ...] = ()
    all_required: bool = False

    def of(self, requirement: FileRequirement) -> tuple[FileFacts, ...]:
        return tuple(one for one in self.inspected.files if fits(one.name, requirement.path))

    def is_required(self, facts: FileFacts) -> bool:
        return self.all_required or any(fits(facts.name, one.path) for one in self.required)

    @property
    def unseen(self) -> tuple[FileFacts, ...]:
        """The files that nobody could look at."""
        return tuple(one for one in self.inspected.files if not one.could_look)

    @property
    def uninspected(self) -> tuple[FileFacts, ...]:
        """The required files without a fault that were not inspected, or not to their end."""
        return tuple(
            one
            for one in self.inspected.files
            if self.is_required(one) and not looked_through(one) and not _of_the_file(one)
        )

    @property
    def lacks_a_look(self) -> bool:
        """Whether some requirement neither holds nor fails, because nobody could look, or not to the file's end."""
        return bool(self.uninspected)

    @property
    def deciding(self) -> tuple[FileAspect, ...]:
        """What keeps the work from passing: a required file that is missing or faulty, any other that is none at all.

        Each once, in their order.
        """
        found = [FileAspect(file=_path_of(fault, self.required), fault=fault) for fault in self.inspected.missing]
        for facts in self.inspected.files:
            faults = _of_the_file(facts) if self.is_required(facts) else decisive_faults(facts)
            found += [FileAspect(file=facts.name, fault=fault) for fault in faults]
        return tuple(dict.fromkeys(found))

    @property
    def results(self) -> tuple[RequirementResult, ...]:
        """One for each requirement that something is known of, and one for each other file that is none at all."""
        results = [result for one in self.required if (result := self._result(one)) is not None]
        for facts in self.inspected.files:
            faults = decisive_faults(facts)
            if faults and not self.is_required(facts):
                expected = f"{facts.name} is what its name says, and opens"
                results.append(
                    RequirementResult(
                        kind=RequirementKind.FILE,
                        name=facts.name,
                        met=False,
                        expected=expected,
                        actual=_listed(faults),
                    )
                )
        return tuple(results)

    def _result(self, requirement: FileRequirement) -> RequirementResult | None:
        files = self.of(requirement)
        missing = [one for one in self.inspected.missing if _path_of(one, self.required) == requirement.path]
        faulty = [(facts, faults) for facts in files if (faults := _of_the_file(facts))]
        if not missing and not faulty and not all(map(looked_through, files)):
            return None
        told = [_listed(missing)] if missing else []
        told += [f"{facts.name}: {_listed(faults)}" for facts, faults in faulty[:MOST_TOLD]]
        return RequirementResult(
            kind=RequirementKind.FILE,
            name=requirement.path,
            met=not told,
            # What is to be seen on it, no code can tell.
            expected=required_in_words(requirement.model_copy(update={"shows": ""})),
            actual="; ".join(told) or _found(files),
        )

    @property
    def issues(self) -> tuple[Issue, ...]:
        """The faults of files that no requirement names, with name and place; those that decide are graver."""
        return tuple(
            file_issue(facts.name, fault)
            for facts in self.inspected.files
            if not self.is_required(facts)
            for fault in _of_the_file(facts)
        )[:MOST_ISSUES]


def looked_through(facts: FileFacts) -> bool:
    """Whether somebody looked to the file's end: what a fault may stand in behind it, no requirement holds by."""
    return facts.could_look and facts.is_whole


def uninspected_in_words(facts: FileFacts) -> str:
    """Return which required file was not inspected and why, on one line."""
    return f"{one_line(facts.name)} was not inspected: {facts_in_words(facts)}"


def _of_the_file(facts: FileFacts) -> list[FileFault]:
    return list(facts.faults) if facts.could_look else []


def decisive_faults(facts: FileFacts) -> list[FileFault]:
    """The faults by which a file is none at all, whoever asked for it."""
    return [fault for fault in _of_the_file(facts) if fault.code in DECIDES_ALWAYS]


def _path_of(fault: FileFault, required: Sequence[FileRequirement]) -> str:
    """The path of the requirement that a missing file leaves unmet: told as the fault's place, or as what is expected.

    The only requirement's where neither names one.
    """
    paths = [one.path for one in required]
    named = next((text for text in (fault.place, fault.expected) if text in paths), "")
    return named or (paths[0] if len(paths) == 1 else fault.place or fault.expected)


def file_issue(name: str, fault: FileFault) -> Issue:
    is_missing = fault.code in NOT_PRODUCED
    return Issue(
        category=IssueCategory.COMPLETENESS if is_missing else IssueCategory.FORMAT,
        severity=Severity.HIGH if is_missing or fault.code in DECIDES_ALWAYS else Severity.MEDIUM,
        description=f"{name}: {fault_in_words(fault)}",
        suggested_fix=f"Produce {name}" if is_missing else f"Make {name} anew, so that it opens and is whole",
    )


def with_files(judgement: Judgement, checked: FilesChecked) -> Judgement:
    """The judgement with what the files have against it: a PASS that they contradict is REVISE."""
    report = judgement.requirements
    is_told = report is not None and any(one.kind is RequirementKind.FILE for one in report.results)
    aspects = () if is_told else checked.deciding
    named = [*(file_issue(one.file, one.fault) for one in aspects), *checked.issues]
    told = {issue.description for issue in judgement.issues}
    added = {issue.description: issue for issue in named if issue.description not in told}
    verdict = Verdict.REVISE if judgement.passed and checked.deciding else judgement.verdict
    if verdict is judgement.verdict and not added:
        return judgement
    issues = (*judgement.issues, *list(added.values())[:MOST_ISSUES])
    return judgement.model_copy(update={"verdict": verdict, "issues": issues})


def required_in_words(one: FileRequirement) -> str:
    """What the file must be, on one line."""
    kind = f" ({one.kind.value})" if one.kind else ""
    parts = [f"at least {one.min_files} files {one.path}{kind}" if one.min_files > 1 else f"{one.path}{kind}"]
    listed = {"columns": one.columns, "sheets": one.sheets, "sections": one.sections, "entries": one.entries}
    parts += [f"with the {name} {', '.join(values)}" for name, values in listed.items() if values]
    least = {
        "bytes": one.min_bytes,
        "rows": one.min_rows,
        "pages": one.min_pages,
        "words": one.min_words,
        "pixels wide": one.min_width,
        "pixels high": one.min_height,
    }
    parts += [f"at least {number:,} {unit}" for unit, number in least.items() if number]
    parts += ["data that fits its schema"] if one.schema_ is not None else []
    parts += [f"shows: {one_line(one.shows)}"] if one.shows else []
    return cut(one_line("; ".join(parts)), LONGEST_TOLD * 2)


def facts_in_words(facts: FileFacts) -> str:
    """What was found in a file, on one line; that nobody could look where nobody did."""
    if not facts.could_look:
        why = WHY_NOT.get(facts.why_not, one_line(facts.why_not) or "no reason is known")
        return f"nobody could look at it: {why}{f' ({one_line(facts.lacks)})' if facts.lacks else ''}"
    counted = {
        "rows": facts.rows,
        "pages": facts.pages,
        "words": facts.words,
        "links": facts.links,
    }
    parts = [facts.kind.value, f"{facts.size:,} bytes"]
    parts += [f"{number:,} {unit}" for unit, number in counted.items() if number is not None]
    parts += [f"{facts.width} x {facts.height} pixels"] if facts.width and facts.height else []
    listed = {"columns": facts.columns, "sheets": facts.sheets, "headings": facts.headings, "entries": facts.entries}
    parts += [f"{name}: {cut(', '.join(values), LONGEST_TOLD)}" for name, values in listed.items() if values]
    parts += [] if facts.is_whole else ["not looked at to its end"]
    return ", ".join(map(one_line, parts))


def _found(files: Sequence[FileFacts]) -> str:
    return cut("; ".join(f"{one.name}: {facts_in_words(one)}" for one in files), LONGEST_TOLD * 2)


def _listed(faults: Sequence[FileFault]) -> str:
    more = f"; and {len(faults) - MOST_TOLD} more" if len(faults) > MOST_TOLD else ""
    return "; ".join(fault_in_words(one) for one in faults[:MOST_TOLD]) + more


def files_in_frame(checked: FilesChecked) -> str:
    """All that is known of the files, as data in a frame that none of them can close."""
    lines = [f"- {one.file}: {fault_in_words(one.fault)}" for one in checked.deciding if one.fault.code in NOT_PRODUCED]
    for facts in checked.inspected.files:
        lines.append(f"- {one_line(facts.name)}: {facts_in_words(facts)}")
        lines += [f"  fault: {fault_in_words(fault)}" for fault in _of_the_file(facts)[:MOST_TOLD]]
        if facts.could_look and facts.begins.strip():
            lines.append(f"  begins: {cut(one_line(facts.begins), LONGEST_BEGINNING)}")
    return framed("\n".join(lines) or "(no file was produced)", name="files", most=LONGEST_LISTED)


# Files that a model writes into its answer: each in a block of its own, named by its path where the block begins.

MOST_WRITTEN = 20
_FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)")
_NAMED = re.compile(r"""\b(?:path|file|filename|title)=["']?([^\s"']+)""")
_BARE = re.compile(r"(?:^|[\s:])([\w./-]*\w\.[A-Za-z0-9]{1,8})(?=\s|$)")


def files_written_in(content: str) -> tuple[tuple[str, str], ...]:
    """The paths and texts of the files in an answer; of two with one path the later."""
    found: dict[str, str] = {}
    fence = path = ""
    lines: list[str] = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", content):
        bare = line.strip()
        if fence:
            if bare == fence:
                if path:
                    found[path] = "".join(lines)
                fence, path, lines = "", "", []
            else:
                lines.append(line)
        elif opens := _FENCE.fullmatch(bare):
            fence = opens["fence"]
            named = _NAMED.search(opens["info"]) or _BARE.search(opens["info"])
            path = named[1] if named else ""
    # One that is not closed was cut off, and is a file that breaks off.
    if fence and path and lines:
        found[path] = "".join(lines)
    return tuple(found.items())[:MOST_WRITTEN]
