"""A model server in a process of its own, for the benchmarks: three attempts, each judged better, none good enough.

.venv/bin/python -m tests.load.model_server [--delay SECONDS] [--spread SECONDS] [--log FILE]
"""

import argparse
import hashlib
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.openai_server import OpenAIServer, Reply, Request
from tests.runs.critiques import critique

DRAFT = re.compile(r"<work-\w+>.*?draft (\d+)", re.DOTALL)
WORDS = "The sea is wide, the wind is up, and every boat knows its own way home. " * 6


def answer(body: dict[str, Any]) -> str:
    """The actor's next draft, or the critic's word on the one it is shown: to be revised, and better than before."""
    prompt = str(body["messages"][-1]["content"])
    if judged := DRAFT.search(prompt):
        return critique(30 + 5 * int(judged[1]))
    return f"draft {1 + prompt.count('draft ')}: {WORDS}"


def name_of(messages: Iterable[Mapping[str, Any]]) -> str:
    """The name that a question has in the log."""
    return hashlib.sha256("\0".join(str(message["content"]) for message in messages).encode()).hexdigest()


@contextmanager
def model_server(*, delay_s: float = 0.0, spread_s: float = 0.0, log: Path | None = None) -> Iterator[str]:
    """The address of a running server, ending in /v1, which answers after `delay_s`, more or less by up to `spread_s`.

    To `log` it writes when it sent each answer, and to what.
    """
    command = [sys.executable, "-m", "tests.load.model_server", "--delay", str(delay_s), "--spread", str(spread_s)]
    if log is not None:
        command += ["--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--spread", type=float, default=0.0)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    sent: list[tuple[float, Any]] = []

    def note(request: Request) -> None:
        sent.append((time.time(), request.body["messages"]))

    def reply(body: dict[str, Any]) -> Reply:
        spread_s = random.uniform(-options.spread, options.spread)
        return Reply(answer(body), delay_s=options.delay + spread_s)

    with OpenAIServer(reply, on_answer=note) as server:
        print(server.url, flush=True)
        stop.wait()
    if options.log:
        options.log.write_text("".join(f"{at!r} {name_of(messages)}\n" for at, messages in sent))


if __name__ == "__main__":
    main()
