"""Prints what telling whether a supplement was asked for before takes, and the table of what recurs, medians.

All supplements are of one project and one kind, the hardest case: SUPPLEMENTS of them in GROUPS groups, and fifty of
them on a run. The vectors are made up. The one vector that a new supplement needs is computed before anything is
locked, and told apart.

.venv/bin/python -m tests.load.bench_recurring [SUPPLEMENTS] [GROUPS] [ROUNDS]
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.load.engines import django_on_own_engines
from tests.load.machine import describe_machine

if TYPE_CHECKING:
    from reflection_app.repairs.models import Supplement

GOAL_MS = 100.0
DIMENSIONS, OF_A_RUN = 384, 50
GROUP_ROWS = """
INSERT INTO reflection_app_supplementgroup (id, project_id, task_kind, source, vector, created_at)
SELECT md5('group' || n)::uuid, %s, 'report', 'supplement:' || n, given.vector::halfvec,
    now() - n * interval '1 minute'
FROM unnest(%s::int[], %s::text[]) AS given(n, vector)
"""
RUNS = """
DROP TABLE IF EXISTS many;
CREATE TEMPORARY TABLE many AS SELECT number, md5('run' || number)::uuid AS run, md5('step' || number)::uuid AS step,
    md5('check' || number)::uuid AS made FROM generate_series(0, %s) AS number
"""
SUPPLEMENT_NUMBERS = """
DROP TABLE IF EXISTS wanted;
CREATE TEMPORARY TABLE wanted AS SELECT number, md5('check' || number / %s)::uuid AS made,
    md5('group' || (number * 7919) %% %s)::uuid AS of_group, (number * 7919) %% %s AS said
FROM generate_series(0, %s) AS number
"""


def main() -> None:
    supplements = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    groups = int(sys.argv[2]) if len(sys.argv) > 2 else supplements // 2
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    with django_on_own_engines({}):
        measure(supplements, groups=groups, rounds=rounds)


def measure(supplements: int, *, groups: int, rounds: int) -> None:
    from django.db import transaction

    from reflection_app.metrics.completeness_figures import recurring_supplements
    from reflection_app.repairs import issue_vectors
    from reflection_app.repairs.models import SupplementGroup
    from reflection_app.repairs.recurring import group_of

    one, directions = fill(supplements, groups=groups)
    known = one.operation_key
    print(describe_machine())
    print(f"{supplements:,} supplements of one kind in {groups:,} groups; goal {GOAL_MS:g} ms")
    chance = np.random.default_rng(11)

    def put(key: str) -> None:
        one.operation_key = key
        near = directions[chance.integers(len(directions))] + 0.02 * chance.normal(size=DIMENSIONS)
        with transaction.atomic():
            group_of(one, vectors={one.operation: near.tolist()})
            transaction.set_rollback(True)

    numbers = iter(range(10_000))
    issue_vectors.vectors_of(["warm"], within_s=60)
    vector = median(lambda: issue_vectors.vectors_of([f"Save list {next(numbers)} to a file"], within_s=60), rounds)
    print(f"one vector         median {vector:6.1f} ms, before anything is locked")
    print(f"in known words     median {median(lambda: put(known), rounds):6.1f} ms")
    print(f"in new words       median {median(lambda: put(f'unheard of {next(numbers)}'), rounds):6.1f} ms")
    table = median(lambda: recurring_supplements(one.project_id), rounds)
    print(f"what keeps recurring  median {table:6.1f} ms, {len(recurring_supplements(one.project_id))} rows")
    assert SupplementGroup.objects.count() == groups


def fill(supplements: int, *, groups: int) -> "tuple[Supplement, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]":
    """One of the supplements, and the directions of the groups."""
    from django.db import connection
    from django.utils import timezone

    from reflection_app.repairs.models import CompletenessCheck, Supplement
    from reflection_app.runs.models import Run, RunState
    from tests.load.copies import copy_row
    from tests.repairs.completeness import completeness_check, reading_project

    first = completeness_check(reading_project(), kind="report")
    Run.objects.update(state=RunState.FINISHED, outcome="succeeded")
    step = first.steps.create(
        seq=1, key="check", kind="record_completeness", state="done", request={}, started_at=timezone.now()
    )
    check = CompletenessCheck.objects.create(
        project=first.project, run=first, step=step, task_kind="report", state="incomplete"
    )
    one = Supplement.objects.create(
        project=first.project,
        completeness_check=check,
        number=1,
        task_kind="report",
        operation="Save the list to a file",
        operation_key="said 0",
    )
    chance = np.random.default_rng(7)
    # They lean to one side, as those of multilingual-e5 do.
    directions = chance.normal(size=(groups, DIMENSIONS)) * 0.3 + chance.normal(size=DIMENSIONS)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    texts = ["[" + ",".join(f"{number:.4f}" for number in row) + "]" for row in directions]
    with connection.cursor() as cursor:
        cursor.execute(GROUP_ROWS, [first.project_id, list(range(groups)), texts])
        cursor.execute(RUNS, [supplements // OF_A_RUN])
        cursor.execute(SUPPLEMENT_NUMBERS, [OF_A_RUN, groups, groups, supplements - 1])
        copy_row(first, {"id": "n.run"}, for_each="many")
        copy_row(step, {"id": "n.step", "run_id": "n.run"}, for_each="many")
        copy_row(check, {"id": "n.made", "run_id": "n.run", "step_id": "n.step"}, for_each="many")
        own = {
            "id": "md5('supplement' || n.number)::uuid",
            "completeness_check_id": "n.made",
            "group_id": "n.of_group",
            "operation": "'wording ' || n.said",
            "operation_key": "'said ' || n.said",
        }
        copy_row(one, own, for_each="wanted")
        cursor.execute("VACUUM ANALYZE reflection_app_supplementgroup, reflection_app_supplement")
        cursor.execute("VACUUM ANALYZE reflection_app_completenesscheck, reflection_app_run")
    return one, directions


def median(work: Callable[[], object], rounds: int) -> float:
    """In milliseconds, after one time that does not count."""
    work()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(1_000 * (time.perf_counter() - began))
    return statistics.median(times)


if __name__ == "__main__":
    main()
