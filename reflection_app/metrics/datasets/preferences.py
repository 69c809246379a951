"""Pairs of attempts at one objective of which one is better, as the strongest words on them say.

A weaker referee never speaks against a stronger one: an attempt counts by its strongest word alone. Two are compared
where the same referee has that word on both, or where the stronger let the one pass and the weaker not the other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from uuid import UUID

from django.db.models import QuerySet

from reflection_app.loops.verdicts import Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.metrics.datasets.asking import Asked, Place
from reflection_app.metrics.datasets.decisions import InForce, decisions_by_run
from reflection_app.metrics.datasets.people import People
from reflection_app.metrics.datasets.reading import Sources
from reflection_app.metrics.datasets.rows import DatasetRow, PreferenceRow, PreferenceSource
from reflection_app.metrics.datasets.runs import attempts_by_run, finished_runs, task_columns, verdicts_by_run
from reflection_app.runs.models import Attempt, Run, Verdict

# Which of two attempts is better. Pure.

# Comparing takes the product of both in the worst case.
MOST_COMPARED_LINES = 500
FROM_WORST = (VerdictName.REJECT, VerdictName.REVISE, VerdictName.PASS)


@dataclass(frozen=True)
class Word:
    """The strongest referee's word on an attempt. `is_comparable` where the task's own expectation was judged by."""

    referee: Referee
    verdict: VerdictName
    score: float
    is_comparable: bool = True

    @property
    def height(self) -> tuple[int, float]:
        return FROM_WORST.index(self.verdict), self.score


def is_better(one: Word, other: Word) -> bool:
    """Whether the attempt of which `one` was said is better than that of which `other` was."""
    if Referee.SELF in {one.referee, other.referee} or not (one.is_comparable and other.is_comparable):
        return False
    if one.referee == other.referee:
        return one.height > other.height
    passed = one.verdict is VerdictName.PASS and other.verdict is not VerdictName.PASS
    return one.referee > other.referee and passed


@dataclass(frozen=True)
class Pair:
    chosen: int
    rejected: int
    source: PreferenceSource


def pairs_of(
    words: Mapping[int, Word], *, picks: Mapping[int, int], edits: Mapping[int, int] | None = None
) -> list[Pair]:
    """For each attempt that another is better than, by number, the one that is best by the strongest word.

    `picks` are those that a person kept, by the attempt that was to be kept instead; `edits` those that a reviewer
    wrote, by the attempt in whose place.
    """
    edits = edits or {}
    pairs = [Pair(chosen, rejected, PreferenceSource.PICK) for rejected, chosen in picks.items()]
    for rejected, word in words.items():
        if rejected in edits:
            pairs.append(Pair(edits[rejected], rejected, PreferenceSource.EDIT))
            continue
        better = [number for number, other in words.items() if is_better(other, word)]
        if better and rejected not in picks:
            # Of several that are as good, the first.
            chosen = max(better, key=lambda number: (words[number].referee, words[number].height, -number))
            pairs.append(Pair(chosen, rejected, PreferenceSource(words[chosen].referee.label)))
    return sorted(pairs, key=lambda pair: pair.rejected)


# The pairs of runs.


def _runs_with_pairs(asked: Asked) -> QuerySet[Run]:
    # A fork may have the one attempt that somebody rewrote.
    return finished_runs(asked).filter(attempts_made__gte=1)


def _rows_of(runs: Sequence[Run], asked: Asked, people: People) -> list[DatasetRow]:
    ids = [run.pk for run in runs]
    parents = {run.parent_id for run in runs if run.parent_id is not None}
    attempts = attempts_by_run([*ids, *parents])
    verdicts = verdicts_by_run([*ids, *parents], until=asked.until)
    decisions = decisions_by_run([*ids, *parents], until=asked.until)

    def whole(run_id: UUID | None) -> dict[int, Attempt]:
        known = attempts[run_id] if run_id else ()
        return {one.number: one for one in known if not one.is_cut_off and one.content.strip()}

    def words(run_id: UUID, among: Mapping[int, Attempt]) -> dict[int, Word]:
        return words_on(among.values(), verdicts[run_id], decisions[run_id])

    rows: list[DatasetRow] = []
    for run in runs:
        by_keys = {one.review.attempt.number for one in decisions[run.pk] if one.by_key}
        # What a key edited says nothing of what people prefer.
        made = {number: one for number, one in whole(run.pk).items() if one.edited_from not in by_keys}
        before = whole(run.parent_id)
        # What a fork took over is the other run's to tell, and judged as it was there.
        copies = {number for number, one in made.items() if number in before and one.content == before[number].content}
        said = words(run.parent_id, before) if run.parent_id else {}
        known = {number: word for number, word in words(run.pk, made).items() if number not in copies}
        known |= {number: word for number, word in said.items() if number in copies}
        picks = _picks_of(decisions[run.pk], among=made)
        pairs = pairs_of(known, picks=picks, edits=_edits_among(made))
        rows += [
            _row(
                run,
                pair,
                (made[pair.chosen], made[pair.rejected]),
                (known.get(pair.chosen), known.get(pair.rejected)),
                people,
            )
            for pair in pairs
            if not {pair.chosen, pair.rejected} <= copies and made[pair.chosen].content != made[pair.rejected].content
        ]
        for number in before.keys() & made.keys() - copies:
            edited, was = known.get(number), said.get(number)
            is_edited = bool(getattr(made[number], "edited_by", ""))
            if is_edited and not _speaks_against(edited, was):
                pair = Pair(number, number, PreferenceSource.EDIT)
                rows.append(_row(run, pair, (made[number], before[number]), (edited, was), people))
    return sorted(rows, key=lambda row: Place.behind(row).order)


def words_on(
    attempts: Collection[Attempt], verdicts: Sequence[Verdict], decisions: Sequence[InForce]
) -> dict[int, Word]:
    """By attempt the strongest referee's word on it, the later of two. None where a key decided, which is no person."""
    by_keys = {one.verdict.pk for one in decisions if one.by_key}
    numbers = {one.pk: one.number for one in attempts}
    strongest: dict[int, Verdict] = {}
    for row in verdicts:
        number = numbers.get(row.attempt_id)
        if number is not None and (number not in strongest or row.referee >= strongest[number].referee):
            strongest[number] = row
    return {
        number: Word(Referee(row.referee), VerdictName(row.verdict), row.score, is_comparable=not row.lowered)
        for number, row in strongest.items()
        if row.pk not in by_keys
    }


