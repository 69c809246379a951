"""What follows where a person overrules, afterwards, a verdict that had let an attempt pass.

The run is over and stays as it is; the attempt goes back by a run of its own, with the person's issues on its ticket.
"""

from reflection_app.core.audit import Actor
from reflection_app.loops.verdicts import Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.models.review import Review
from reflection_app.runs.models import Run
from reflection_app.tasks.redo import RedoInput, redo_run, why_no_redo

LONGEST = 10_000


def goes_back(review: Review, verdict: str, run: Run) -> bool:
    """Whether this verdict on an audited one makes a new run: an accepted attempt that a person sends back."""
    overrules = review.verdict.verdict == VerdictName.PASS and verdict == VerdictName.REVISE
    return overrules and not review.holds_run and not why_no_redo(run)


def order_again(
    review: Review, run: Run, *, verdict: str, reason: str, issues: tuple[Issue, ...], actor: Actor
) -> Run | None:
    """The queued run that does it again, or None where nothing follows. Call it inside a transaction."""
    if not goes_back(review, verdict, run):
        return None
    said = [reason.strip(), *(f"{issue.description} {issue.suggested_fix}".strip() for issue in issues)]
    wanted = RedoInput(instructions="\n".join(filter(None, said))[:LONGEST], attempt=review.attempt.number)
    return redo_run(run, wanted, issues=issues, actor=actor)
