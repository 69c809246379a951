"""What a run keeps when it ends is told by the same rule as inside of its loop, requirements included."""

import json

import pytest

from reflection_app.runs.advance import advance
from tests.factories import make_project
from tests.runs.critiques import critique
from tests.runs.scripts import scripted_run

pytestmark = pytest.mark.django_db(transaction=True)
FIVE = {"counts": [{"path": "items", "min": 5}]}
REFLECTED = json.dumps({"surface_issue": "too few", "root_cause": "haste"})
PLANNED = json.dumps({"repair_steps": [], "remediation": "add some", "hint": "count"})


def items(count: int) -> str:
    return json.dumps({"items": list(range(count))})


def test_what_meets_the_requirements_is_kept_before_what_the_critic_liked_better() -> None:
    answers = {
        "attempt-1/answer": items(2),
        "attempt-1/critique": critique(90, approved=True),
        "attempt-1/reflect": REFLECTED,
        "attempt-1/plan": PLANNED,
        "attempt-1/repair-1/work": "more",
        "attempt-2/answer": items(6),
        "attempt-2/critique": critique(40),
    }
    project = make_project(review_policy={"audit_share": 0})
    run = scripted_run(answers, project=project, requirements=FIVE, limits={"max_iterations": 2})
    advance(run.pk)
    run.refresh_from_db()

    assert (run.outcome, run.attempts_made) == ("over_corrected", 2), run.error
    assert run.best_attempt is not None
    assert run.best_attempt.number == 2
