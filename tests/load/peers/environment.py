"""The peers that the desk is compared with: an environment of their own, and MLflow's server in it."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

# The litellm that this project has, so that both sides make the same call.
PEERS = (
    "litellm==1.106.2",
    "langgraph==1.2.22",
    "langgraph-checkpoint-postgres==3.2.0",
    "psycopg[binary,pool]==3.3.9",
    "mlflow==3.17.2",
)
PROJECT_DIR = Path(__file__).parents[3]
HOME = PROJECT_DIR / "build" / "peers"
UV = PROJECT_DIR / ".tools" / "uv" / "bin" / "uv"
STARTS_WITHIN_S = 300


def peers_environment() -> Path | None:
    """The folder of the peers' commands, made where it lacks just these versions; None where it cannot be made."""
    made_of = HOME / "made-of"
    if made_of.exists() and made_of.read_text() == "\n".join(PEERS):
        return HOME / "bin"
    shutil.rmtree(HOME, ignore_errors=True)
    python = str(HOME / "bin" / "python")
    interpreter = os.path.realpath(sys.executable)
    make = (UV, "venv", "-q", "--python", interpreter, HOME) if UV.exists() else (interpreter, "-m", "venv", HOME)
    pip = (UV, "pip", "install", "-q", "--python", python) if UV.exists() else (python, "-m", "pip", "install", "-q")
    try:
        subprocess.run(make, check=True)
        subprocess.run((*pip, *PEERS), check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return None
    made_of.write_text("\n".join(PEERS))
    return HOME / "bin"


@contextmanager
def mlflow_server(peers: Path, folder: Path, *, workers: int) -> Iterator[tuple[str, int]]:
    """The address of a running server, and its process."""
    from reflection_app.config.up.preconditions import free_port

    folder.mkdir()
    port = str(free_port())
    store = ("--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder / "kept"))
    command = (str(peers / "mlflow"), "server", *store, "--host", "127.0.0.1", "--port", port)
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    environment = os.environ | quiet | {"PATH": f"{peers}:{os.environ['PATH']}"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            (*command, "--workers", str(workers)), cwd=folder, env=environment, stdout=log, stderr=log
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/health", folder / "log")
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait(30)


def wait_for(url: str, log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while True:
        try:
            httpx.get(url).raise_for_status()
        except httpx.HTTPError:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        else:
            return
