"""Classify an attempt's error: gather facts, then derive the class from them alone.

Source: "Classification Decision Tree" of the third design seed. No model is called.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from reflection_app.loops.protocol.error_classes import ErrorClass, FailureFacts, SimilarIssues, UnknownBy
from reflection_app.loops.protocol.stages import Classified, Reflected
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.loops.storable import leaves
from reflection_app.loops.task_spec import Thresholds
from reflection_app.loops.texts import cut
from reflection_app.loops.verdicts import IssueCategory, Judgement, Severity

# Phrases by which an agent says that it does not know; used only if no model reads the meaning. Quotations, negations
# and reports about others match too.
PLAIN_WORDS = re.compile(
    r"\b(?:I|we) (?:do not|don['’]t|really don['’]t) (?:actually )?know\b|\b(?:I have )?no idea\b|"
    r"\b(?:I|we) (?:cannot|can['’]t|could not|couldn['’]t|(?:am|was|are|were) unable to) "
    r"(?:find|determine|verify|locate)\b|"
    r"\b(?:do not|don['’]t) have (?:access to|(?:any |enough )?(?:information|data))\b|"
    r"\bno (?:relevant )?(?:results?|information|data) (?:was |were )?found\b|"
    r"(?<!人)不知道|我不(?:清楚|了解)|不得而知|查不到|(?:没有|没|未)(?:找|查|搜|检索)到|(?:没有|缺乏)(?:相关|有关)(?:信息|资料)",
    re.IGNORECASE,
)
# Only the beginning of longer texts is read; the statement needs no more.
LONGEST_LOOKED_AT = 60_000
LONGEST_QUOTE = 200
# A shorter quote would occur in any text.
SHORTEST_QUOTE = 4
SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？；;\n]")


def said_in_words(text: str) -> str:
    """Return a short quote of the sentence in which `text` plainly says that something is unknown, or ""."""
    text = text[:LONGEST_LOOKED_AT]
    found = PLAIN_WORDS.search(text)
    if found is None:
        return ""
    before = [end.end() for end in SENTENCE_END.finditer(text, 0, found.start())]
    after = SENTENCE_END.search(text, found.end())
    return cut(text[before[-1] if before else 0 : after.end() if after else len(text)].strip(), LONGEST_QUOTE)


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
    unknown: str = "",
    similar: SimilarIssues | None = None,
    reflected: Reflected | None = None,
    thresholds: Thresholds,
) -> FailureFacts:
    """Return the known facts about the judged attempt.

    `self_check` is the agent's own check, in any form; `unknown` is what the agent names there as not known.
    """
    completed, why = _completed(
        content, judgement=judgement, requirements=requirements, interruption=interruption, thresholds=thresholds
    )
    similar = similar or SimilarIssues()
    quote, by = find_unknown(content, unknown=unknown, self_check=self_check, similar=similar, reflected=reflected)
    return FailureFacts(
        is_completed=completed,
        why_completed=why,
        is_interrupted=bool(interruption.strip()),
        interruption=interruption,
        broken_phase=broken_phase,
        said_unknown=bool(quote),
        quote=quote,
        unknown_by=by,
        found_nothing=similar.unknown.found_nothing if similar.unknown else (),
        is_repeated=bool(similar.found),
        similar=similar,
        score=judgement.score,
    )


def find_unknown(
    content: str,
    *,
    unknown: str = "",
    self_check: Any = None,
    similar: SimilarIssues,
    reflected: Reflected | None = None,
) -> tuple[str, UnknownBy | None]:
    """Return the quote in which the agent says that it does not know, and the method that found it.

    Return ("", None) if there is none. In order: what the agent names as `unknown`, a reflector's quote that occurs in
    the work, then the reading by meaning. Phrases count only if there was no reading by meaning.
    """
    if unknown:
        return unknown, UnknownBy.AGENT
    if reflected is not None and stands_in(reflected.missing_quote, content):
        return cut(reflected.missing_quote, LONGEST_QUOTE), UnknownBy.REFLECTOR
    if similar.unknown is not None:
        quote = cut(similar.unknown.quote, LONGEST_QUOTE)
        return quote, UnknownBy.MEANING if quote else None
    quote = said_in_words(content) or next(filter(None, map(said_in_words, texts_in(self_check))), "")
    return quote, UnknownBy.WORDS if quote else None


def stands_in(quote: str, text: str) -> bool:
    """Return True if `quote` is not trivial and occurs in `text`, ignoring white space and case."""
    said = "".join(quote.split()).casefold()
    return len(said) >= SHORTEST_QUOTE and said in "".join(text.split()).casefold()


def _completed(
    content: str,
    *,
    judgement: Judgement,
    requirements: RequirementsReport | None,
    interruption: str,
    thresholds: Thresholds,
) -> tuple[bool, str]:
    """Return whether the task was completed, at any quality, and the reason."""
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


def texts_in(value: Any) -> Iterator[str]:
    """Return the first texts in a JSON value, at most MOST_SELF_CHECK_TEXTS."""
    return islice((one for one in leaves(value) if isinstance(one, str)), MOST_SELF_CHECK_TEXTS)


def classify(facts: FailureFacts) -> Classified:
    """Return the class that the decision tree yields, with the questions and answers on its path."""
    path: list[str] = []

    def holds(question: str, answer: bool, because: str) -> bool:
        path.append(f"{question} {'Yes' if answer else 'No'}{f': {because}' if because else ''}")
        return answer

    looked_at = facts.similar.looked_at
    if holds("Was the task completed?", facts.is_completed, facts.why_completed):
        return _classified(ErrorClass.NORMAL_ITERATION, facts, path, "completed, but below the bar")
    if holds("Was the pipeline interrupted?", facts.is_interrupted, facts.interruption):
        return _classified(ErrorClass.PIPELINE_CRASH, facts, path, facts.broken_phase or facts.interruption)
    if holds("Did the agent say that it does not know?", facts.said_unknown, facts.quote):
        return _classified(ErrorClass.MISSING_KNOWLEDGE, facts, path, facts.quote)
    if holds("Is it the same mistake again?", facts.is_repeated, _repeated(facts)):
        return _classified(ErrorClass.MODEL_CAPABILITY, facts, path, _repeated(facts))
    why = "no such mistake before" if looked_at else "no earlier mistake to compare it with"
    return _classified(ErrorClass.DECISION_ERROR, facts, path, f"{facts.why_completed or 'not completed'}; {why}")


def _repeated(facts: FailureFacts) -> str:
    looked_at, found = facts.similar.looked_at, facts.similar.found
    reports = f"{looked_at} earlier report{'' if looked_at == 1 else 's'}" if looked_at else "the run's earlier tickets"
    if not found:
        return f"nothing alike in {reports}" if looked_at else "there is no earlier report"
    first = found[0]
    before = f" ({first.reflection_id})" if first.reflection_id else ""
    return f"{len(found)} like it in {reports}, such as “{first.description[:LONGEST_NAMED]}”{before}"


def _classified(type_: ErrorClass, facts: FailureFacts, path: list[str], because: str) -> Classified:
    description = f"{NAMES[type_]}: {because}" if because.strip() else NAMES[type_]
    return Classified(type=type_, description=description, path=tuple(path), facts=facts)
