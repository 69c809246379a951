"""Prints what an idle server takes: memory (PSS) and CPU by role, and the seconds of its start.

Starts `manage.py up` with the demo project and without the local model on a folder of its own, or reads a running one:
with DATA_DIR its processes are found by its processes.json.

.venv/bin/python -m tests.load.memory [--seconds 60] [--settle 30] [DATA_DIR]
"""

import argparse
import json
import os
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import django

from tests.load.machine import describe_machine, pss_mb, read_stats

TICKS = os.sysconf("SC_CLK_TCK")
# A start without the local model names another one, which an idle server never calls.
NO_LOCAL_MODEL = {"LLM_MODEL": "openai/none", "OPENAI_API_BASE": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "none"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", nargs="?", type=Path, help="data folder of a server that runs already")
    parser.add_argument("--seconds", type=float, default=60, help="how long CPU is measured")
    parser.add_argument("--settle", type=float, default=30, help="pause between the start and the measurement")
    asked = parser.parse_args()
    if asked.data:
        report(asked.data, seconds=asked.seconds)
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
    django.setup()
    from tests.end_to_end.desk import running_desk

    as_by_default = {"WEB_PROCESSES": "0", "WORKER_PROCESSES": "0"}
    with tempfile.TemporaryDirectory(prefix="desk-memory-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        began = time.monotonic()
        with running_desk(Path(folder) / "data", NO_LOCAL_MODEL | as_by_default) as desk:
            print(f"first page after {time.monotonic() - began:.1f} s")
            time.sleep(asked.settle)
            print(f"CPU from the start on: {sum(cpu_of(desk.data).values()):.1f} s")
            report(desk.data, seconds=asked.seconds)


def roles(data: Path) -> dict[int, str]:
    """Map each process of the server on this data folder to its role: web, worker, behind, postgres and so on."""
    noted: dict[str, list[int]] = json.loads((data / "processes.json").read_text())
    found = {entry[0]: name.rstrip("0123456789").rstrip("-") for name, entry in noted.items()}
    parents = {pid: int(stat[1]) for pid, stat in read_stats().items()}
    # The supervisor is not in its own register.
    found[parents[next(pid for pid, role in found.items() if role == "app")]] = "up"
    for pid in parents:
        above = pid
        while above and above not in found:
            above = parents.get(above, 0)
        if above:
            found[pid] = found[above]
    return found


def cpu_of(data: Path) -> dict[str, float]:
    """Return seconds of CPU by role since each process's start, with its ended children."""
    spent: dict[str, float] = defaultdict(float)
    stats, own_roles = read_stats(), roles(data)
    for pid, role in own_roles.items():
        # utime, stime, cutime and cstime of proc(5), counted from the state.
        spent[role] += sum(int(stats[pid][at]) for at in (11, 12, 13, 14)) / TICKS if pid in stats else 0
    return spent


def report(data: Path, *, seconds: float) -> None:
    """Print one line per role and the sums."""
    before, began = cpu_of(data), time.monotonic()
    time.sleep(seconds)
    after, took = cpu_of(data), time.monotonic() - began
    spent = {role: seconds_of - before.get(role, 0.0) for role, seconds_of in after.items()}
    memory: dict[str, list[float]] = {}
    for pid, role in roles(data).items():
        memory.setdefault(role, []).append(pss_mb(pid))
    print(describe_machine())
    print(f"{'role':<12} {'processes':>9} {'PSS in MB':>10} {'CPU in % of a core':>19}")
    for role, parts in sorted(memory.items(), key=lambda item: -sum(item[1])):
        print(f"{role:<12} {len(parts):>9} {sum(parts):>10.0f} {100 * spent[role] / took:>19.2f}")
    own = [sum(parts) for role, parts in memory.items() if role not in {"postgres", "valkey", "model"}]
    print(f"{'all':<12} {'':>9} {sum(map(sum, memory.values())):>10.0f} {100 * sum(spent.values()) / took:>19.2f}")
    print(f"without PostgreSQL, Valkey and the local model: {sum(own):.0f} MB")


if __name__ == "__main__":
    main()
