"""Prints how long a reviewer waits for the next item after the key that decides, in headless Chromium against a desk.

One decision after another is made by keys alone, as fast as the page has fetched ahead what comes next. Two times are
taken from the key: until the next item is painted and can be read, and until it is held and takes keys. Each decision
lets a run go on, which the worker does meanwhile.

.venv/bin/python -m tests.load.bench_next_item [DECISIONS]
"""

import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

from tests.load.machine import describe_machine

if TYPE_CHECKING:
    from reflection_app.reviews.models import Review

GOAL_MS = 150
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
READY = "body[data-keys=ready][data-ahead]"
# A person reads for far longer.
THINKS_MS = 500
WATCH = """() => {
  const before = document.body.dataset.painted;
  window.took = new Promise((done) => {
    const took = {};
    let pressed = 0;
    document.addEventListener("keydown", (event) => {
      if (event.key === "Enter") pressed ||= event.timeStamp;
    }, true);
    new MutationObserver((_, observer) => {
      const { read, painted } = document.body.dataset;
      if (read) took.read ??= performance.now() - pressed;
      if (painted === before) return;
      observer.disconnect();
      took.held = performance.now() - pressed;
      took.read ??= took.held;
      done(took);
    }).observe(document.body, { attributes: true });
  });
}"""


def main() -> None:
    decisions = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory(prefix="desk-load-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        # Before anything reads the settings: this process works on the desk's own database.
        os.environ["REFLECTION_DATA_DIR"] = str(Path(folder) / "data")
        measure(Path(folder) / "data", decisions=decisions)


def measure(data: Path, *, decisions: int) -> None:
    from playwright.sync_api import sync_playwright

    from tests.end_to_end.desk import PROJECT, running_desk

    print(describe_machine())
    with running_desk(data, {"LLM_MODEL": "openai/none", "OPENAI_API_KEY": "none"}) as desk:
        django.setup()
        first = first_of(decisions + 3)
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox"])
            context = chromium.new_context()
            cookies = [(cookie.name, cookie.value or "") for cookie in desk.browser.cookies.jar]
            address = f"http://{desk.host}"
            context.add_cookies([{"name": name, "value": value, "url": address} for name, value in cookies])
            page = context.new_page()
            page.goto(f"{address}/p/{PROJECT}/reviews/{first.pk}/")
            one_decision(page)  # the first also loads templates and fills the browser's caches
            took = [one_decision(page) for _ in range(decisions)]
            chromium.close()
    report("can be read", [one["read"] for one in took])
    report("takes keys", [one["held"] for one in took])
    print(describe_machine())


def first_of(many: int) -> "Review":
    """The first of so many reviews of verdicts of which the critic was not sure, held by the desk's admin."""
    from django.contrib.auth.models import User

    from reflection_app.core.audit import Actor
    from reflection_app.core.models import Project
    from reflection_app.loops.attempt_effects import ReviewReason
    from reflection_app.reviews.claiming import claim_next
    from reflection_app.reviews.models import Review
    from reflection_app.runs.models import Verdict
    from tests.reviews.waiting_rows import waiting_rows

    project = Project.objects.get(slug="demo")
    Review.objects.filter(project=project).delete()
    waiting = waiting_rows(project, many)
    Verdict.objects.filter(reviews__in=waiting).update(verdict="PASS", score=90)
    Review.objects.filter(project=project).update(reason=ReviewReason.LOW_CONFIDENCE)
    held = claim_next(project, actor=Actor(user=User.objects.get(is_superuser=True)))
    assert held is not None
    return held


def one_decision(page: Any) -> dict[str, float]:
    page.wait_for_selector(READY)
    page.wait_for_timeout(THINKS_MS)
    page.evaluate(WATCH)
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    took: dict[str, float] = page.evaluate("window.took")
    return took


def report(what: str, taken: list[float]) -> None:
    p50, p95 = statistics.median(taken), statistics.quantiles(taken, n=20)[-1]
    met = "met" if p95 <= GOAL_MS else "missed"
    print(
        f"the next item {what:12} {len(taken):3} decisions: p50 {p50:5.0f} ms, p95 {p95:5.0f} ms; goal {GOAL_MS} {met}"
    )


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
    main()
