"""The best attempt by what is recorded."""

from reflection_app.loops.best_attempt import best_attempt
from reflection_app.models import Attempt, Run, Verdict


def best_of(run: Run) -> Attempt | None:
    """The attempt to keep if the run ended now, by the rule that loops use."""
    attempts = {attempt.number: attempt for attempt in Attempt.objects.filter(run=run).defer("content")}
    verdicts = Verdict.objects.filter(attempt__run=run).select_related("attempt").defer("attempt__content")
    number = best_attempt(attempts, [verdict.get_judgement() for verdict in verdicts])
    return attempts[number] if number is not None else None
