"""What the figures of a benchmark are worth: the machine that they were taken on."""

import os
import platform


def describe_machine() -> str:
    """Cores, what else they had to do, and the interpreter, in one line."""
    load = ", ".join(f"{average:.1f}" for average in os.getloadavg())
    return f"{os.cpu_count()} cores (load {load}), Python {platform.python_version()}, {platform.system()}"
