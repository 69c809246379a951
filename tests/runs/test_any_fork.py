"""Whatever run and whatever step: a fork without edits ends like its parent when the models answer the same."""

import json
import re
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.runs.advance import advance
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Run, RunState, Step
from tests import given
from tests.runs.critiques import critique
from tests.runs.forking import kept

pytestmark = pytest.mark.django_db(transaction=True)

NOBODY_IS_ASKED = {"audit_share": 0, "rules": [], "unsettled_waits": False}
critiques = st.one_of(
    st.builds(critique, st.integers(0, 100), approved=st.booleans(), confidence=st.floats(0, 1)),
    st.text(max_size=20),
)
answered = st.fixed_dictionaries(
    {
        f"attempt-{number}/{part}": texts
        for number in (1, 2, 3)
        for part, texts in (
            ("answer", st.text(max_size=30)),
            ("critique", critiques),
            ("critique/again-1", critiques),
            ("critique/again-2", critiques),
            ("self-evaluation", st.just('{"is_satisfactory": false, "issues": ["x"], "confidence": 0.5}')),
            ("reflection", st.just('{"issues": ["x"], "root_causes": ["y"], "suggestions": ["z"]}')),
        )
    }
)


@pytest.mark.exhaustive("against another computation, over many drawn cases")
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@hypothesis.given(
    data=st.data(), answers=answered, mode=st.sampled_from(["actor_critic", "reflexion"]), most=st.integers(1, 3)
)
def test_a_fork_without_edits_ends_like_its_parent(
    db: None, data: st.DataObject, answers: dict[str, str], mode: str, most: int
) -> None:
    project: Project = given.project(review_policy=NOBODY_IS_ASKED)
    parent: Run = given.scripted_run(answers, project=project, mode=mode, limits={"max_iterations": most})
    steps = _steps_of(_advanced(parent))
    assert parent.state == RunState.FINISHED

    child = fork_run(parent, ForkInput(from_step=data.draw(st.integers(1, len(steps) + 1))), actor=Actor())
    assert kept(_advanced(child)) == kept(parent)
    assert _steps_of(child) == steps
    assert child.error == parent.error


def _advanced(run: Run) -> Run:
    advance(run.pk)
    run.refresh_from_db()
    return run


# Their results hold chance and time.
NAMED = frozenset({"issue_ticket", "record_report"})
TICKET = re.compile(r"rewind_\w+")


def _steps_of(run: Run) -> list[Any]:
    """The journal but for the names of tickets and reports."""
    rows = Step.objects.filter(run=run).values("seq", "key", "kind", "state", "result", "error")
    return [
        row | {"result": row["kind"] if row["kind"] in NAMED else TICKET.sub("", json.dumps(row["result"]))}
        for row in rows
    ]
