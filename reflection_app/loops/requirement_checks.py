"""Whether an answer meets its minimum requirements, told by code in words that a person reads."""

from collections.abc import Sequence
from typing import Any

from reflection_app.loops.checked_answers import CheckedAnswer, Found
from reflection_app.loops.json_paths import (
    Gap,
    PathRefused,
    TooManyPlaces,
    Trail,
    follow,
    parse_path,
    told_gap,
    written,
)
from reflection_app.loops.json_schema import SchemaRefused, violations
from reflection_app.loops.requirement_counts import check_count
from reflection_app.loops.requirements import RequirementKind, RequirementResult, Requirements, RequirementsReport
from reflection_app.loops.verdicts import Issue, IssueCategory, Judgement, Referee, Severity, Verdict

MOST_TOLD = 10
MOST_PLACES = 3
LONGEST_TOLD = 4_000
FIXES = {
    RequirementKind.SCHEMA: "Bring the data into the form of the schema",
    RequirementKind.FIELD: "Fill in what is missing",
    RequirementKind.COUNT: "Bring the number to what is required",
}


def check_requirements(
    requirements: Requirements, answer: str, *, chain_of_thought: bool = False
) -> RequirementsReport:
    """One result for each requirement, in their order: the schema, the fields, the counts. Never raises.

    The data is looked for as it is for a schema of the answer; the size is that of the text as it was written. In a
    chain of thought both are the part that holds the work.
    """
    checked = CheckedAnswer(answer, chain_of_thought=chain_of_thought)
    results = [_schema(requirements.schema_, checked)] if requirements.schema_ is not None else []
    results += [_field(path, checked) for path in requirements.required_fields]
    results += [check_count(count, checked) for count in requirements.counts]
    return RequirementsReport(results=tuple(results))


def _schema(schema: dict[str, Any], answer: CheckedAnswer) -> RequirementResult:
    met, actual, path = (False, answer.no_data, "") if answer.no_data else _fit(schema, answer.data)
    return RequirementResult(
        kind=RequirementKind.SCHEMA,
        name="schema",
        met=met,
        expected="data that fits the schema",
        actual=actual,
        path=path,
    )


def _fit(schema: dict[str, Any], data: Any) -> Found:
    try:
        found = violations(schema, data)
    except SchemaRefused as error:
        return False, f"the schema cannot be used: {error}", ""
    if not found:
        return True, "it fits", ""
    told = "; ".join(f"{one.path}: {one.message}" for one in found[:MOST_TOLD])
    more = f"; and {len(found) - MOST_TOLD:,} more" if len(found) > MOST_TOLD else ""
    return False, f"{_shortened(told, LONGEST_TOLD)}{more}", found[0].path


def _field(path: str, answer: CheckedAnswer) -> RequirementResult:
    met, actual, place = (False, answer.no_data, "") if answer.no_data else _is_there(path, answer)
    return RequirementResult(
        kind=RequirementKind.FIELD,
        name=path,
        met=met,
        expected=f"{path} is there and not empty",
        actual=actual,
        path=place,
    )


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
    places = len(reached) + len(gaps)
    return False, _told_places(wanting, of=places), written(wanting[0][0])


def _told_places(wanting: Sequence[tuple[Trail, Gap | None]], *, of: int) -> str:
    told = ", ".join(f"{written(place)} {told_gap(gap) if gap else 'is empty'}" for place, gap in wanting[:MOST_PLACES])
    more = f", and {len(wanting) - MOST_PLACES:,} more" if len(wanting) > MOST_PLACES else ""
    return f"{told}{more}" if of == 1 else f"{told}{more} ({len(wanting):,} of {of:,})"


def _is_empty(value: Any) -> bool:
    """Whether nothing is said: null, an empty list or object, a text without a visible character. 0 and false say."""
    if isinstance(value, str):
        return not any(character.isprintable() and not character.isspace() for character in value)
    return value is None or (isinstance(value, dict | list) and not value)


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def requirement_issues(report: RequirementsReport) -> tuple[Issue, ...]:
    """One issue for each requirement that does not hold, in their order."""
    return tuple(_issue(result) for result in report.unmet)


def _issue(result: RequirementResult) -> Issue:
    is_form = result.kind is RequirementKind.SCHEMA
    told = result.expected if result.name in result.expected else f"{result.name}: {result.expected}"
    return Issue(
        category=IssueCategory.FORMAT if is_form else IssueCategory.COMPLETENESS,
        severity=Severity.HIGH,
        description=f"Minimum requirement not met: {told}. Found: {result.actual}.",
        suggested_fix=f"{FIXES[result.kind]}: {result.expected}",
        path=result.path,
    )


def judge_requirements(report: RequirementsReport, *, attempt: int) -> Judgement:
    """PASS where all requirements hold, else REVISE; the score is the share of them that do."""
    return Judgement(
        attempt=attempt,
        referee=Referee.TESTS,
        verdict=Verdict.PASS if report.all_met else Verdict.REVISE,
        score=round(100 * report.share_met, 2),
        confidence=1.0,
        issues=requirement_issues(report),
        requirements=report,
    )
