"""Which types of failure a run had: each counts once a run, so that a bar is as long as its list of runs.

`class:` is the class of an error report, as a person corrected it where one did; `tool:` the type of a tool's failure;
`issue:` the category of an issue, and `test:` why a test failed, of an attempt that the strongest referee did not pass.
"""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection

from reflection_app.repairs.models import Report, ToolFailure
from reflection_app.runs.models import Attempt, Verdict

# Of the verdicts on an attempt the strongest, of two equally strong the later one.
QUERY = """
WITH decisive AS (
  SELECT DISTINCT ON (verdict.attempt_id) attempt.run_id, verdict.verdict, verdict.issues, verdict.tests
  FROM {verdicts} verdict JOIN {attempts} attempt ON attempt.id = verdict.attempt_id
  WHERE attempt.run_id = ANY(%(runs)s)
  ORDER BY verdict.attempt_id, verdict.referee DESC, verdict.created_at DESC, verdict.id DESC
), failed AS (SELECT * FROM decisive WHERE verdict <> 'PASS')
SELECT run_id, 'issue:' || (jsonb_path_query(issues, '$[*].category') #>> '{{}}') FROM failed
UNION SELECT run_id, 'test:' || (jsonb_path_query(tests, '$.results[*] ? (@.passed == false).reason') #>> '{{}}')
  FROM failed WHERE tests IS NOT NULL
UNION SELECT run_id, 'class:' || coalesce(corrected_type, error_type) FROM {reports} WHERE run_id = ANY(%(runs)s)
UNION SELECT run_id, 'tool:' || error_type FROM {failures} WHERE run_id = ANY(%(runs)s) AND error_type <> ''
ORDER BY 1, 2
"""


def failures_of(run_ids: Sequence[UUID]) -> dict[UUID, tuple[str, ...]]:
    """The types by run, in order; runs without a failure are left out."""
    tables = {"verdicts": Verdict, "attempts": Attempt, "reports": Report, "failures": ToolFailure}
    names = {name: connection.ops.quote_name(model._meta.db_table) for name, model in tables.items()}  # noqa: SLF001
    found: dict[UUID, tuple[str, ...]] = {}
    with connection.cursor() as cursor:
        cursor.execute(QUERY.format(**names), {"runs": list(run_ids)})
        for run_id, name in cursor.fetchall():
            if name is not None:
                found[run_id] = (*found.get(run_id, ()), name[:60])
    return found
