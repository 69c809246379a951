"""What produced files are and what is wrong with them, and which requirements none of them meets."""

import math
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from desk_sandbox.limits import SandboxFailed, SandboxUnavailable
from desk_sandbox.values import MalformedValue, read_message
from reflection_app.adapters.files.child import LARGEST_FILE, LIMITS, Answer, ask
from reflection_app.adapters.files.inside.kinds import promised
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

LONGEST_WORDS = 500
DEADLINE_S = 10.0
DEADLINE_OF_ALL_S = 60.0
# A file is too slow by the CPU time that it takes. On a busy machine that takes longer, which is no fault of the file.
WALL_PER_CPU = 3


@dataclass(frozen=True)
class Produced:
    """A file as its maker named it. `content` is None where nobody may open it; it is not missing."""

    name: str
    content: bytes | None
    size: int
    sha256: str


def inspect_files(
    files: Sequence[Produced],
    requirements: Sequence[FileRequirement] = (),
    *,
    deadline_s: float = DEADLINE_OF_ALL_S,
    each_s: float = DEADLINE_S,
) -> FilesInspected:
    """Return the facts of the files, in their order, and what of the requirements none of them meets.

    Each file is opened once, by a process of its own that has `each_s` of CPU time. Those that something is required
    of come first: slow ones must not use up their time.
    """
    wanted = [Wanted(one, tuple(asked for asked in requirements if fits(one.name, asked.path))) for one in files]
    first = sorted(wanted, key=lambda one: not one.asked)[:MOST_LISTED]
    known = dict(zip(map(id, first), _inspect(first, each_s=each_s, total_s=deadline_s), strict=True))
    return FilesInspected(
        files=tuple(known[id(one)] for one in wanted if id(one) in known),
        missing=tuple(fault for one in requirements if (fault := _missing(one, files))),
    )


def _missing(required: FileRequirement, files: Sequence[Produced]) -> FileFault | None:
    count = sum(fits(one.name, required.path) for one in files)
    if count >= required.min_files:
        return None
    code = FaultCode.TOO_FEW if count else FaultCode.NOT_THERE
    return FileFault(code=code, place=required.path, expected=str(required.min_files), actual=str(count))


@dataclass(frozen=True)
class Wanted:
    """One file that is to be inspected."""

    file: Produced
    asked: tuple[FileRequirement, ...] = ()

    @property
    def is_opened(self) -> bool:
        return self.file.content is not None and self.file.size <= LARGEST_FILE

    def facts(self, **more: Any) -> FileFacts:
        """What is known without opening it, with more."""
        kind, media_type = promised(self.file.name) or (FileKind.OTHER, "")
        known = {
            "name": storable(self.file.name),
            "sha256": self.file.sha256,
            "size": self.file.size,
            "kind": kind,
            "media_type": media_type,
        }
        return FileFacts.model_validate(known | more)

    def not_looked(self, why: WhyNot, lacks: str = "") -> FileFacts:
        return self.facts(could_look=False, why_not=why.value, lacks=storable(lacks)[:LONGEST_WORDS])

    def stopped(self, code: FaultCode, **words: str) -> FileFacts:
        """A limit ended the inspection."""
        return self.facts(is_whole=False, faults=(FileFault(code=code, **words),))


def _inspect(wanted: Sequence[Wanted], *, each_s: float, total_s: float) -> Iterator[FileFacts]:
    limits = replace(LIMITS, wall_s=each_s * WALL_PER_CPU, total_s=total_s, cpu_s=max(1, math.ceil(each_s)))
    items = [
        {
            "name": one.file.name,
            "content": one.file.content,
            "asked": [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in one.asked],
            "time_s": each_s,
        }
        for one in wanted
        if one.is_opened
    ]
    answers = ask(items, limits=limits)
    lacks = ""
    for one in wanted:
        if one.file.size > LARGEST_FILE:
            most, size = (f"{count // 1_000_000} MB" for count in (LARGEST_FILE, one.file.size))
            yield one.stopped(FaultCode.TOO_LARGE, expected=most, actual=size)
            continue
        if not one.is_opened:
            yield one.not_looked(WhyNot.NO_TIME)
            continue
        try:
            answer = next(answers, None)
        except (SandboxUnavailable, SandboxFailed) as error:
            answer, lacks = None, str(error)
        yield one.not_looked(WhyNot.NO_SANDBOX, lacks) if answer is None else _read(one, answer, each_s=each_s)


def _read(one: Wanted, answer: Answer, *, each_s: float) -> FileFacts:
    """The facts that the process reported, or what its end says of the file."""
    record = answer.record
    if record is None:
        return one.stopped(FaultCode.UNREADABLE) if answer.is_down else one.not_looked(WhyNot.NO_TIME)
    number = os.WTERMSIG(record.status) if os.WIFSIGNALED(record.status) else 0
    if record.over_memory:
        return one.stopped(FaultCode.UNFOLDS)
    if record.outcome == "timeout":
        return one.not_looked(WhyNot.NO_TIME)
    if number in {signal.SIGXCPU, signal.SIGKILL} and record.outcome == "ended":
        return one.stopped(FaultCode.TOO_SLOW, actual=f"{each_s:g} s")
    if record.outcome != "ended" or record.status:
        return one.stopped(FaultCode.UNREADABLE, actual=signal.Signals(number).name if number else record.outcome)
    try:
        told = storable_value(read_message(record.report))
        # Whose facts these are, no process that opened a file has a say in.
        return one.facts(**{name: value for name, value in told.items() if name not in {"name", "sha256", "size"}})
    except (MalformedValue, ValidationError, TypeError, RecursionError):
        return one.stopped(FaultCode.UNREADABLE)
