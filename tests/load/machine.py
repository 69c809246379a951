"""What the figures of a benchmark are worth: the machine that they were taken on, and what it spent."""

import os
import platform
from collections.abc import Mapping
from pathlib import Path


def describe_machine() -> str:
    """Cores, what else they had to do, and the interpreter, in one line."""
    load = ", ".join(f"{average:.1f}" for average in os.getloadavg())
    return f"{os.cpu_count()} cores (load {load}), Python {platform.python_version()}, {platform.system()}"


def cpu_s(*pids: int) -> float:
    """Seconds of CPU of these processes, of all below them and of what of these has ended; on Linux."""
    return _cpu_s(read_stats(), *pids)


def read_stats() -> dict[int, list[str]]:
    """Return the fields of each process's stat, from its state on; on Linux."""
    stats: dict[int, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # A process's name, in brackets, may hold spaces.
            stats[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
    return stats


def _cpu_s(stats: Mapping[int, list[str]], *pids: int) -> float:
    wanted, found = set(pids), set[int]()
    while wanted:
        found |= wanted
        wanted = {pid for pid, stat in stats.items() if int(stat[1]) in found} - found
    # utime, stime, cutime and cstime of proc(5), counted from the state.
    ticks = sum(int(stats[pid][at]) for pid in found if pid in stats for at in (11, 12, 13, 14))
    return ticks / os.sysconf("SC_CLK_TCK")


# Roles of the processes of `manage.py up`, by how their names in processes.json begin.
ROLES = ("worker", "behind", "web", "postgres", "valkey", "beat")


def cpu_by_role(pids: Mapping[str, int], *, supervisor: int) -> dict[str, float]:
    """Seconds of CPU by role; `pids` by the names in processes.json. What has no role is the supervisor's."""
    stats = read_stats()
    of_role = {role: [pid for name, pid in pids.items() if name.startswith(role)] for role in ROLES}
    spent = {role: _cpu_s(stats, *found) for role, found in of_role.items()}
    return spent | {"supervisor": _cpu_s(stats, supervisor) - sum(spent.values())}


def pss_mb(pid: int) -> float:
    """Return a process's proportional set size in MB: what it shares counts by its part. On Linux."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)
