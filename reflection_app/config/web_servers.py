"""All web servers of a container, WEB_PROCESSES behind one socket on HOST and PORT: `python -m …web_servers`.

One that dies is started again. One that keeps dying ends them all, so that whoever runs the container gets to know.
"""

import asyncio
import os
import signal
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from reflection_app.config.up import processes
from reflection_app.config.up.preconditions import Refused, listening_socket
from reflection_app.config.up.processes import JointLog, Register
from reflection_app.config.up.supervisor import NotStarted, Supervisor

MOST_DEATHS_IN_A_ROW = 5


async def serve(register: Register) -> None:
    """Serves until SIGTERM or SIGINT, and has ended what it started. Raises Refused or NotStarted."""
    supervisor = Supervisor(log=JointLog(sys.stdout), register=register, most_deaths_in_a_row=MOST_DEATHS_IN_A_ROW)
    with listening_socket(settings.HOST, port=settings.PORT) as listener:
        for command in processes.web({}, listener=listener.fileno(), access_log=True):
            # Who made the container chose what it may see; certificates and proxies of one's own are among it.
            supervisor.start(replace(command, env=dict(os.environ)))
        serving = asyncio.create_task(supervisor.until_one_is_given_up())
        for sign in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(sign, serving.cancel)
        try:
            with suppress(asyncio.CancelledError):
                await serving
        finally:
            await supervisor.stop(*supervisor.keepers)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
    # Nothing outlives a container, and /data may be shared by several: nobody looks into this register.
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(serve(Register(Path(folder) / "processes.json")))
        except (Refused, NotStarted) as problem:
            sys.exit(str(problem))


if __name__ == "__main__":
    main()
