"""The interpreter as the sandbox sees it: its binary, its standard library, the shared libraries of both, no more."""

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reflection_app.adapters.sandbox.limits import SandboxUnavailable

LEFT_OUT = ("_tkinter", "_test", "_ctypes_test", "xxlimited")


@dataclass(frozen=True)
class Interpreter:
    """Host paths to show at the same place inside, folders in them to hide, and where the loader finds libraries."""

    binary: str
    shown: tuple[str, ...]
    hidden: tuple[str, ...]
    library_folders: tuple[str, ...]


@cache
def get_interpreter() -> Interpreter:
    """The interpreter that this process runs on, without its virtual environment."""
    binary = base_binary()
    standard = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix, "base": sys.base_prefix}))
    platform = Path(sys.base_exec_prefix) / sys.platlibdir / standard.name
    folders = [folder for folder in dict.fromkeys((standard, platform)) if folder.is_dir()]
    modules = [str(path) for folder in folders for path in sorted(folder.glob("lib-dynload/*.so"))]
    wanted = [path for path in modules if not Path(path).name.startswith(LEFT_OUT)]
    libraries = shared_libraries(binary, *wanted)
    inside = [f"{folder}/{name}" for folder in folders for name in ("site-packages", "dist-packages", "test")]
    return Interpreter(
        binary=binary,
        shown=(binary, *map(str, folders), *libraries),
        hidden=tuple(path for path in inside if Path(path).is_dir()),
        library_folders=tuple(dict.fromkeys(str(Path(path).parent) for path in libraries)),
    )


def base_binary() -> str:
    """The interpreter's own binary, every link resolved: neither the environment's nor a version manager's."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (Path(sys.base_prefix) / "bin" / name, Path(getattr(sys, "_base_executable", sys.executable))):
        if path.exists():
            return os.path.realpath(path)
    raise SandboxUnavailable(f"The interpreter was not found below {sys.base_prefix}.")


@cache
def shared_libraries(*binaries: str) -> tuple[str, ...]:
    """What the loader would load for these binaries, the loader itself included, as `ldd` tells."""
    try:
        told = subprocess.run(["ldd", *binaries], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603, S607
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxUnavailable(f"ldd, which tells the interpreter's libraries, cannot be run: {error}") from error
    found: dict[str, None] = {}
    for line in told.stdout.splitlines():
        words = line.split()
        path = next((word for word in words if word.startswith("/") and not word.endswith(":")), None)
        if path is not None and line[:1].isspace() and Path(path).exists():
            found[path] = None
    return tuple(found)
