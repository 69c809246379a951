"""A browser, a web server and a worker, all of them real, on the session's test database."""

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from reflection_app.config.up.preconditions import free_port
from tests.pace import PATIENCE_S

# Debian's headless shell takes three quarters of the time of its whole browser, which has an interface to draw as well.
FOUND = (path for name in ("chromium-headless-shell", "chromium") if (path := shutil.which(name)))
CHROMIUM = Path(os.environ.get("CHROMIUM") or next(FOUND, "/usr/bin/chromium"))
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# A machine that runs the other tests beside these is slow; what does not come at all is found out just the same.
expect.set_options(timeout=PATIENCE_S * 400)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


# Not for the session: while it lives, its event loop occupies the thread, and no test of another folder could run one.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        told = f"THE BROWSER TESTS DID NOT RUN: there is no Chromium at {CHROMIUM} (CHROMIUM names another)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(told)
    with sync_playwright() as playwright:
        # Playwright's own loop runs in this thread, while the tests ask the database as any sync code does.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@dataclass
class Process:
    """A part of the desk in a process of its own, on the test database."""

    arguments: tuple[str, ...]
    log: Path
    running: subprocess.Popen[bytes] | None = field(default=None)

    def start(self) -> None:
        with self.log.open("ab") as output:
            argv = (sys.executable, "-m", *self.arguments)
            self.running = subprocess.Popen(argv, stdout=output, stderr=output, env=_environment())

    def stop(self) -> None:
        assert self.running is not None
        self.running.kill()
        self.running.wait()


def _environment() -> dict[str, str]:
    database = connection.settings_dict
    host, name, user = (quote(str(database[key]), safe="/") for key in ("HOST", "NAME", "USER"))
    address = f"postgresql://{user}:{quote(database['PASSWORD'])}@/{name}?host={host}"
    return os.environ | {"DATABASE_URL": address + (f"&port={database['PORT']}" if database["PORT"] else "")}


@dataclass
class Server(Process):
    port: int = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        super().start()
        while True:
            try:
                urllib.request.urlopen(f"{self.address}/login/").close()
                return
            except OSError:
                assert self.running is not None
                assert self.running.poll() is None, self.log.read_text()
                time.sleep(0.05)


@pytest.fixture(scope="session")
def server(django_db_setup: None, collected: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    port = free_port()
    arguments = (
        "reflection_app.config.web_server",
        "-v",
        "0",
        "-p",
        str(port),
        "reflection_app.config.asgi:application",
    )
    server = Server(arguments, tmp_path_factory.mktemp("web") / "log", port=port)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def worker(transactional_db: None, tmp_path: Path) -> Iterator[None]:
    """For one test: the others move their runs on themselves, by scripts that no other process knows."""
    arguments = ("celery", "-A", "reflection_app.config.celery", "worker", "-P", "threads", "-c", "4")
    process = Process((*arguments, "--without-gossip", "--without-mingle"), tmp_path / "log")
    process.start()
    yield
    process.stop()


@dataclass
class Visitor:
    """Somebody with a browser; what the browser complained about is kept."""

    context: BrowserContext
    page: Page
    address: str
    complaints: list[str]

    def go(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Callable[..., Visitor]]:
    """Opens a browser for a user, logged in. Fails the test where a page broke the CSP or a script failed."""
    visitors: list[Visitor] = []

    def open_for(user: User | None, *, scheme: str = "light") -> Visitor:
        context = browser.new_context(color_scheme="dark" if scheme == "dark" else "light")
        context.set_default_timeout(PATIENCE_S * 400)
        if user is not None:
            client = Client()
            client.force_login(user)
            name = settings.SESSION_COOKIE_NAME
            context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": server.address}])
        complaints: list[str] = []
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.extend(_serious(message)))
        visitors.append(Visitor(context, page, server.address, complaints))
        return visitors[-1]

    yield open_for
    for visitor in visitors:
        visitor.context.close()
        assert visitor.complaints == []


# What the browser, and htmx with the browser's own event, say where a test takes the server away or is refused.
EXPECTED = (
    "Failed to load resource",
    "WebSocket connection to",
    "[object Event",
    "htmx:afterRequest",
    "htmx:sendError",
    "htmx:sendAbort",
)


def _serious(message: ConsoleMessage) -> list[str]:
    return [message.text] if message.type == "error" and not message.text.startswith(EXPECTED) else []
