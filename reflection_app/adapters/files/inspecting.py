"""What produced files are and what is wrong with them, and which requirements none of them meets."""

import hashlib
import math
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pydantic import ValidationError

from reflection_app.adapters.files.child import LIMITS, Answer, ask
from reflection_app.adapters.files.inside.kinds import promised
from reflection_app.adapters.files.libraries import PRELOADED
from reflection_app.adapters.sandbox.limits import SandboxFailed, SandboxUnavailable
from reflection_app.adapters.sandbox.memory import working_clock
from reflection_app.adapters.sandbox.values import MalformedValue, read_message
from reflection_app.loops.completeness.files import (
    MOST_LISTED,
    FaultCode,
    FileFacts,
    FileFault,
    FileKind,
    FileRequirement,
    FilesInspected,
    WhyNot,
    fits,
)
from reflection_app.loops.storable import storable, storable_value

LARGEST_FILE = 64_000_000
# Of one start of the sandbox: it holds them all.
LARGEST_BATCH = 128_000_000
FILES_OF_A_BATCH = 25
LONGEST_WORDS = 500
DEADLINE_S = 10.0
DEADLINE_OF_ALL_S = 60.0
# A file is too slow by the CPU time that it takes. On a busy machine that takes longer, which is no fault of the file.
WALL_PER_CPU = 3


class Produced(Protocol):
    """A file as its maker named it."""

    @property
    def name(self) -> str: ...

    @property
    def content(self) -> bytes: ...


def inspect_file(
    content: bytes,
    *,
    name: str,
    requirement: FileRequirement | None = None,
    beside: Sequence[str] | None = None,
    deadline_s: float = DEADLINE_S,
) -> FileFacts:
    """The facts of one file. `beside` are the names of the other files that its links may lead to; None: unknown."""
    asked = () if requirement is None else (requirement,)
    one = Wanted(name, content, asked, beside)
    return next(_inspect([one], deadline_s=deadline_s, total_s=deadline_s * WALL_PER_CPU + 1))


def inspect_files(
    files: Sequence[Produced],
    requirements: Sequence[FileRequirement] = (),
    *,
    unread: Sequence[str] = (),
    deadline_s: float = DEADLINE_OF_ALL_S,
    each_s: float = DEADLINE_S,
) -> FilesInspected:
    """The facts of the files, in their order, and what of the requirements none of them meets.

    Each file is opened once for all requirements that its name fits, by a process of its own that has `each_s` of CPU
    time. Where there are more files than can be told of, those come first that something is asked of. `unread` are the
    names of files that were produced as well, and that nobody opens: they are not missing.
    """
    beside = [_plain(name) for name in (*(one.name for one in files), *unread)]
    wanted = [Wanted(one.name, one.content, _asked_of(one.name, requirements), beside) for one in files]
    # Opened first as well: slow ones beside them must not use up their time.
    told = sorted(wanted, key=lambda one: not one.asked)[:MOST_LISTED]
    known = dict(zip(map(id, told), _inspect(told, deadline_s=each_s, total_s=deadline_s), strict=True))
    facts = [known[id(one)] for one in wanted if id(one) in known]
    missing = tuple(_missing([*(one.name for one in files), *unread], requirements))
    return FilesInspected(files=tuple(facts), missing=missing)


def _plain(path: str) -> str:
    return re.sub(r"^(?:\./)+|^/+", "", path.replace("\\", "/"))


def _asked_of(name: str, requirements: Sequence[FileRequirement]) -> tuple[FileRequirement, ...]:
    return tuple(one for one in requirements if fits(name, one.path))


def _missing(names: list[str], requirements: Sequence[FileRequirement]) -> Iterator[FileFault]:
    for one in requirements:
        count = sum(fits(name, one.path) for name in names)
        if not count:
            yield FileFault(code=FaultCode.NOT_THERE, place=one.path, expected=str(one.min_files), actual="0")
        elif count < one.min_files:
            yield FileFault(code=FaultCode.TOO_FEW, place=one.path, expected=str(one.min_files), actual=str(count))


