"""Prints how long claiming the next review takes with many waiting: in the database, and over HTTP against a desk.

Eight reviewers at a time; each claims, thinks for a moment and claims again. In the database that is the action itself,
from eight threads; over HTTP each has a key and asks a desk that `manage.py up` runs.

.venv/bin/python -m tests.load.bench_claim [WAITING] [CLAIMS_EACH]
"""

import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.load.machine import describe_machine

if TYPE_CHECKING:
    from reflection_app.models import Project

REVIEWERS = 8
GOAL_DATABASE_MS, GOAL_HTTP_MS = 20.0, 60.0
# Far less than a person takes to judge.
THINKS_S = (0.2, 0.6)
AT_ONCE = 5_000


def main() -> None:
    waiting = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    each = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    with tempfile.TemporaryDirectory(prefix="desk-load-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        # Before anything reads the settings: this process works on the desk's own database.
        os.environ["REFLECTION_DATA_DIR"] = str(Path(folder) / "data")
        measure(Path(folder) / "data", waiting=waiting, each=each)


def measure(data: Path, *, waiting: int, each: int) -> None:
    from tests.end_to_end.desk import running_desk

    print(describe_machine())
    with running_desk(data, {"LLM_MODEL": "openai/none", "OPENAI_API_KEY": "none"}) as desk:
        import django

        django.setup()
        from reflection_app.models import Project

        project = Project.objects.get(slug="demo")
        fill(project, waiting)
        print(f"{waiting:,} reviews wait, {REVIEWERS} reviewers, {each} claims each")
        report("in the database", in_database(project, each), goal_ms=GOAL_DATABASE_MS)
        keys = [desk.manage("create_api_key", f"reviewer {number}", "--project", "demo") for number in range(REVIEWERS)]
        report("over HTTP", over_http(f"http://{desk.host}/api/v1/", keys, each), goal_ms=GOAL_HTTP_MS)
        print(describe_machine())


def fill(project: "Project", waiting: int) -> None:
    """Runs that wait, each with one attempt that a critic rejected; a tenth of the reviews are audits."""
    from django.db import connection

    from tests.waiting_rows import waiting_rows

    for start in range(0, waiting, AT_ONCE):
        waiting_rows(project, min(AT_ONCE, waiting - start), audits_every=10)
    with connection.cursor() as cursor:
        for table in ("review", "run", "task", "verdict", "attempt", "step"):
            cursor.execute(f"VACUUM ANALYZE reflection_app_{table}")


def in_database(project: "Project", each: int) -> list[float]:
    from django.db import connection

    from reflection_app.actions.claim_review import claim_next
    from reflection_app.models import Actor
    from tests.factories import make_member

    actors = [Actor(user=make_member(project)) for _ in range(REVIEWERS)]

    def claims(number: int) -> list[float]:
        taken, chance = [], random.Random(number)
        try:
            for _ in range(each):
                time.sleep(chance.uniform(*THINKS_S))
                taken.append(timed(lambda: claim_next(project, actor=actors[number])))
        finally:
            connection.close()
        return taken

    return together(claims)


def over_http(base: str, keys: list[str], each: int) -> list[float]:
    import httpx

    def claims(number: int) -> list[float]:
        taken, chance = [], random.Random(number)
        headers = {"Authorization": f"Bearer {keys[number]}"}
        with httpx.Client(base_url=base, headers=headers, timeout=30) as client:
            client.get("reviews", params={"limit": 1})  # the connection is there
            for _ in range(each):
                time.sleep(chance.uniform(*THINKS_S))
                taken.append(timed(lambda: client.post("reviews/claim", json={}).raise_for_status()))
        return taken

    return together(claims)


def timed(work: Callable[[], Any]) -> float:
    """Milliseconds; something must have been claimed."""
    start = time.perf_counter()
    claimed = work()
    taken = (time.perf_counter() - start) * 1_000
    assert claimed is not None
    assert getattr(claimed, "status_code", 200) == 200
    return taken


def together(claims: Callable[[int], list[float]]) -> list[float]:
    taken: list[float] = []

    def run(number: int) -> None:
        taken.extend(claims(number))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(REVIEWERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def report(where: str, taken: list[float], *, goal_ms: float) -> None:
    p50, p95 = statistics.median(taken), statistics.quantiles(taken, n=20)[-1]
    met = "met" if p95 <= goal_ms else "missed"
    print(
        f"claim next {where:16} {len(taken):5} claims: p50 {p50:6.1f} ms, p95 {p95:6.1f} ms; goal p95 {goal_ms:g} {met}"
    )


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
    main()
