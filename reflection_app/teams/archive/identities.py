"""New ids for what a file brings: the same one wherever the old one stands, in the same order, and never one in use."""

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

UUIDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# The first half of an id is its time, by which rows are in order; the other half is chance.
KEPT_BYTES = 8
VARIANT_AND_BELOW = 0x3F
VARIANT = 0x80


@dataclass
class Identities:
    """The ids that a file brings, by table. New ones are made with `salt`, the new project's own id.

    Whoever made the file does not know the salt, so no id in it can be chosen to become that of a row there is.
    """

    salt: UUID
    # The id that the project had where it came from; it stands for the new project.
    former: UUID | None = None
    known: dict[str, set[bytes]] = field(default_factory=dict)

    def add(self, table: str, old: UUID) -> bool:
        """Whether the id is new to the table; it is known from here on."""
        ids = self.known.setdefault(table, set())
        if old.bytes in ids:
            return False
        ids.add(old.bytes)
        return True

    def is_in(self, table: str, old: UUID) -> bool:
        return old.bytes in self.known.get(table, ())

    def is_known(self, old: UUID) -> bool:
        return old == self.former or any(old.bytes in ids for ids in self.known.values())

    def new(self, old: UUID) -> UUID:
        """The new id, for whichever old one."""
        if old == self.former:
            return self.salt
        chance = bytearray(hashlib.blake2b(old.bytes, key=self.salt.bytes, digest_size=16 - KEPT_BYTES).digest())
        chance[0] = chance[0] & VARIANT_AND_BELOW | VARIANT
        return UUID(bytes=old.bytes[:KEPT_BYTES] + bytes(chance))

    def in_text(self, text: str) -> str:
        """The text with every id of the file in it made new."""
        return UUIDS.sub(lambda found: self._renewed(found[0]), text)

    def in_json(self, value: Any) -> Any:
        """The value with every text in it that is an id of the file made new. Words that mention one stay as said."""
        if isinstance(value, str):
            return self._renewed(value) if UUIDS.fullmatch(value) else value
        if isinstance(value, list):
            return [self.in_json(one) for one in value]
        if isinstance(value, dict):
            return {self.in_json(key): self.in_json(one) for key, one in value.items()}
        return value

    def _renewed(self, text: str) -> str:
        old = UUID(text)
        return str(self.new(old)) if self.is_known(old) else text


def cycle_in(parents: dict[UUID, UUID]) -> UUID | None:
    """One of the ids that lead back to themselves, where there is such a one."""
    settled: set[UUID] = set()
    for start in parents:
        path: set[UUID] = set()
        at: UUID | None = start
        while at is not None and at not in settled:
            if at in path:
                return at
            path.add(at)
            at = parents.get(at)
        settled |= path
    return None
