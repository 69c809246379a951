"""What the forks that look back leave behind: their rows, what they propose, and one event once both have ended.

Locks are taken in one order by all who are here: the fork's own run first, which its worker holds; then what is looked
back at; then the reflectors' rows; then the notebook. Who takes back an end holds what was looked back at already.
"""

import re
from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from notebook_app.public import Became, EntryKind, Proposal, keep_learned
from reflection_app.adapters.live import ring
from reflection_app.loops.after.findings import LONGEST_NAME, ErrorFound, MemoryFound, MemoryType
from reflection_app.loops.effects import RecordFindings, RecordMemories
from reflection_app.loops.verdicts import Outcome
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.following import goes_to_notebook
from reflection_app.runs.models import Run, Step
from reflection_app.sessions.looked_back_at import REFLECTING, reflector_of
from reflection_app.sessions.models import Reflector, ReflectorKind, Transcript

# What a fork that looks back found, as it is proposed to the notebook.

KINDS = {
    MemoryType.RULE: EntryKind.RULE,
    MemoryType.PROJECT: EntryKind.FACT,
    MemoryType.PREFERENCE: EntryKind.PREFERENCE,
}
_FIRST_SENTENCE = re.compile(r".+?(?:[.!?](?=\s|$)|[。！？]|$)")


def proposal_of(one: ErrorFound | MemoryFound, *, reflector: Reflector) -> Proposal:
    if isinstance(one, MemoryFound):
        return Proposal(
            kind=KINDS[one.type],
            name=one.name,
            description=one.description,
            content=one.content,
            agent=_agent(reflector),
            evidence=evidence_of(reflector),
        )
    return Proposal(
        kind=EntryKind.ERROR_NOTE,
        name=name_of_finding(one.description),
        description=one.description,
        details={"cause": one.cause, "suggestion": one.suggestion},
        category=one.category.value,
        agent=_agent(reflector),
        evidence=evidence_of(reflector),
    )


def name_of_finding(description: str) -> str:
    """The first sentence, cut at a word where it is long."""
    plain = " ".join(description.split())
    match = _FIRST_SENTENCE.match(plain)
    first = (match.group() if match else plain).strip()
    if len(first) <= LONGEST_NAME:
        return first
    cut = first[: LONGEST_NAME - 1]
    return f"{cut.rsplit(' ', 1)[0] if ' ' in cut[LONGEST_NAME // 2 :] else cut}…"


def evidence_of(reflector: Reflector) -> dict[str, str]:
    """Where the notebook is told that it was learned."""
    return work_of(reflector) | {"reflector": str(reflector.fork_id)}


def work_of(reflector: Reflector) -> dict[str, str]:
    if reflector.run_id is not None:
        return {"run": str(reflector.run_id)}
    return {"transcript": str(reflector.transcript_id)}


def _agent(reflector: Reflector) -> str:
    return reflector.run.task.agent if reflector.run else reflector.transcript.agent if reflector.transcript else ""


MOST_PARENTS = 20


@goes_to_notebook(RecordFindings, RecordMemories)
def keep_what_was_found(effect: RecordFindings | RecordMemories, run: Run, _step: Step) -> None:
    """Proposes to the notebook what the fork `run` found, and notes on its row what became of each.

    What a person's fork of it finds counts once with it, and leaves the row as it is. Where the end that it looks back
    at was taken back, nothing is kept.
    """
    reflector = reflector_of(run)
    if reflector is None:
        return
    lock_looked_back_at(reflector)
    reflector = Reflector.objects.select_for_update(of=("self",)).filter(pk=reflector.pk).first()
    if reflector is None:
        return
    found: Sequence[ErrorFound | MemoryFound] = (
        effect.found.findings if isinstance(effect, RecordFindings) else effect.found.memories
    )
    proposals = [proposal_of(one, reflector=reflector) for one in found]
    # The work that it was learned from, and the names under which lessons may have been drawn for that work.
    transcript = reflector.transcript
    if transcript is None:
        names = [str(run_id) for run_id in _line_of(reflector.run)]
        work = [{"run": name} for name in names]
    else:
        names = [str(transcript.pk), str(transcript.run_id or ""), transcript.external_id or ""]
        work = [work_of(reflector)]
    became = keep_learned(run.project_id, proposals, work=work, told=[name for name in names if name])
    if reflector.fork_id != run.pk:
        return
    reflector.findings = [
        one.model_dump(mode="json")
        | {
            "became": learned.became.value,
            "entry": str(learned.entry_id) if learned.entry_id else None,
            "why": learned.why.value if learned.why else "",
        }
        for one, learned in zip(found, became, strict=True)
    ]
    reflector.score = effect.found.score if isinstance(effect, RecordFindings) else None
    reflector.found = len(found)
    reflector.added = sum(learned.became is Became.ADDED for learned in became)
    reflector.counted = sum(learned.became is Became.COUNTED for learned in became)
    reflector.save(update_fields=["findings", "score", "found", "added", "counted"])


def _line_of(run: Run | None) -> list[UUID]:
    """The run and those that it was forked from: it begins with what they did."""
    found: list[UUID] = []
    while run is not None and len(found) < MOST_PARENTS:
        found.append(run.pk)
        run = run.parent
    return found


def lock_looked_back_at(reflector: Reflector) -> Run | None:
    """Locks what the reflector looks back at; its run where it has one, locked and read afresh."""
    run_id = reflector.run_id
    if reflector.transcript is not None:
        run_id = Transcript.objects.filter(pk=reflector.transcript.pk).values_list("run", flat=True).first()
        if run_id is None:
            Transcript.objects.select_for_update(of=("self",)).only("pk").get(pk=reflector.transcript.pk)
    return None if run_id is None else Run.objects.select_for_update(of=("self",)).defer("spec").get(pk=run_id)


def end_reflector(fork: Run) -> None:
    """Notes that the fork has ended, well or not; whichever of the two ends last tells of both.

    Call it in the transaction that ends the run, whatever run it is.
    """
    if fork.mode not in REFLECTING:
        return
    reflector = Reflector.objects.filter(fork=fork.pk).first()
    if reflector is None:
        return
    subject = lock_looked_back_at(reflector)
    if not Reflector.objects.filter(pk=reflector.pk).update(finished_at=timezone.now()):
        return
    about = Q(run=reflector.run_id) if reflector.run_id else Q(transcript=reflector.transcript_id)
    both = list(Reflector.objects.filter(about).select_related("fork").defer("fork__spec").order_by("kind"))
    if all(one.finished_at is not None for one in both):
        # On the run of the error reflector: of a session without a run, nothing else is there to have the event.
        chosen = next((one for one in both if one.kind == ReflectorKind.ERRORS), both[0])
        if subject is None and chosen.fork_id != fork.pk:
            subject = Run.objects.select_for_update(of=("self",)).defer("spec").get(pk=chosen.fork_id)
        run = subject or fork
        found = {one.kind: one.found for one in both}
        outcomes = {one.kind: fork.outcome if one.fork_id == fork.pk else one.fork.outcome for one in both}
        add_event(
            run,
            EventType.REFLECTED,
            errors=found.get(ReflectorKind.ERRORS.value, 0),
            memories=found.get(ReflectorKind.MEMORY.value, 0),
            added=sum(one.added for one in both),
            failed=sorted(kind for kind, outcome in outcomes.items() if outcome != Outcome.SUCCEEDED.value),
        )
        run.save(update_fields=["last_event_seq"])
        transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))