class Wanted:
    """One file that is to be looked at."""

    def __init__(
        self, name: str, content: bytes, asked: tuple[FileRequirement, ...], beside: Sequence[str] | None
    ) -> None:
        self.name, self.content, self.asked, self.beside = name, content, asked, beside

    def item(self, time_s: float) -> dict[str, Any]:
        return {
            "name": _plain(self.name),
            "content": self.content,
            "asked": [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in self.asked],
            "beside": None if self.beside is None else list(self.beside),
            "time_s": time_s,
        }

    def facts(self, **more: Any) -> FileFacts:
        """What is known from outside, with more."""
        by_name = promised(self.name)
        wanted = next((one.kind for one in self.asked if one.kind is not None), None)
        kind = wanted or (by_name[0] if by_name else FileKind.OTHER)
        known = {
            "name": storable(self.name),
            "sha256": hashlib.sha256(self.content).hexdigest(),
            "size": len(self.content),
            "kind": kind,
            "media_type": by_name[1] if by_name and by_name[0] is kind else "",
        }
        return FileFacts.model_validate(known | more)

    def not_looked(self, why: WhyNot, lacks: str = "") -> FileFacts:
        return self.facts(could_look=False, why_not=why.value, lacks=storable(lacks)[:LONGEST_WORDS])

    def stopped(self, code: FaultCode, *, actual: str = "") -> FileFacts:
        """A limit ended the look."""
        return self.facts(is_whole=False, faults=(FileFault(code=code, actual=actual),))


def _inspect(wanted: list[Wanted], *, deadline_s: float, total_s: float) -> Iterator[FileFacts]:
    until = working_clock() + total_s
    for batch in _batches(wanted):
        yield from _inspect_batch(batch, deadline_s=deadline_s, total_s=max(0.0, until - working_clock()))


def _batches(wanted: list[Wanted]) -> Iterator[list[Wanted]]:
    batch: list[Wanted] = []
    size = 0
    for one in wanted:
        if batch and (size + len(one.content) > LARGEST_BATCH or len(batch) >= FILES_OF_A_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += len(one.content) if len(one.content) <= LARGEST_FILE else 0
    if batch:
        yield batch


def _inspect_batch(batch: list[Wanted], *, deadline_s: float, total_s: float) -> Iterator[FileFacts]:
    """The facts of each, in order."""
    opened = [one for one in batch if len(one.content) <= LARGEST_FILE]
    limits = replace(LIMITS, wall_s=deadline_s * WALL_PER_CPU, total_s=total_s, cpu_s=max(1, math.ceil(deadline_s)))
    answers = ask([one.item(deadline_s) for one in opened], limits=limits, preload=_preload(opened))
    why, lacks = WhyNot.NO_SANDBOX, ""
    for one in batch:
        if len(one.content) > LARGEST_FILE:
            limit, size = f"{LARGEST_FILE // 1_000_000} MB", f"{len(one.content) // 1_000_000} MB"
            fault = FileFault(code=FaultCode.TOO_LARGE, expected=limit, actual=size)
            yield one.facts(is_whole=False, faults=(fault,))
            continue
        try:
            answer = next(answers, None)
        except (SandboxUnavailable, SandboxFailed) as error:
            answer, lacks = None, str(error)
        yield one.not_looked(why, lacks) if answer is None else _read(one, answer, deadline_s=deadline_s)


def _preload(opened: list[Wanted]) -> tuple[str, ...]:
    """Libraries that more than one of the files needs, by what their names promise."""
    kinds = Counter(by_name[0] for one in opened if (by_name := promised(one.name)))
    return tuple(module for kind, modules in PRELOADED.items() if kinds[kind] > 1 for module in modules)


def _read(one: Wanted, answer: Answer, *, deadline_s: float) -> FileFacts:
    """The facts that the process told, or what its end says of the file."""
    record = answer.record
    if record is None:
        return one.stopped(FaultCode.UNREADABLE) if answer.is_down else one.not_looked(WhyNot.NO_TIME)
    ended = _end_of(one, answer, deadline_s=deadline_s)
    if ended is not None:
        return ended
    assert record is not None
    try:
        told = storable_value(read_message(record.report))
        # Whose facts these are, no process that opened a file has a say in.
        return one.facts(**{name: value for name, value in told.items() if name not in {"name", "sha256", "size"}})
    except (MalformedValue, ValidationError, TypeError, RecursionError):
        return one.stopped(FaultCode.UNREADABLE)


def _end_of(one: Wanted, answer: Answer, *, deadline_s: float) -> FileFacts | None:
    """The facts where the process did not end by itself."""
    record = answer.record
    assert record is not None
    number = os.WTERMSIG(record.status) if os.WIFSIGNALED(record.status) else 0
    if record.over_memory:
        return one.stopped(FaultCode.UNFOLDS)
    if record.outcome == "output":
        return one.stopped(FaultCode.UNREADABLE)
    if number in {signal.SIGXCPU, signal.SIGKILL} and record.outcome != "timeout":
        return one.stopped(FaultCode.TOO_SLOW, actual=f"{deadline_s:g} s")
    if record.outcome == "timeout":
        return one.not_looked(WhyNot.NO_TIME)
    if record.outcome != "ended" or number or not os.WIFEXITED(record.status) or os.WEXITSTATUS(record.status):
        name = signal.Signals(number).name if number else record.outcome
        return one.stopped(FaultCode.UNREADABLE, actual=name)
    return None
