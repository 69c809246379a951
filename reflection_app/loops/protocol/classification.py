"""Which class of error an attempt shows: the facts are gathered first, and the class follows from them alone.

After "Classification Decision Tree" of the third design seed; no model is asked.
"""

from collections.abc import Iterator
from typing import Any

from reflection_app.loops.protocol.error_classes import ErrorClass, FailureFacts, SimilarIssues
from reflection_app.loops.protocol.stages import Classified
from reflection_app.loops.protocol.unknown_words import said_unknown
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.loops.task_spec import Thresholds
from reflection_app.loops.verdicts import IssueCategory, Judgement, Severity

GRAVE = frozenset({Severity.HIGH, Severity.CRITICAL})
MOST_NAMED = 5
LONGEST_NAMED = 300
MOST_SELF_CHECK_TEXTS = 200

NAMES = {
    ErrorClass.MODEL_CAPABILITY: "Model capability",
    ErrorClass.DECISION_ERROR: "Decision error",
    ErrorClass.PIPELINE_CRASH: "Pipeline crash",
    ErrorClass.MISSING_KNOWLEDGE: "Missing knowledge",
    ErrorClass.NORMAL_ITERATION: "Normal iteration",
}


def gather_facts(
    *,
    content: str,
    judgement: Judgement,
    requirements: RequirementsReport | None,
    interruption: str = "",
    broken_phase: str = "",
    self_check: Any = None,
    similar: SimilarIssues | None = None,
    thresholds: Thresholds,
) -> FailureFacts:
    """What is known of the judged attempt. `self_check` is what its agent handed in about it, in any form."""
    completed, why = _completed(
        content, judgement=judgement, requirements=requirements, interruption=interruption, thresholds=thresholds
    )
    quote = said_unknown(content) or next(filter(None, map(said_unknown, _texts(self_check))), "")
    similar = similar or SimilarIssues()
    return FailureFacts(
        is_completed=completed,
        why_completed=why,
        is_interrupted=bool(interruption.strip()),
        interruption=interruption,
        broken_phase=broken_phase,
        said_unknown=bool(quote),
        quote=quote,
        is_repeated=bool(similar.found),
        similar=similar,
        score=judgement.score,
    )


def _completed(
    content: str,
    *,
    judgement: Judgement,
    requirements: RequirementsReport | None,
    interruption: str,
    thresholds: Thresholds,
) -> tuple[bool, str]:
    """Whether the task was completed, however badly, and why it counts as that."""
    if interruption.strip():
        return False, "the run broke off"
    if not content.strip():
        return False, "the output is empty"
    if requirements is not None and requirements.results:
        unmet = requirements.unmet
        if not unmet:
            return True, f"all {len(requirements.results)} minimum requirements are met"
        named = ", ".join(result.name for result in unmet[:MOST_NAMED])
        more = f" and {len(unmet) - MOST_NAMED} more" if len(unmet) > MOST_NAMED else ""
        return False, f"{len(unmet)} of {len(requirements.results)} minimum requirements are not met: {named}{more}"
    return _complete_by_referee(judgement, thresholds=thresholds)


def _complete_by_referee(judgement: Judgement, *, thresholds: Thresholds) -> tuple[bool, str]:
    grave = [
        issue for issue in judgement.issues if issue.category is IssueCategory.COMPLETENESS and issue.severity in GRAVE
    ]
    if grave:
        return False, f"something essential is missing: {grave[0].description[:LONGEST_NAMED]}"
    what, score, bar = "completeness", judgement.completeness, thresholds.pass_from
    if score is None:
        what, score, bar = "score", judgement.score, thresholds.revise_from
    if score < bar:
        return False, f"its {what} is {score:g}, below {bar:g}"
    return True, f"its {what} is {score:g}, at or above {bar:g}, and nothing essential is missing"


def _texts(value: Any) -> Iterator[str]:
    """Texts within a JSON value, as many as are looked at. Without recursion: its depth is what an agent chose."""
    left, seen = [value], 0
    while left and seen < MOST_SELF_CHECK_TEXTS:
        one = left.pop()
        seen += 1
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += reversed(list(one.values()))
        elif isinstance(one, list | tuple):
            left += reversed(list(one))


def classify(facts: FailureFacts) -> Classified:
    """The class that the tree comes to, with its questions and their answers."""
    path: list[str] = []

    def asked(question: str, answer: bool, because: str) -> bool:
        path.append(f"{question} {'Yes' if answer else 'No'}{f': {because}' if because else ''}")
        return answer

    looked_at = facts.similar.looked_at
    if asked("Was the task completed?", facts.is_completed, facts.why_completed):
        return _classified(ErrorClass.NORMAL_ITERATION, facts, path, "completed, but below the bar")
    if asked("Was the pipeline interrupted?", facts.is_interrupted, facts.interruption):
        return _classified(ErrorClass.PIPELINE_CRASH, facts, path, facts.broken_phase or facts.interruption)
    if asked("Did the agent say that it does not know?", facts.said_unknown, facts.quote):
        return _classified(ErrorClass.MISSING_KNOWLEDGE, facts, path, facts.quote)
    if asked("Is it the same mistake again?", facts.is_repeated, _repeated(facts)):
        return _classified(ErrorClass.MODEL_CAPABILITY, facts, path, _repeated(facts))
    why = "no such mistake before" if looked_at else "no earlier mistake to compare it with"
    return _classified(ErrorClass.DECISION_ERROR, facts, path, f"{facts.why_completed or 'not completed'}; {why}")


def _repeated(facts: FailureFacts) -> str:
    looked_at, found = facts.similar.looked_at, facts.similar.found
    reports = f"{looked_at} earlier report{'' if looked_at == 1 else 's'}"
    if not found:
        return f"nothing alike in {reports}" if looked_at else "there is no earlier report"
    first = found[0]
    before = f" ({first.reflection_id})" if first.reflection_id else ""
    return f"{len(found)} like it in {reports}, such as “{first.description[:LONGEST_NAMED]}”{before}"


def _classified(type_: ErrorClass, facts: FailureFacts, path: list[str], because: str) -> Classified:
    description = f"{NAMES[type_]}: {because}" if because.strip() else NAMES[type_]
    return Classified(type=type_, description=description, path=tuple(path), facts=facts)
