"""The example of the Python client, run as its readers run it: against a whole desk."""

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

from tests.end_to_end.desk import PROJECT, Desk

CLIENT = Path(settings.BASE_DIR) / "client"
SCOPES = ("tasks:write", "runs:read", "notebook:read", "notebook:write")


def test_the_example_pipeline_repairs_its_work_and_proposes_a_lesson(desk: Desk) -> None:
    key = desk.manage("create_api_key", "example", "--project", PROJECT, "--scopes", *SCOPES)
    own = {"DESK_URL": f"http://{desk.host}", "DESK_KEY": key, "PYTHONPATH": str(CLIENT / "src")}
    command = (sys.executable, str(CLIENT / "examples" / "pipeline.py"))
    done = subprocess.run(
        command, env={"PATH": os.environ["PATH"], **own}, check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "came back:" in done.stdout
    assert "succeeded after 2 attempts; kept is attempt 2" in done.stdout
    assert "lesson proposed" in done.stdout


def test_a_key_that_does_not_work_is_told_in_the_desks_words(desk: Desk) -> None:
    own = {"DESK_URL": f"http://{desk.host}", "DESK_KEY": "rd_wrong", "PYTHONPATH": str(CLIENT / "src")}
    command = (sys.executable, str(CLIENT / "examples" / "pipeline.py"))
    done = subprocess.run(
        command, env={"PATH": os.environ["PATH"], **own}, check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert "401: This key is unknown, revoked or expired." in done.stderr
