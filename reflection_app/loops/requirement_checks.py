"""Check an answer against its minimum requirements by code, with readable results."""

import json
from itertools import repeat
from typing import Any

from reflection_app.loops.chain_of_thought import work_in
from reflection_app.loops.code_answers import NoData, data_of
from reflection_app.loops.completeness.file_checks import FilesChecked
from reflection_app.loops.json_paths import (
    Gap,
    Looks,
    PathRefused,
    TooManyPlaces,
    Trail,
    follow,
    gap_in_words,
    parse_path,
    written,
)
from reflection_app.loops.json_schema import SchemaRefused, violations
from reflection_app.loops.lengths import count_characters, count_lines, count_words
from reflection_app.loops.requirements import (
    Counted,
    CountRequirement,
    Lowered,
    LoweredRequirement,
    RequirementKind,
    RequirementResult,
    Requirements,
    RequirementsReport,
)
from reflection_app.loops.texts import cut
from reflection_app.loops.verdicts import Issue, IssueCategory, Judgement, Referee, Severity, Verdict

# An answer, prepared for checking its minimum requirements

SIZES = {Counted.WORDS: count_words, Counted.CHARACTERS: count_characters, Counted.LINES: count_lines}

# (requirement met, actual value, path in the data)
Found = tuple[bool, str, str]


class CheckedAnswer:
    """The answer's text, and its data or the reason why there is none."""

    def __init__(self, answer: str, *, chain_of_thought: bool) -> None:
        self.text = work_in(answer) if chain_of_thought else answer
        self.data: Any = None
        self.no_data = ""
        try:
            self.data = data_of(answer, chain_of_thought=chain_of_thought)
        except NoData as error:
            self.no_data = f"no data: {error}"
        self.looks = Looks()
        self._sizes: dict[tuple[Counted, int], int] = {}

    def size(self, of: Counted, text: str | None = None) -> int:
        """Return the size of the whole text, or of a `text` in the data. Sizes are cached."""
        counted = self.text if text is None else text
        # Caching by id is safe: the data keeps its texts alive, so no other object can get their id.
        known = (of, id(counted))
        if known not in self._sizes:
            self._sizes[known] = SIZES[of](counted)
        return self._sizes[known]


# Check the number of items in a list, or the size of a text

LONGEST_SHOWN = 80
WHOLE = "$"


def check_count(count: CountRequirement, answer: CheckedAnswer) -> RequirementResult:
    """Return the result of checking a count requirement."""
    if count.max is None:
        bounds = f"at least {count.min:,}"
    elif not count.min:
        bounds = f"at most {count.max:,}"
    else:
        bounds = f"exactly {count.min:,}" if count.min == count.max else f"{count.min:,} to {count.max:,}"
    expected = f"{bounds} {_what(count, is_one=(count.max or count.min) == 1)}"
    return _result(RequirementKind.COUNT, result_name(count), expected, _counted(count, answer))


def result_name(count: CountRequirement) -> str:
    """Return the name of the count's result."""
    return count.name.strip() or _what(count)


def _result(kind: RequirementKind, name: str, expected: str, found: Found) -> RequirementResult:
    met, actual, path = found
    return RequirementResult(kind=kind, name=name, met=met, expected=expected, actual=actual, path=path)


