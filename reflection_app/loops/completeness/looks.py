"""What a completeness check and a verdict make of what was seen on files: lowered by it, and never lifted. Pure."""

from reflection_app.loops.completeness.checks import CheckState, Completeness, HistoryStep
from reflection_app.loops.completeness.looked import Holds, Look, Looked, SeenFinding
from reflection_app.loops.regions import Region
from reflection_app.loops.texts import cut, one_line
from reflection_app.loops.verdicts import Issue, IssueCategory, Judgement, Severity, Verdict

MOST_ISSUES = 20
LONGEST_WORDS = 300


def as_history(looked: Looked | None) -> tuple[HistoryStep, ...]:
    """What was seen, as steps that a check is told of. What nobody looked at is no step."""
    return tuple(
        HistoryStep(
            operation="A model looked at a file that was produced",
            ok=one.is_good,
            result="\n".join(
                (
                    f"File: {one.file}",
                    f"It must show: {one.shows}",
                    f"It does: {one.holds.value.replace('_', ' ')}. {one.why}",
                    *(f"Page {finding.page}: {finding.what} ({finding.severity.value})" for finding in one.findings),
                )
            ),
        )
        for one in (looked.looks if looked else ())
        if one.holds is not Holds.NOT_LOOKED_AT
    )


def with_looked(found: Completeness, looked: Looked | None) -> Completeness:
    """The check with what was seen. It is lowered by what a file does not show, and never lifted.

    What was not seen is missing also where the rest of the check failed. While nobody could tell what a file shows, no
    check says complete.
    """
    if looked is None:
        return found
    if found.state is CheckState.COMPLETE and looked.undecided:
        found = found.model_copy(update={"state": CheckState.UNCHECKED, "error": " ".join(undecided_in_words(looked))})
    missing = dict.fromkeys(f"{one.file}: {one.shows}" for one in looked.not_shown)
    return found.model_copy(
        update={
            "looked": looked,
            "state": CheckState.INCOMPLETE if missing else found.state,
            "missing_aspects": tuple(dict.fromkeys((*found.missing_aspects, *missing))),
        }
    )


def undecided_in_words(looked: Looked) -> list[str]:
    """Return one sentence for each thing that a file must show and of which nobody could tell whether it does."""
    return [
        cut(one_line(f"It is not known whether {one.file} shows this: {one.shows}."), LONGEST_WORDS)
        for one in looked.undecided[:MOST_ISSUES]
    ]


def with_seen(judgement: Judgement, looked: Looked) -> Judgement:
    """The judgement with what was seen on the attempt's files: a PASS of one that does not show what it must is REVISE.

    No judgement is better for it, whatever was seen.
    """
    told = {issue.description for issue in judgement.issues}
    seen = {issue.description: issue for one in looked.looks for issue in _issues(one)}
    added = tuple(issue for description, issue in seen.items() if description not in told)[:MOST_ISSUES]
    verdict = Verdict.REVISE if judgement.passed and looked.not_shown else judgement.verdict
    if verdict is judgement.verdict and not added:
        return judgement
    return judgement.model_copy(update={"verdict": verdict, "issues": (*judgement.issues, *added)})


def _issues(look: Look) -> list[Issue]:
    """What is wrong by one look, each with its place; what nobody looked at is no issue."""
    issues = []
    if look.holds is Holds.NO:
        why = f" ({look.why})" if look.why else ""
        issues.append(
            Issue(
                category=IssueCategory.COMPLETENESS,
                severity=Severity.HIGH,
                description=f"{look.file} does not show this: {look.shows}{why}",
                region=Region(attachment=look.attachment) if look.attachment else None,
            )
        )
    issues += [
        Issue(
            category=IssueCategory.QUALITY,
            severity=one.severity,
            description=f"{look.file}, page {one.page}: {one.what}",
            region=_place(look, one),
        )
        for one in look.findings
    ]
    return issues


def _place(look: Look, finding: SeenFinding) -> Region | None:
    """Where it is on the file: of a picture the box, of a document the page, which is all that can be named there."""
    if look.attachment is None:
        return None
    is_document = look.pages_in_all is None or look.pages_in_all > 1 or finding.page > 1
    return Region(attachment=look.attachment, fragment=f"page={finding.page}" if is_document else finding.fragment)
