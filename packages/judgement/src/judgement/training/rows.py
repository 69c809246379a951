"""Training rows and their assignment to folds."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

FOLDS = 6


def rows_of(kind: str, *folders: Path | None) -> list[dict[str, Any]]:
    """Return the rows of KIND.jsonl in these folders; missing files are skipped. Raise ValueError for invalid JSON."""
    files = [folder / f"{kind}.jsonl" for folder in folders if folder is not None]
    lines = [line for file in files if file.is_file() for line in file.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines if line.strip()]


def folds_of(groups: Sequence[str]) -> NDArray[np.int64]:
    """Return the fold of each row by its group: equal groups share a fold, identically on every machine."""
    return np.array([crc32(group.encode()) % FOLDS for group in groups])
