"""The commands of the desk's own processes, and what of the environment each may see."""

import os
import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from django.conf import settings

from reflection_app.config import env
from reflection_app.config.connections import BESIDE_THE_POOL
from reflection_app.config.schedule import OF_FRESH_WORKERS, OF_THE_WORKER_BEHIND
from reflection_app.config.up.child_process import Command

ASGI = "reflection_app.config.asgi:application"
WEB_SERVER = "reflection_app.config.web_server"
CELERY = "reflection_app.config.celery"
INHERITED = {"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "NO_COLOR"}
INHERITED_BEGINNINGS = ("LC_", "PYTHON")
BEHIND = "behind"


def seen_by_web(environ: Mapping[str, str]) -> dict[str, str]:
    """What a process without provider keys may see: only names that are listed or documented, so no key slips in."""
    allowed = INHERITED | env.DOCUMENTED.keys()
    return {name: value for name, value in environ.items() if name in allowed or name.startswith(INHERITED_BEGINNINGS)}


def keys_without_model(environ: Mapping[str, str]) -> list[str]:
    """The provider keys that are set although no model is: they would go unused, in silence."""
    return [] if environ.get("LLM_MODEL") else sorted(name for name in environ if name.endswith("_API_KEY"))


def shared_environment(*, local_model_url: str) -> dict[str, str]:
    """What every process is given: one data folder, one port and one local model (or none) for all."""
    given = {
        "DJANGO_SETTINGS_MODULE": "reflection_app.config.settings",
        "REFLECTION_DATA_DIR": str(settings.DATA_DIR),
        "PORT": str(settings.PORT),
        "PYTHONUNBUFFERED": "1",
    }
    return given | ({"LOCAL_MODEL_URL": local_model_url} if local_model_url else {})


def options_of_postgres() -> dict[str, str]:
    """So many connections as the web servers and workers may take, and some for commands, unless those are few."""
    taken = settings.WEB_PROCESSES + settings.WORKER_PROCESSES
    wanted = taken * (settings.DATABASE_POOL_SIZE + BESIDE_THE_POOL) + 20
    return {"max_connections": str(max(200, wanted))}


def web(shared: dict[str, str], *, listener: int, access_log: bool = False) -> list[Command]:
    """WEB_PROCESSES web servers on one socket that listens already, given by its descriptor."""
    names = ["web", *(f"web-{number}" for number in range(2, settings.WEB_PROCESSES + 1))]
    return [
        _python(
            *(WEB_SERVER, "-v", str(int(access_log)), "--fd", str(listener), ASGI),
            name=name,
            env=_public(shared),
            patience_s=3,
            pass_fds=(listener,),
        )
        for name in names
    ]


def workers(shared: dict[str, str], *, local_model_key: str) -> list[Command]:
    """WORKER_PROCESSES of them: those for fresh work and, where there are more than one, one behind for the rest."""
    fresh = settings.WORKER_PROCESSES - 1
    if not fresh:
        queues = dict.fromkeys((*OF_FRESH_WORKERS, *OF_THE_WORKER_BEHIND))
        return [_worker("worker", shared, queues=queues, local_model_key=local_model_key)]
    names = ["worker", *(f"worker-{number}" for number in range(2, fresh + 1))]
    return [
        *(_worker(name, shared, queues=OF_FRESH_WORKERS, local_model_key=local_model_key) for name in names),
        _worker(
            BEHIND,
            shared,
            queues=OF_THE_WORKER_BEHIND,
            local_model_key=local_model_key,
            threads=max(4, settings.WORKER_CONCURRENCY // 4),
            # The processors are there for those who are waited for first.
            nice=5,
        ),
    ]


def _worker(
    name: str,
    shared: dict[str, str],
    *,
    queues: Iterable[str],
    local_model_key: str,
    threads: int = 0,
    nice: int = 0,
) -> Command:
    """The only processes that see provider keys. Runs are durable: one that does not end in time may be killed."""
    # Threads share one process: there is nobody to gossip with, and the broker's own time-outs tell of a lost worker.
    alone = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    pool = ("-P", "threads", "-c", str(threads or settings.WORKER_CONCURRENCY))
    # Celery warns of two workers of one name on a machine.
    named = ("-n", f"{name}@%h", "-Q", ",".join(queues))
    # Whether to be root is the owner's choice; celery would lament it in six lines at every start.
    warnings = ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), "ignore:You're running the worker")))
    own = {"LOCAL_MODEL_KEY": local_model_key, "PYTHONWARNINGS": warnings}
    environment = dict(os.environ) | shared | own
    arguments = ("-q", "-A", CELERY, "worker", *named, *pool, *alone, "-l", "WARNING")
    return _python("celery", *arguments, name=name, env=environment, nice=nice)


def beat(shared: dict[str, str]) -> Command:
    schedule = str(settings.DATA_DIR / "beat-schedule")
    arguments = ("-q", "-A", CELERY, "beat", "-s", schedule, "--pidfile=", "-l", "WARNING")
    return _python("celery", *arguments, name="beat", env=_public(shared), patience_s=3)


def local_model(shared: dict[str, str], *, port: int, local_model_key: str) -> Command:
    environment = _public(shared) | {"LOCAL_MODEL_KEY": local_model_key}
    return _python(
        "reflection_app.config.local_model", "--port", str(port), name="model", env=environment, patience_s=3
    )


def first_start(shared: dict[str, str], *, address: str = "", shows_password: bool = False) -> Command:
    """What prints how to log in, when this is the first start of a data folder."""
    manage = str(settings.BASE_DIR / "manage.py")
    shown = ("--show-password",) if shows_password else ()
    argv = (sys.executable, manage, "first_start", "--address", address, *shown)
    return Command(name="first", argv=argv, env=_public(shared), cwd=Path(settings.BASE_DIR))


def _public(shared: dict[str, str]) -> dict[str, str]:
    return seen_by_web(os.environ) | shared


def _python(
    module: str,
    *arguments: str,
    name: str,
    env: Mapping[str, str],
    patience_s: float = 8,
    pass_fds: tuple[int, ...] = (),
    nice: int = 0,
) -> Command:
    return Command(
        name=name,
        argv=(sys.executable, "-m", module, *arguments),
        env=env,
        cwd=Path(settings.BASE_DIR),
        stop_signal=signal.SIGTERM,
        orphan_signal=signal.SIGKILL,
        patience_s=patience_s,
        pass_fds=pass_fds,
        nice=nice,
    )
