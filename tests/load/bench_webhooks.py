"""Prints how many messages a second one worker sends to one receiver on loopback, and what each costs.

.venv/bin/python -m tests.load.bench_webhooks [MESSAGES]
"""

import multiprocessing
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection

from tests.load.engines import django_on_own_engines
from tests.load.machine import describe_machine

GOAL_PER_S = 200


class Patient(ThreadingHTTPServer):
    # The library's own 5 are fewer than connect at once: the kernel then resets some of them.
    request_queue_size = 128


class Accepting(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else each answer waits 40 ms for an acknowledgement.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response_only(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


def receive(told: Connection) -> None:
    server = Patient(("127.0.0.1", 0), Accepting)
    told.send(server.server_port)
    server.serve_forever()


def main() -> None:
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    heard, told = multiprocessing.Pipe(duplex=False)
    receiver = multiprocessing.get_context("spawn").Process(target=receive, args=(told,), daemon=True)
    receiver.start()
    with django_on_own_engines({"OUTGOING_ALLOWED_NETWORKS": "127.0.0.0/8"}):
        measure(messages, port=heard.recv())
    receiver.terminate()


def measure(messages: int, *, port: int) -> None:
    from django.db import connection

    from reflection_app.runs.events import EventType
    from reflection_app.teams.webhook_sending import send_due
    from tests.factories import make_project, submit
    from tests.teams.webhooks import make_webhook

    run = submit(make_project())
    webhook, _secret = make_webhook(run.project, f"http://127.0.0.1:{port}/", [EventType.STEP_FINISHED])
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO reflection_app_event (id, project_id, run_id, seq, type, payload, created_at) "
            "SELECT gen_random_uuid(), %s, %s, 10 + n, 'step.finished', '{}', now() FROM generate_series(1, %s) n",
            [run.project_id, run.pk, messages],
        )
    cpu, began, arrived = time.process_time(), time.perf_counter(), 0
    while arrived < messages:
        arrived += (some := send_due(webhook.pk))
        assert some, f"only {arrived} of {messages} arrived"
    took_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    print(describe_machine())
    print(
        f"{arrived} messages in {took_s:.1f} s: {arrived / took_s:.0f} a second, "
        f"{cpu_s / arrived * 1000:.1f} ms of CPU each"
    )
    met = "met" if arrived / took_s >= GOAL_PER_S else "missed"
    print(f"goal: at least {GOAL_PER_S} a second: {met}")


if __name__ == "__main__":
    main()
