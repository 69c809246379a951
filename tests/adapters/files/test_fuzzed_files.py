"""Whole files with bytes cut off, flipped, doubled and left out: whatever comes of it is told, and nothing hangs."""

import random

import pytest

from reflection_app.adapters.files import Produced, inspect_files
from reflection_app.loops.completeness.files import FaultCode, FileFacts
from tests.adapters.files import whole
from tests.adapters.files.opening import produced
from tests.adapters.files.test_whole_files import WHOLE

SEED = 21
# Formats that say themselves where they end, or that are checked by sums.
SURE = (".xlsx", ".docx", ".pptx", ".parquet", ".zip", ".gz", ".xz", ".bz2", ".pdf", ".json")


def spoiled(content: bytes, chance: random.Random) -> bytes:
    """The content with one thing done to it."""
    at = chance.randrange(len(content))
    end = min(len(content), at + chance.randint(1, 64))
    match chance.randrange(4):
        case 0:
            flipped = bytearray(content)
            for _ in range(chance.choice((1, 3, 20))):
                flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
            return bytes(flipped)
        case 1:
            return content[:at] + chance.randbytes(end - at) + content[end:]
        case 2:
            return content[:at] + content[end:]
    return content[:at] + content[at:end] * chance.randint(2, 50) + content[end:]


def looked_at(files: list[Produced]) -> list[FileFacts]:
    told = inspect_files(files, deadline_s=300).files
    assert len(told) == len(files)
    for one in told:
        assert one.could_look, one
        assert FaultCode.TOO_SLOW not in {fault.code for fault in one.faults}, one
    return list(told)


def test_files_that_break_off_anywhere_are_named() -> None:
    """Also near their ends, where little is missing."""
    chance = random.Random(SEED)
    named = [(name, content) for name, content, *_ in WHOLE if name.endswith(SURE)]
    cuts = [
        (chance.randrange(1, len(content)), len(content) - 2)[number % 2] for number, (_, content) in enumerate(named)
    ]
    files = [produced(name, content[:at]) for (name, content), at in zip(named, cuts, strict=True)]
    files.append(produced("chart.png", whole.picture()[:-20]))
    assert [one.name for one in looked_at(files) if not one.faults] == []


@pytest.mark.exhaustive("some hundred files, each opened by a process of its own")
@pytest.mark.parametrize("part", range(8))
def test_spoiled_files_bring_nothing_down(part: int) -> None:
    chance = random.Random(SEED + part)
    files = [produced(name, spoiled(content, chance)) for name, content, _, _ in WHOLE[part::8] for _ in range(10)]
    assert looked_at(files)
