"""What the processes of `manage.py up` say: all of it in one log, and of each in a file of its own."""

import asyncio
import logging
import os
from collections import deque
from dataclasses import dataclass, field
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO

WIDTH = 8
COLOURS = {"up": 37, "web": 36, "worker": 32, "behind": 32, "beat": 35, "model": 33, "valkey": 31, "postgres": 34}
READ_SIZE = 65_536
LAST_LINES = 12
LARGEST_FILE = 5_000_000


@dataclass(frozen=True)
class JointLog:
    stream: TextIO
    # Where each process has its file; None keeps none.
    folder: Path | None = None
    last_lines: dict[str, deque[str]] = field(default_factory=dict)

    def file_of(self, name: str) -> Path | None:
        """The newest lines of this process; an older file of the same size at most stands beside it."""
        return self.folder / f"{name}.log" if self.folder else None

    def say(self, line: str, *, name: str = "up") -> None:
        """One line, aligned after the name that said it; coloured on a terminal that has not asked for none."""
        label = f"{name:<{WIDTH}} |"
        if self.stream.isatty() and "NO_COLOR" not in os.environ:
            label = f"\x1b[{COLOURS.get(name, 37)}m{label}\x1b[0m"
        self.stream.write(f"{label} {line}\n")
        self.stream.flush()

    async def forward(self, output: asyncio.StreamReader, *, name: str) -> None:
        """Says every line of `output` until it ends, and keeps it in the process's file. Lines may be of any length."""
        file = self._open_file(name)
        last = self.last_lines.setdefault(name, deque(maxlen=LAST_LINES))

        def pass_on(line: bytes) -> None:
            text = line.decode(errors="replace").rstrip("\r")
            self.say(text, name=name)
            last.append(text)
            file.emit(logging.makeLogRecord({"msg": text}))

        rest = b""
        try:
            while chunk := await output.read(READ_SIZE):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    pass_on(line)
            if rest:
                pass_on(rest)
        finally:
            file.close()

    def _open_file(self, name: str) -> logging.Handler:
        path = self.file_of(name)
        if path is None:
            return logging.NullHandler()
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return RotatingFileHandler(path, maxBytes=LARGEST_FILE, backupCount=1, encoding="utf-8", delay=True)

    def box(self, lines: list[str]) -> None:
        """The lines in a frame, without a name before them: easy to find, easy to copy."""
        width = max(len(line) for line in lines)
        frame = "─" * (width + 2)
        inside = [f"│ {line:<{width}} │" for line in lines]
        self.stream.write("\n".join([f"┌{frame}┐", *inside, f"└{frame}┘", ""]))
        self.stream.flush()
