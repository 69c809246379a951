"""What a fork that looks back found, as it is proposed to the notebook."""

import re

from notebook_app.public import EntryKind, Proposal
from reflection_app.loops.after.findings import LONGEST_NAME, ErrorFound, MemoryFound, MemoryType
from reflection_app.sessions.models.reflector import Reflector

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
