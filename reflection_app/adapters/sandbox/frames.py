"""The records that the harness writes, taken apart as they arrive."""

from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_HEAD = 200


class BrokenStream(Exception):
    """The stream is not what the harness writes."""


@dataclass(frozen=True)
class Record:
    """How one test ended: `outcome` of the harness, wait status, and what the child reported and printed."""

    index: int
    outcome: str
    status: int
    duration_ms: float
    report: bytes
    stdout: bytes
    stderr: bytes
    over_memory: bool = False


class Reader:
    """Collects bytes and gives back the records that are whole."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self.is_ready = False

    def feed(self, block: bytes) -> Iterator[Record]:
        self.kept += block
        while (end := self.kept.find(b"\n", 0, LONGEST_HEAD)) >= 0:
            if not self.is_ready:
                self.is_ready = self.kept[:end] == b"ready"
                if not self.is_ready:
                    raise BrokenStream
                del self.kept[: end + 1]
                continue
            record, length = self.read(bytes(self.kept[:end]), end + 1)
            if record is None:
                return
            del self.kept[:length]
            yield record

    def read(self, head: bytes, start: int) -> tuple[Record | None, int]:
        try:
            index, outcome, status, micros, *lengths = head.decode("ascii").split(" ")
            first, second, third = map(int, lengths)
        except ValueError as error:
            raise BrokenStream from error
        length = start + first + second + third
        if len(self.kept) < length:
            return None, 0
        body = bytes(self.kept[start:length])
        parts = (body[:first], body[first : first + second], body[first + second :])
        return Record(int(index), outcome, int(status), int(micros) / 1000, *parts), length