def _counted(count: CountRequirement, answer: CheckedAnswer) -> Found:
    if count.of is not Counted.ITEMS and count.path.strip() in {"", WHOLE}:
        return _within(count, answer.size(count.of), place="")
    if answer.no_data:
        return False, answer.no_data, ""
    try:
        path = parse_path(count.path)
        reached, gaps = follow(answer.data, path, answer.looks)
        kind = list if count.of is Counted.ITEMS else str
        fitting = [(place, value) for place, value in reached if isinstance(value, kind)]
        if fitting:
            number = 0
            for _, value in fitting:
                if isinstance(value, str):
                    number += answer.size(count.of, value)
                elif count.where:
                    for item in value:
                        answer.looks.spend()
                        number += isinstance(item, dict) and all(
                            name in item and _same(item[name], wanted, answer.looks)
                            for name, wanted in count.where.items()
                        )
                else:
                    number += len(value)
            return _within(count, number, place=written(fitting[0][0]))
        if reached:
            place, value = reached[0]
            wanted = "a list" if kind is list else "a text"
            return False, f"{written(place)} is {_kind_of(value)}, not {wanted}", written(place)
        place, gap = gaps[0]
        if gap is Gap.EMPTY:
            return _within(count, 0, place=written(place))
        return False, f"{written(place)} {gap_in_words(gap)}", written(place)
    except PathRefused as error:
        return False, f"the path cannot be read: {error}", ""
    except TooManyPlaces as error:
        return False, str(error), ""


def _within(count: CountRequirement, number: int, *, place: str) -> Found:
    met = (count.min is None or number >= count.min) and (count.max is None or number <= count.max)
    return met, f"{number:,}", place


def _same(one: Any, other: Any, looks: Looks) -> bool:
    """Return True if two JSON values are equal. Python alone would treat 1 and true as equal."""
    looks.spend()
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key], looks) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other, repeat(looks)))
    return bool(one == other)


def _what(count: CountRequirement, *, is_one: bool = False) -> str:
    """Return a description of what is counted: `items in papers with is_key = true`."""
    where = count.path.strip() or WHOLE
    is_whole = where == WHOLE
    place = "" if is_whole and count.of is not Counted.ITEMS else f" in {'the list' if is_whole else where}"
    wanted = []
    for name, value in count.where.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        wanted.append(f"{cut(name, LONGEST_SHOWN)} = {cut(text, LONGEST_SHOWN)}")
    conditions = " and ".join(wanted)
    unit = count.of.value.removesuffix("s") if is_one else count.of.value
    return f"{unit}{place}{f' with {conditions}' if conditions else ''}"


def _kind_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case dict():
            return "an object"
        case list():
            return "a list"
        case str():
            return "a text"
    return "a number"


MOST_TOLD = 10
MOST_PLACES = 3
LONGEST_TOLD = 4_000
FIXES = {
    RequirementKind.SCHEMA: "Bring the data into the form of the schema",
    RequirementKind.FIELD: "Fill in what is missing",
    RequirementKind.COUNT: "Bring the number to what is required",
    RequirementKind.FILE: "Produce the file, whole and as it is required",
}


def check_requirements(
    requirements: Requirements | None,
    answer: str,
    *,
    chain_of_thought: bool = False,
    lowered: Lowered | None = None,
    files: FilesChecked | None = None,
) -> RequirementsReport:
    """Return a result for each requirement in order: schema, fields, counts, files. Never raises.

    File results exist only for files that could be inspected; there are none if `files` is None.

    Requirements named in `lowered` are reduced. Those met without reduction are reported as such.

    The data is extracted as for an output schema. Sizes are those of the text as written. With a chain of thought, both
    use the part that holds the work.
    """
    of_files = files.results if files is not None else ()
    if requirements is None or not requirements.of_the_answer:
        return RequirementsReport(results=of_files)
    checked = CheckedAnswer(answer, chain_of_thought=chain_of_thought)
    without_data = (False, checked.no_data, "")
    results = []
    if requirements.schema_ is not None:
        found = without_data if checked.no_data else _fit(requirements.schema_, checked.data)
        results.append(_result(RequirementKind.SCHEMA, "schema", "data that fits the schema", found))
    for path in requirements.required_fields:
        found = without_data if checked.no_data else _is_there(path, checked)
        results.append(_result(RequirementKind.FIELD, path, f"{path} is there and not empty", found))
    results += [check_count(count, checked) for count in requirements.counts]
    if lowered is not None:
        less = {one.requirement: one for one in lowered.requirements}
        counts = dict(
            zip(range(len(results) - len(requirements.counts), len(results)), requirements.counts, strict=True)
        )
        for place, result in enumerate(results):
            if not result.met and result.name in less:
                results[place] = _lowered(result, less[result.name], counts.get(place), checked)
    return RequirementsReport(results=(*results, *of_files))