def _picks_of(decisions: Sequence[InForce], *, among: Mapping[int, Attempt]) -> dict[int, int]:
    picks: dict[int, int] = {}
    for one in decisions:
        asked, chosen = one.review.attempt.number, one.verdict.attempt.number
        if one.review.is_pick and not one.by_key and asked != chosen and {asked, chosen} <= among.keys():
            picks[asked] = chosen
    return picks


def _edits_among(made: Mapping[int, Attempt]) -> dict[int, int]:
    """By the number of the attempt, the one that a person wrote in its place in a review."""
    edited = ((one.edited_from, number) for number, one in made.items())
    return {before: number for before, number in edited if before is not None and before in made}


def _speaks_against(edited: Word | None, was: Word | None) -> bool:
    """Whether what a person rewrote was rejected, or judged worse than it was before."""
    if edited is None:
        return False
    return edited.verdict is VerdictName.REJECT or (was is not None and is_better(was, edited))


def _row(
    run: Run, pair: Pair, both: tuple[Attempt, Attempt], said: tuple[Word | None, Word | None], people: People
) -> PreferenceRow:
    (chosen, rejected), (of_chosen, of_rejected) = both, said
    difference = _difference(rejected.content, chosen.content) if pair.source is PreferenceSource.EDIT else None
    is_same_referee = of_chosen and of_rejected and of_chosen.referee == of_rejected.referee
    return PreferenceRow(
        # An attempt may be rejected for another one, and for its own edit.
        id=f"{run.pk}.{2 * pair.rejected + (pair.source is PreferenceSource.EDIT)}",
        at=run.finished_at,
        run_id=run.pk,
        **task_columns(run, people),
        source=pair.source,
        prompt=people.work(run.task.objective),
        chosen=people.work(chosen.content),
        rejected=people.work(rejected.content),
        chosen_attempt=pair.chosen,
        rejected_attempt=pair.rejected,
        chosen_score=of_chosen.score if of_chosen else None,
        rejected_score=of_rejected.score if of_rejected else None,
        difference=people.work(difference),
        chosen_referee=of_chosen.referee.label if of_chosen else None,
        rejected_referee=of_rejected.referee.label if of_rejected else None,
        margin=of_chosen.score - of_rejected.score if is_same_referee and of_chosen and of_rejected else None,
    )


def _difference(rejected: str, chosen: str) -> str | None:
    """What was changed, as a unified diff; None where it would take too long to find out."""
    before, after = rejected.splitlines(), chosen.splitlines()
    if max(len(before), len(after)) > MOST_COMPARED_LINES:
        return None
    # The first two lines of a diff name its files.
    return "\n".join(list(unified_diff(before, after, lineterm=""))[2:])


PREFERENCES = Sources[Run](moment="finished_at", wanted=_runs_with_pairs, rows_of=_rows_of)
