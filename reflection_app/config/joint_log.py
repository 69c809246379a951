"""The one log of `manage.py up`: a line of any process, after that process's name."""

import asyncio
import os
from dataclasses import dataclass
from typing import TextIO

WIDTH = 8
COLOURS = {"up": 37, "web": 36, "worker": 32, "beat": 35, "model": 33, "valkey": 31, "postgres": 34}
READ_SIZE = 65_536


@dataclass(frozen=True)
class JointLog:
    stream: TextIO

    def say(self, line: str, *, name: str = "up") -> None:
        """One line, aligned after the name that said it; coloured on a terminal that has not asked for none."""
        label = f"{name:<{WIDTH}} |"
        if self.stream.isatty() and "NO_COLOR" not in os.environ:
            label = f"\x1b[{COLOURS.get(name, 37)}m{label}\x1b[0m"
        self.stream.write(f"{label} {line}\n")
        self.stream.flush()

    async def forward(self, output: asyncio.StreamReader, *, name: str) -> None:
        """Says every line of `output` until it ends. Lines may be of any length."""
        rest = b""
        while chunk := await output.read(READ_SIZE):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self.say(line.decode(errors="replace").rstrip("\r"), name=name)
        if rest:
            self.say(rest.decode(errors="replace"), name=name)

    def box(self, lines: list[str]) -> None:
        """The lines in a frame, without a name before them: easy to find, easy to copy."""
        width = max(len(line) for line in lines)
        frame = "─" * (width + 2)
        inside = [f"│ {line:<{width}} │" for line in lines]
        self.stream.write("\n".join([f"┌{frame}┐", *inside, f"└{frame}┘", ""]))
        self.stream.flush()
