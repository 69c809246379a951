"""Prints how long an event takes from its row to the open page of its run, in headless Chromium.

Actor and critic work on one run after the other, three attempts each; the page is opened before a run begins. Timed is
from `created_at` of the events of steps, which the worker sets before it commits, to the change of the page's timeline.

.venv/bin/python -m tests.load.bench_live [RUNS] [MODEL_SECONDS]
"""

import os
import statistics
import sys
import tempfile
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import django

from tests.load.machine import describe_machine
from tests.load.model_server import model_server

GOAL_P95_MS = 150
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
# When each step was first in the timeline, and when first in each state, by the clock that the worker reads too.
WATCH = """
window.firstSeen = {};
const look = () => {
  const now = performance.timeOrigin + performance.now();
  for (const step of document.querySelectorAll("#run-steps > li")) {
    for (const sign of [step.id, ...[...step.classList].map((name) => `${step.id} ${name}`)]) {
      window.firstSeen[sign] ??= now;
    }
  }
};
new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true });
"""


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    model_s = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
    django.setup()
    with model_server(delay_s=model_s) as url, tempfile.TemporaryDirectory(prefix="desk-load-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        delays = measure(runs, url=url, data=Path(folder) / "data")
    report(delays, runs=runs, model_s=model_s)


def measure(runs: int, *, url: str, data: Path) -> dict[str, list[float]]:
    from playwright.sync_api import sync_playwright

    from tests.end_to_end.desk import running_desk

    provider = {"LLM_MODEL": "openai/bench", "OPENAI_API_BASE": url, "OPENAI_API_KEY": "none"}
    delays: dict[str, list[float]] = {"step.started": [], "step.finished": []}
    with running_desk(data, provider) as desk, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox"])
        context = chromium.new_context()
        cookies = [(cookie.name, cookie.value or "") for cookie in desk.browser.cookies.jar]
        context.add_cookies([{"name": name, "value": value, "url": f"http://{desk.host}"} for name, value in cookies])
        context.add_init_script(WATCH)
        page = context.new_page()
        for number in range(runs + 1):
            seen, events = one_run(desk, page)
            if number:  # the first run also loads litellm, templates and the browser's caches
                for name, found in delays.items():
                    found.extend(delays_ms([event for event in events if event["type"] == name], seen))
        chromium.close()
    return delays


def one_run(desk: Any, page: Any) -> tuple[dict[str, float], list[Any]]:
    """What the page showed when, and the events of the run that it showed."""
    from tests.end_to_end.desk import PROJECT

    task = {"objective": "Write about the sea.", "mode": "actor_critic", "limits": {"time_budget_s": 600}}
    run_id = desk.hand_in(**task)
    page.goto(f"http://{desk.host}/p/{PROJECT}/runs/{run_id}/")
    desk.settled(run_id)
    page.wait_for_timeout(1500)
    opened = page.evaluate("performance.timeOrigin + performance.getEntriesByType('navigation')[0].loadEventEnd")
    events = desk.all_of(f"runs/{run_id}/events")
    # What was there when the page came, or while its socket was being opened, says nothing about the socket.
    return page.evaluate("window.firstSeen"), [event for event in events if unix_ms(event) > opened + 500]


def delays_ms(events: list[Any], seen: dict[str, float]) -> list[float]:
    delays = []
    for event in events:
        place = f"step-{event['payload']['step']}"
        sign = f"{place} step-done" if event["type"] == "step.finished" else place
        delays.append(seen[sign] - unix_ms(event))
    return delays


def unix_ms(event: Any) -> float:
    return datetime.fromisoformat(event["created_at"]).timestamp() * 1000


def report(delays: dict[str, list[float]], *, runs: int, model_s: float) -> None:
    print(describe_machine())
    print(f"{runs} runs, a model that takes {model_s:g} s a call")
    for name, taken in (delays | {"all": [*chain(*delays.values())]}).items():
        p50, p95 = statistics.median(taken), statistics.quantiles(taken, n=20)[-1]
        print(f"{name:14} {len(taken):4} events: p50 {p50:5.0f} ms, p95 {p95:5.0f} ms, most {max(taken):5.0f} ms")
    print(f"goal: p95 at most {GOAL_P95_MS} ms; measured {p95:.0f} ms: {'met' if p95 <= GOAL_P95_MS else 'missed'}")


if __name__ == "__main__":
    main()
