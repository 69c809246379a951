"""The whole desk, started as its owner starts it: `manage.py up`, asked over REST and as a browser would ask."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings

from reflection_app.config.up.desk import answers
from reflection_app.config.up.preconditions import free_port
from tests.pace import PATIENCE_S

MANAGE = (sys.executable, str(Path(settings.BASE_DIR) / "manage.py"))
OF_THE_TEST_SESSION = {"DATABASE_URL", "REDIS_URL", "DATABASE_POOL_SIZE", "SECRET_KEY"}
STARTS_WITHIN_S = PATIENCE_S
SETTLES_WITHIN_S = PATIENCE_S
PROJECT = "demo"
OWN_PASSWORD = "chosen at the first login"


@dataclass(frozen=True)
class Desk:
    """A running desk. `environment` is what it was started with, and what its commands are run with."""

    process: subprocess.Popen[bytes]
    environment: Mapping[str, str]
    log: Path

    @property
    def data(self) -> Path:
        return Path(self.environment["REFLECTION_DATA_DIR"])

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.environment['PORT']}"

    @cached_property
    def api(self) -> httpx.Client:
        """REST with a key of its own, below /api/v1."""
        return self._api_with()

    @cached_property
    def tools_api(self) -> httpx.Client:
        """REST with a key that may do everything, tools included."""
        return self._api_with("--scopes", "admin")

    @cached_property
    def reviewing_api(self) -> httpx.Client:
        """REST with a key that decides on what others handed in."""
        return self._api_with("--scopes", "tasks:write,runs:read,reviews:write")

    def _api_with(self, *options: str) -> httpx.Client:
        key = self.manage("create_api_key", "end to end", "--project", PROJECT, *options)
        return httpx.Client(
            base_url=f"http://{self.host}/api/v1/",
            headers={"Authorization": f"Bearer {key}"},
            timeout=httpx.Timeout(SETTLES_WITHIN_S + 10),
        )

    @cached_property
    def browser(self) -> httpx.Client:
        """The site with the session of the admin, who came by the first start's login link and chose a password."""
        link = re.search(r"One-time login link: (\S+)", self.log.read_text())
        assert link, self.log.read_text()
        client = httpx.Client(base_url=f"http://{self.host}/", follow_redirects=True, timeout=httpx.Timeout(30))
        client.get(link[1])
        entered = client.post(link[1], data={"csrfmiddlewaretoken": client.cookies["csrftoken"]})
        assert entered.status_code == 200, entered.text
        chosen = {"password1": OWN_PASSWORD, "password2": OWN_PASSWORD}
        entered = client.post(str(entered.url), data={"csrfmiddlewaretoken": client.cookies["csrftoken"], **chosen})
        assert entered.status_code == 200, entered.text
        assert entered.url.path.startswith("/p/"), entered.url
        return client

    def manage(self, *arguments: str) -> str:
        """What the management command printed."""
        done = subprocess.run(
            (*MANAGE, *arguments), env=dict(self.environment), check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def pid_of(self, name: str) -> int:
        return int(json.loads((self.data / "processes.json").read_text())[name][0])

    def kill(self, name: str) -> int:
        """The id of the process of that name, which got kill -9."""
        pid = self.pid_of(name)
        os.kill(pid, signal.SIGKILL)
        return pid

    def wait_until(self, holds: Callable[[], bool], *, within_s: float = SETTLES_WITHIN_S) -> None:
        """Returns as soon as `holds`; fails with the desk's own words where it does not in time."""
        deadline = time.monotonic() + within_s
        while not holds():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def get(self, path: str, **query: Any) -> Any:
        """What REST answers, which must be a 200."""
        # An empty mapping would cut the query off a link to the next page.
        answer = self.api.get(path, params=query or None)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any, *, status: int = 200) -> Any:
        """What REST answers, which must have this status."""
        answer = self.api.post(path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def decide(self, path: str, body: Any, *, status: int = 200) -> Any:
        """As `post`, by another key than the one that hands in: nobody decides on their own work."""
        answer = self.reviewing_api.post(path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def all_of(self, path: str, **query: Any) -> list[Any]:
        """Every row of a list, page after page."""
        rows: list[Any] = []
        answer = self.get(path, **query)
        while True:
            rows += answer["results"]
            if not answer["next"]:
                return rows
            answer = self.get(answer["next"])

    def hand_in(self, **task: Any) -> str:
        """The id of the first run of a new task."""
        return str(self.post("tasks", task, status=201)["run"]["id"])

    def settled(self, run_id: str) -> Any:
        """The run once it has ended or waits for somebody, whatever happens to the web server meanwhile."""
        deadline = time.monotonic() + SETTLES_WITHIN_S
        while time.monotonic() < deadline:
            with suppress(httpx.TransportError):
                run = self.get(f"runs/{run_id}", wait=10)
                if run["state"] in {"finished", "waiting_review"}:
                    return run
            time.sleep(0.05)
        raise AssertionError(f"run {run_id} did not settle: {self.log.read_text()}")


@contextmanager
def running_desk(data: Path, environment: Mapping[str, str]) -> Iterator[Desk]:
    """A desk on a free port with its data in `data`, stopped at the end, and killed where it does not stop."""
    inherited = {name: value for name, value in os.environ.items() if name not in OF_THE_TEST_SESSION}
    # One of each unless a test says otherwise: a second takes seconds to start, of every desk.
    alone = {"WEB_PROCESSES": "1", "WORKER_PROCESSES": "1"}
    own = {"REFLECTION_DATA_DIR": str(data), "PORT": str(free_port()), **alone}
    data.mkdir(parents=True, exist_ok=True)
    log = data / "log"
    with log.open("wb") as output:
        started = inherited | own | dict(environment)
        process = subprocess.Popen((*MANAGE, "up"), stdout=output, stderr=output, env=started)
    desk = Desk(process=process, environment=started, log=log)
    try:
        desk.wait_until(lambda: "is running at" in log.read_text(), within_s=STARTS_WITHIN_S)
        with closing(desk.api), closing(desk.browser):
            yield desk
    finally:
        # Made only for tests that need them: a key takes seconds to make.
        for name in {"tools_api", "reviewing_api"} & vars(desk).keys():
            getattr(desk, name).close()
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def web_answers(desk: Desk) -> bool:
    return answers(desk.host)