def _lowered(
    result: RequirementResult, less: LoweredRequirement, count: CountRequirement | None, checked: CheckedAnswer
) -> RequirementResult:
    """Return the result of checking the lowered requirement, or `result` if it is not lower.

    A schema is never lowered.
    """
    if result.kind is RequirementKind.FIELD and less.min is None:
        expected = f"{result.name} may be missing"
        return result.model_copy(update={"met": True, "expected": expected, "lowered_from": result.expected})
    if count is None or count.min is None or less.min is None or less.min >= count.min:
        return result
    lower = check_count(count.model_copy(update={"min": less.min}), checked)
    return lower.model_copy(update={"lowered_from": result.expected})


def _fit(schema: dict[str, Any], data: Any) -> Found:
    try:
        found = violations(schema, data)
    except SchemaRefused as error:
        return False, f"the schema cannot be used: {error}", ""
    if not found:
        return True, "it fits", ""
    listed = "; ".join(f"{one.path}: {one.message}" for one in found[:MOST_TOLD])
    more = f"; and {len(found) - MOST_TOLD:,} more" if len(found) > MOST_TOLD else ""
    return False, f"{cut(listed, LONGEST_TOLD)}{more}", found[0].path


def _is_there(path: str, answer: CheckedAnswer) -> Found:
    try:
        reached, gaps = follow(answer.data, parse_path(path), answer.looks)
    except PathRefused as error:
        return False, f"the path cannot be read: {error}", ""
    except TooManyPlaces as error:
        return False, str(error), ""
    wanting: list[tuple[Trail, Gap | None]] = [*gaps, *((place, None) for place, value in reached if _is_empty(value))]
    if not wanting:
        return True, "it is there", ""
    listed = ", ".join(
        f"{written(place)} {gap_in_words(gap) if gap else 'is empty'}" for place, gap in wanting[:MOST_PLACES]
    )
    if len(wanting) > MOST_PLACES:
        listed += f", and {len(wanting) - MOST_PLACES:,} more"
    places = len(reached) + len(gaps)
    if places > 1:
        listed += f" ({len(wanting):,} of {places:,})"
    return False, listed, written(wanting[0][0])


def _is_empty(value: Any) -> bool:
    """Return True for null, an empty list or object, and text without visible characters. 0 and false are values."""
    if isinstance(value, str):
        return not any(character.isprintable() and not character.isspace() for character in value)
    return value is None or (isinstance(value, dict | list) and not value)


def requirement_issues(report: RequirementsReport) -> tuple[Issue, ...]:
    """Return one issue for each unmet requirement, in order."""
    return tuple(
        Issue(
            category=IssueCategory.FORMAT if result.kind is RequirementKind.SCHEMA else IssueCategory.COMPLETENESS,
            severity=Severity.HIGH,
            description=f"Minimum requirement not met: {result.in_words}. Found: {result.actual}.",
            suggested_fix=f"{FIXES[result.kind]}: {result.expected}",
            path=result.path,
        )
        for result in report.unmet
    )


def judge_requirements(report: RequirementsReport, *, attempt: int, lowered: Lowered | None = None) -> Judgement:
    """Return PASS if all requirements are met, else REVISE.

    The score is the percentage of requirements met without lowering.
    """
    in_full = sum(result.met and not result.lowered_from for result in report.results)
    return Judgement(
        attempt=attempt,
        referee=Referee.TESTS,
        verdict=Verdict.PASS if report.all_met else Verdict.REVISE,
        score=round(100 * in_full / len(report.results), 2) if report.results else 100.0,
        confidence=1.0,
        issues=requirement_issues(report),
        requirements=report,
        lowered=lowered if report.is_lowered else None,
    )
