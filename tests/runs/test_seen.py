"""Who was told of what: noted in one order, so that nobody waits for each other."""

import threading
import time

import psycopg
import pytest
from django.db import connection

from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run
from reflection_app.runs.seen import mark_seen
from tests import given
from tests.pace import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)


def test_runs_are_locked_in_one_order_whatever_order_they_are_told_in() -> None:
    project = given.project()
    run_ids = sorted(given.waiting_review(project).run_id for _ in range(4))
    Review.objects.update(state="decided", decided_seq=1)
    Run.objects.update(told_seq=0)
    marked: list[int] = []

    def mark() -> None:
        try:
            marked.append(mark_seen(project, reversed(run_ids)))
        finally:
            connection.close()

    with (
        psycopg.connect(connection.connection.info.dsn) as first,
        psycopg.connect(connection.connection.info.dsn) as rest,
    ):
        first.execute("SELECT FROM reflection_app_run WHERE id = %s FOR UPDATE", run_ids[:1])
        marking = threading.Thread(target=mark)
        marking.start()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        deadline = time.monotonic() + PATIENCE_S
        while rest.execute(waits).fetchone() == (0,) and time.monotonic() < deadline:
            time.sleep(0.02)
        # It waits for the first of them, and has none of the others.
        free = rest.execute("SELECT FROM reflection_app_run WHERE id = ANY(%s) FOR UPDATE SKIP LOCKED", [run_ids[1:]])
        assert len(free.fetchall()) == 3
        rest.rollback()
    marking.join(PATIENCE_S)
    assert marked == [4]
