"""Answers that were paid for and that the database does not have yet, on the local disk.

A separate thread writes an answer that is not committed in time to a file, since the run's own thread may be waiting
for a connection. The file is deleted once the answer is committed. If the process dies first, the file is found by the
next worker that performs the same effect on this machine, and by `offering.py`.
"""

import hashlib
import json
import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from reflection_app.loops.effect import Performed, Spent
from reflection_app.loops.effects import AnyEffect
from reflection_app.runs.models import Step

log = logging.getLogger(__name__)

# Commits take milliseconds, and under load below a second.
WRITTEN_AFTER_S = 0.5
CHECK_EVERY_S = 0.25
MOST_BYTES = 256 * 1024 * 1024
SET_ASIDE = ".bad"
UNFINISHED = ".tmp"


class SpooledAnswer(BaseModel):
    """What a file holds. `token` is the lease under which the answer came."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run_id: UUID
    seq: int
    key: str
    kind: str
    token: UUID
    request_sha256: str
    model: str
    result: Any
    spent: Spent
    finished_at: AwareDatetime

    def answers(self, effect: AnyEffect) -> bool:
        """Return True if this is the answer to the same request."""
        same = (self.key, self.kind) == (effect.key, effect.kind)
        return same and self.request_sha256 == sha256_of(effect.model_dump(mode="json", exclude={"key"}))

    def performed(self, effect: AnyEffect) -> Performed[Any]:
        return Performed(value=effect.results.validate_python(self.result), spent=self.spent)


def sha256_of(request: Any) -> str:
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


def spooled_form(step: Step, effect: AnyEffect, performed: Performed[Any], *, token: UUID) -> SpooledAnswer:
    """The answer as a file holds it; `step` was completed with it."""
    assert step.finished_at is not None
    return SpooledAnswer(
        run_id=step.run_id,
        seq=step.seq,
        key=effect.key,
        kind=effect.kind,
        token=token,
        request_sha256=sha256_of(effect.model_dump(mode="json", exclude={"key"})),
        model=step.model,
        result=effect.results.dump_python(performed.value, mode="json"),
        spent=performed.spent,
        finished_at=step.finished_at,
    )


class Pending:
    """An answer until it is committed. It is put into its form only where it has to be written."""

    def __init__(self, make: Callable[[], SpooledAnswer] | None = None, *, path: Path | None = None) -> None:
        self._make, self._path = make, path
        self._is_settled = False
        self._lock = threading.Lock()
        self.due = time.monotonic() + WRITTEN_AFTER_S

    def write(self) -> None:
        with self._lock:
            if self._is_settled or self._path is not None or self._make is None:
                return
            try:
                self._path = write(self._make())
            except OSError as error:
                log.warning("an answer that the database does not have could not be written to disk either: %s", error)

    def settle(self) -> None:
        """Remove the file, if there is one: the answer is committed or no longer needed."""
        with self._lock:
            self._is_settled = True
            if self._path is not None:
                self._path.unlink(missing_ok=True)


class Spool:
    """Writes the pending answers of this process that are not committed in time."""

    def __init__(self) -> None:
        self._pending: set[Pending] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def expect(self, pending: Pending) -> None:
        with self._changed:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._write_for_ever, name="answer-spool", daemon=True)
                self._thread.start()
            self._pending.add(pending)
            self._changed.notify()

    def settle(self, answers: list[Pending]) -> None:
        with self._changed:
            self._pending.difference_update(answers)
        for answer in answers:
            answer.settle()

    def write(self, answers: list[Pending]) -> None:
        with self._changed:
            self._pending.difference_update(answers)
        for answer in answers:
            answer.write()

    def _write_for_ever(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._pending))
            time.sleep(CHECK_EVERY_S)
            now = time.monotonic()
            with self._changed:
                late = [one for one in self._pending if one.due <= now]
            try:
                self.write(late)
            except Exception:
                # Without this thread nothing would be written any more.
                log.exception("answers could not be written to disk")


def folder() -> Path:
    return Path(settings.DATA_DIR) / "spool"


def write(answer: SpooledAnswer) -> Path:
    """The file of the answer, on the disk for certain. Raises OSError, also where the spool is full."""
    content = answer.model_dump_json().encode()
    place = folder()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if _size_of(place) + len(content) > MOST_BYTES:
        raise OSError(f"{place} is full: it may hold {MOST_BYTES} bytes")
    unfinished = place / f"{uuid4().hex}{UNFINISHED}"
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    path = unfinished.rename(place / f"{answer.run_id}.{answer.seq}.{answer.token}.json")
    inside = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(inside)
    finally:
        os.close(inside)
    log.warning("the answer of step %s of run %s waits on disk for the database", answer.key, answer.run_id)
    return path


def _size_of(place: Path) -> int:
    size = 0
    for entry in os.scandir(place):
        with suppress(FileNotFoundError):  # settled meanwhile
            size += entry.stat().st_size
    return size


def read_all(beginning: str = "") -> Iterator[tuple[Path, SpooledAnswer]]:
    """Yield the answers on disk whose file's name begins so. A file that holds none is set aside, renamed."""
    try:
        names = os.listdir(folder())  # noqa: PTH208 - asked before each call of a model, and mostly empty
    except FileNotFoundError:
        return
    for path in (folder() / name for name in names if name.startswith(beginning) and name.endswith(".json")):
        try:
            yield path, SpooledAnswer.model_validate_json(_content_of(path))
        except FileNotFoundError:
            continue  # settled meanwhile
        except (OSError, ValidationError) as error:
            set_aside(path, why=str(error).splitlines()[0])


def _content_of(path: Path) -> bytes:
    """Return the bytes of a file that may be ours. Raises OSError for others: reading a pipe would never end."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
            raise OSError("no regular file, or too large")
        return file.read()


def set_aside(path: Path, *, why: str) -> None:
    log.warning("%s is no answer that can be used, and was set aside: %s", path, why)
    with suppress(FileNotFoundError):  # another worker was first
        path.rename(path.with_name(f"{path.name}{SET_ASIDE}"))


@dataclass(frozen=True)
class Found:
    """An answer on disk as the result of its effect, and the file's way to be settled."""

    performed: Performed[Any]
    finished_at: datetime
    pending: Pending


def find(effect: AnyEffect, *, run_id: UUID, seq: int) -> Found | None:
    """The answer to this very effect that a worker on this machine left on disk, if any."""
    for path, answer in read_all(f"{run_id}.{seq}."):
        if answer.answers(effect):
            try:
                performed = answer.performed(effect)
            except ValidationError as error:
                set_aside(path, why=str(error).splitlines()[0])
                continue
            return Found(performed, answer.finished_at, Pending(path=path))
    return None


spool = Spool()
