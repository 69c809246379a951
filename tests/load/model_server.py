"""A model server in a process of its own, for the benchmarks: three attempts, each judged better, none good enough.

.venv/bin/python -m tests.load.model_server [--delay SECONDS]
"""

import argparse
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.critiques import critique
from tests.openai_server import OpenAIServer, Reply

DRAFT = re.compile(r"<work-\w+>.*?draft (\d+)", re.DOTALL)
WORDS = "The sea is wide, the wind is up, and every boat knows its own way home. " * 6


def answer(body: dict[str, Any]) -> str:
    """The actor's next draft, or the critic's word on the one it is shown: to be revised, and better than before."""
    prompt = str(body["messages"][-1]["content"])
    if judged := DRAFT.search(prompt):
        return critique(30 + 5 * int(judged[1]))
    return f"draft {1 + prompt.count('draft ')}: {WORDS}"


@contextmanager
def model_server(*, delay_s: float = 0.0) -> Iterator[str]:
    """The address of a running server, ending in /v1."""
    command = (sys.executable, "-m", "tests.load.model_server", "--delay", str(delay_s))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.0)
    delay_s = parser.parse_args().delay
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with OpenAIServer(lambda body: Reply(answer(body), delay_s=delay_s)) as server:
        print(server.url, flush=True)
        stop.wait()


if __name__ == "__main__":
    main()
