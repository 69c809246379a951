from django.db import migrations

# What checks, diagnoses or looks at other work was counted as a run that solves a task, and is no more: of a run that
# is gone, too. Of completeness checks what they found stays.
KEYS = "project_id, is_total, day, is_scripted, agent, mode, model, kind"
GROUPED = """project_id, GROUPING(agent) = 1, finished_on, is_scripted,
  coalesce(agent, ''), coalesce(mode, ''), coalesce(model, ''), coalesce(kind, '')"""
SETS = """GROUPING SETS (
  (project_id, finished_on, is_scripted),
  (project_id, finished_on, is_scripted, agent, mode, model, kind)
)"""
OF_RUNS = (
    "runs", "succeeded", "enabled", "enabled_first_succeeded", "enabled_first_failed", "enabled_succeeded", "improved",
    "told", "first_succeeded", "attempted", "attempts", "attempted_succeeded", "attempts_to_success", "cycle_ms",
    "reflections", "effective", "reflection_tokens", "scored_twice", "over_corrected", "passed_lowered",
)
OF_CHECKS = (
    "checked", "checks_complete", "checks_incomplete", "supplements", "exec_used", "exec_attempted", "exec_succeeded",
    "checks_supplemented",
)
TOOK = (
    "prompt_tokens", "completion_tokens", "cost_usd", "llm_calls", "unpriced_calls",
    "counted_cost_usd", "counted_unpriced_calls",
)
SUMMED = (*OF_RUNS, *OF_CHECKS, *TOOK)
COUNT_ANEW = f"""
UPDATE reflection_app_runfigure
SET is_counted = false, failures = '{{}}', referee = '', latency = '', {", ".join(f"{name} = 0" for name in OF_RUNS)}
WHERE is_counted AND mode IN ('inline_reflection', 'tool_diagnosis', 'completeness_check');

UPDATE reflection_app_runfigure SET counted_cost_usd = cost_usd, counted_unpriced_calls = unpriced_calls
WHERE is_counted;

-- Whether their first attempt failed is read from their verdicts, by the worker.
INSERT INTO reflection_app_figuredue (run_id)
SELECT run_id FROM reflection_app_runfigure WHERE is_counted AND outcome = 'unverified' AND run_id IS NOT NULL;

DELETE FROM reflection_app_dayfigure;
INSERT INTO reflection_app_dayfigure ({KEYS}, {", ".join(SUMMED)})
SELECT {GROUPED}, {", ".join(f"sum({name})" for name in SUMMED)} FROM reflection_app_runfigure GROUP BY {SETS};

DELETE FROM reflection_app_daycount;
INSERT INTO reflection_app_daycount ({KEYS}, family, key, count)
SELECT {GROUPED}, bar.family, bar.key, count(*)
FROM reflection_app_runfigure fact CROSS JOIN LATERAL (
  SELECT 'modes' AS family, fact.mode AS key
  UNION ALL SELECT 'agents', fact.agent
  UNION ALL SELECT 'models', fact.model
  UNION ALL SELECT 'kinds', fact.kind
  UNION ALL SELECT 'outcomes', fact.outcome
  UNION ALL SELECT 'referees', fact.referee WHERE fact.referee <> ''
  UNION ALL SELECT 'latency', fact.latency WHERE fact.latency <> ''
  UNION ALL SELECT 'attempts_to_success', fact.attempts_to_success::text WHERE fact.attempts_to_success > 0
  UNION ALL SELECT 'failures', unnest(fact.failures)
) bar
WHERE is_counted
GROUP BY bar.family, bar.key, {SETS};
"""


class Migration(migrations.Migration):

    dependencies = [
        ('reflection_app', '0014_judged_by_meaning'),
    ]

    operations = [
        migrations.RunSQL(COUNT_ANEW, migrations.RunSQL.noop),
    ]
