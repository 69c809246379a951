"""A browser and a web server, both real, on the test database of the process."""

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
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
# A machine that runs other tests at the same time is slow.
PATIENCE_MS = PATIENCE_S * 200
START_S = PATIENCE_S / 2
STOP_S = 30
expect.set_options(timeout=PATIENCE_MS)


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
class Server:
    """A web server in another process, on the test database."""

    port: int
    log: Path
    running: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Return once it answers. Fails, with what it logged, if it ends or does not answer in time."""
        arguments = ("-v", "0", "-p", str(self.port), "reflection_app.config.asgi:application")
        with self.log.open("ab") as output:
            argv = (sys.executable, "-m", "reflection_app.config.web_server", *arguments)
            self.running = subprocess.Popen(argv, stdout=output, stderr=output, env=_environment())
        deadline = time.monotonic() + START_S
        while True:
            try:
                urllib.request.urlopen(f"{self.address}/login/", timeout=START_S).close()
                return
            except OSError:
                assert self.running.poll() is None, f"The web server ended: {self.log.read_text()}"
                assert time.monotonic() < deadline, f"No answer in {START_S:.0f} s: {self.log.read_text()}"
                time.sleep(0.05)

    def stop(self) -> None:
        assert self.running is not None
        self.running.kill()
        self.running.wait(STOP_S)


def _environment() -> dict[str, str]:
    database = connection.settings_dict
    host, name, user = (quote(str(database[key]), safe="/") for key in ("HOST", "NAME", "USER"))
    address = f"postgresql://{user}:{quote(database['PASSWORD'])}@/{name}?host={host}"
    return os.environ | {"DATABASE_URL": address + (f"&port={database['PORT']}" if database["PORT"] else "")}


@pytest.fixture(scope="session")
def server(django_db_setup: None, collected: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(free_port(), tmp_path_factory.mktemp("web") / "log")
    server.start()
    yield server
    server.stop()


@dataclass
class Visitor:
    """A user with a browser, and the errors that its console showed."""

    context: BrowserContext
    page: Page
    address: str
    complaints: list[str]
    has_clock: bool

    def go(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page


@dataclass
class Contexts:
    """Browser contexts that tests use one after the other: what one has loaded, the next finds in the cache."""

    browser: Browser
    server: Server
    free: list[Visitor] = field(default_factory=list)
    taken: list[Visitor] = field(default_factory=list)

    def take(self, user: User | None, *, has_clock: bool) -> Visitor:
        if self.free and not has_clock:
            visitor = self.free.pop()
            visitor.page = visitor.context.new_page()
        else:
            visitor = self._new(has_clock=has_clock)
        self.taken.append(visitor)
        if user is not None:
            client = Client()
            client.force_login(user)
            name = settings.SESSION_COOKIE_NAME
            visitor.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": visitor.address}])
        return visitor

    def give_back(self) -> list[str]:
        """Close the pages, log out, and return the errors of all consoles."""
        complaints = []
        while self.taken:
            visitor = self.taken.pop()
            complaints += visitor.complaints
            visitor.complaints.clear()
            if visitor.has_clock:
                # Playwright does not uninstall it.
                visitor.context.close()
                continue
            for page in visitor.context.pages:
                page.close()
            visitor.context.clear_cookies()
            visitor.context.clear_permissions()
            self.free.append(visitor)
        return complaints

    def _new(self, *, has_clock: bool) -> Visitor:
        context = self.browser.new_context(reduced_motion="reduce")
        context.set_default_timeout(PATIENCE_MS)
        complaints: list[str] = []
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.on("console", lambda message: complaints.extend(_serious(message)))
        if has_clock:
            context.clock.install()
        return Visitor(context, context.new_page(), self.server.address, complaints, has_clock)


@pytest.fixture(scope="package")
def contexts(browser: Browser, server: Server) -> Contexts:
    return Contexts(browser, server)


@pytest.fixture
def visit(contexts: Contexts) -> Iterator[Callable[..., Visitor]]:
    """Open a browser for a user, logged in. Fails the test where a page broke the CSP or a script failed."""

    def open_for(user: User | None, *, scheme: Literal["light", "dark"] = "light", has_clock: bool = False) -> Visitor:
        visitor = contexts.take(user, has_clock=has_clock)
        visitor.page.emulate_media(color_scheme=scheme)
        return visitor

    yield open_for
    assert contexts.give_back() == []


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
