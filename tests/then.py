"""Then: what a test expects, with a message that says what came instead."""

from reflection_app.runs.models import Run
from tests.api.caller import Answer


def run_ended(run: Run, outcome: str) -> None:
    """Expect that the run ended with `outcome`."""
    run.refresh_from_db()
    assert run.outcome == outcome, (run.state, run.outcome, run.error)


def run_succeeded(run: Run) -> None:
    run_ended(run, "succeeded")


def refused(answer: Answer, status: int, *fields: str) -> None:
    """Expect problem+json of `status` with every member of the form, naming `fields` where any are given."""
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(answer.body) == {"type", "title", "status", "detail", "errors"}
    assert answer.body["status"] == status
    assert answer.body["title"]
    assert answer.body["detail"]
    if fields:
        assert named_fields(answer) == list(fields)


def named_fields(answer: Answer) -> list[str]:
    """Return the fields that a problem names."""
    return [error["field"] for error in answer.body["errors"]]
