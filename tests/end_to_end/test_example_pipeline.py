"""The example of the Python client, run as its readers run it: against a whole desk."""

import os
import subprocess
import sys
import threading
from pathlib import Path

from django.conf import settings
from reflection_desk import Desk as Client
from reflection_desk import DeskUnreachable

from tests.end_to_end.desk import PROJECT, Desk
from tests.pace import PATIENCE_S

CLIENT = Path(settings.BASE_DIR) / "client"
SCOPES = "tasks:write,runs:read,notebook:read,notebook:write"


def test_the_example_pipeline_repairs_its_work_and_proposes_a_lesson(desk: Desk) -> None:
    key = desk.manage("create_api_key", "example", "--project", PROJECT, "--scopes", SCOPES)
    own = {"DESK_URL": f"http://{desk.host}", "DESK_KEY": key, "PYTHONPATH": str(CLIENT / "src")}
    command = (sys.executable, str(CLIENT / "examples" / "pipeline.py"))
    done = subprocess.run(
        command,
        env={"PATH": os.environ["PATH"], **own},
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sent back:" in done.stdout
    assert "succeeded after 2 attempts; best is attempt 2" in done.stdout
    assert "lesson proposed" in done.stdout


def test_whoever_waits_for_a_run_outlives_the_web_server(desk: Desk) -> None:
    key = desk.manage("create_api_key", "waiting", "--project", PROJECT, "--scopes", SCOPES)
    seen: list[int] = []
    with Client(f"http://{desk.host}", key) as client:
        task = client.submit_task("Say hello.", execution="external", kind="creative_writing")
        assert task.run is not None
        run_id = task.run.id
        waiting = threading.Thread(target=lambda: seen.extend(event.seq for event in client.events(run_id)))
        waiting.start()
        desk.wait_until(lambda: len(seen) >= 2)
        desk.kill("web")

        def is_cancelled() -> bool:
            try:
                return client.cancel_run(run_id, idempotency_key="once").is_finished
            except DeskUnreachable:
                return False

        desk.wait_until(is_cancelled)
        waiting.join(PATIENCE_S)
        assert client.get_run(run_id).outcome == "cancelled"
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) == 3
