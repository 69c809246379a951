"""Prints how long claiming the next review takes with many waiting: in the database, and over HTTP against a desk.

Eight reviewers at a time; each has passed by the first ones of the queue, claims, thinks for a moment and claims again.
In the database that is the action itself, from eight threads; over HTTP each has a key and asks a desk that
`manage.py up` runs. Two more projects have a tenth as many each.

Then the same from a named queue of theirs, and by people who are no members and are given the rest; with the time
that the navigation takes to count the queues, and that it takes to route all of them anew.

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

from tests.load.engines import django_on_own_engines
from tests.load.machine import cpu_s, describe_machine

if TYPE_CHECKING:
    from reflection_app.core.models import Project

REVIEWERS = 8
GOAL_DATABASE_MS, GOAL_HTTP_MS, FILL_GOAL_S = 20.0, 60.0, 60
# Far less than a person takes to judge.
THINKS_S = (0.2, 0.6)
SKIPPED = 100
OTHER_PROJECTS = 2


def main() -> None:
    waiting = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    each = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    print(describe_machine())
    with tempfile.TemporaryDirectory(prefix="desk-load-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        data = Path(folder) / "data"
        # Without the desk, whose worker would look through tables that have no indexes yet.
        with django_on_own_engines({}, data=data):
            measure_in_database(waiting, each)
        measure_over_http(data, each)
    print(describe_machine())


def measure_in_database(waiting: int, each: int) -> None:
    from tests.end_to_end.desk import PROJECT
    from tests.factories import make_member, make_project
    from tests.load.review_rows import fill_reviews

    project = make_project(PROJECT)
    began, began_cpu = time.perf_counter(), cpu_s(os.getpid())
    others = {make_project(): waiting // 10 for _ in range(OTHER_PROJECTS)}
    fill_reviews({project: waiting} | others, assignee_id=make_member(project).pk)
    print(
        f"{waiting:,} reviews wait; all rows were filled in {time.perf_counter() - began:.0f} s "
        f"and {cpu_s(os.getpid()) - began_cpu:.0f} s of CPU, goal {FILL_GOAL_S} s",
        flush=True,
    )
    print(f"{REVIEWERS} reviewers, {each} claims each")
    report("in the database", in_database(project, each), goal_ms=GOAL_DATABASE_MS)
    measure_queues(project, each)


def measure_queues(project: "Project", each: int) -> None:
    from reflection_app.core.audit import Actor
    from reflection_app.core.models import Role
    from reflection_app.queues.changing import QueueInput, create_queue
    from reflection_app.queues.routing import reroute
    from reflection_app.reviews.models import Review
    from tests.queues.queues import reviewer

    began = time.perf_counter()
    rules = {"Porter": {"agent": "porter"}, "Low": {"max_score": 20}, "Rest": {"kind": "code"}}
    knows = [reviewer(project, name=f"lawyer-{number}") for number in range(REVIEWERS)]
    names = [actor.user.get_username() for actor in knows if actor.user]
    queues = [
        create_queue(project, QueueInput.model_validate({"name": name, "rule": rule, "members": names}), actor=Actor())
        for name, rule in rules.items()
    ]
    print(f"three queues made, each time all that waits routed anew: {time.perf_counter() - began:.1f} s")
    began = time.perf_counter()
    reroute(project.pk)
    print(f"routed once more, where nothing moves: {time.perf_counter() - began:.2f} s", flush=True)
    print({name: Review.objects.filter(queue=queue).count() for name, queue in zip(rules, queues, strict=True)})
    lacks = [reviewer(project) for _ in range(REVIEWERS)]
    report("from a queue", in_database(project, each, actors=knows, queue=queues[0].pk), goal_ms=GOAL_DATABASE_MS)
    report("past the queues", in_database(project, each, actors=lacks), goal_ms=GOAL_DATABASE_MS)
    measure_navigation(project, reviewer(project, role=Role.ADMIN))


def measure_navigation(project: "Project", admin: Any) -> None:
    from django.test import RequestFactory

    from reflection_app.core.models import Membership
    from reflection_app.queues.views.navigation import nav_links
    from reflection_app.web.access import place_of

    request: Any = RequestFactory().get("/")
    request.user = admin.user
    request.place = place_of(request, Membership.objects.select_related("project").get(user=admin.user))
    taken = [timed(lambda: nav_links(request)) for _ in range(20)]
    print(f"navigation with 3 queues: p50 {statistics.median(taken):.1f} ms, most {max(taken):.1f} ms")


def measure_over_http(data: Path, each: int) -> None:
    from tests.end_to_end.desk import PROJECT, running_desk

    with running_desk(data, {"LLM_MODEL": "openai/none", "OPENAI_API_KEY": "none"}) as desk:
        keys = [
            desk.manage("create_api_key", f"reviewer {number}", "--project", PROJECT, "--scopes", "reviews:write")
            for number in range(REVIEWERS)
        ]
        report("over HTTP", over_http(f"http://{desk.host}/api/v1/", keys, each), goal_ms=GOAL_HTTP_MS)


def in_database(project: "Project", each: int, *, actors: Any = None, queue: Any = None) -> list[float]:
    from django.db import connection

    from reflection_app.core.audit import Actor
    from reflection_app.reviews.claiming import claim_next
    from tests.factories import make_member
    from tests.load.review_rows import skip_oldest

    actors = actors or [Actor(user=make_member(project)) for _ in range(REVIEWERS)]
    for actor in actors:
        skip_oldest(project, actor, SKIPPED)

    def claims(number: int) -> list[float]:
        taken, chance = [], random.Random(number)
        try:
            connection.ensure_connection()
            for _ in range(each):
                time.sleep(chance.uniform(*THINKS_S))
                taken.append(timed(lambda: claim_next(project, actor=actors[number], queue=queue)))
        finally:
            connection.close()
        return taken

    began_cpu = time.process_time()
    taken = together(claims)
    print(f"CPU of this process a claim: {1_000 * (time.process_time() - began_cpu) / len(taken):.1f} ms")
    return taken


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
    main()
