"""A run's steps as its context graph needs them: a few facts of each, picked out by the database.

Requests and answers may be megabytes and the graph is drawn often, so they never leave the database for it.
"""

from typing import Any

from django.db.models import Case, F, Func, IntegerField, JSONField, Value, When
from django.utils.text import Truncator

from reflection_app.loops.graph import graph_of
from reflection_app.loops.graph_words import Graph, RecordedStep
from reflection_app.loops.verdicts import Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.runs.models import Run, Step

MOST_STEPS = 2_000
LONGEST_ERROR = 400

COLUMNS = ("seq", "key", "kind", "state", "role", "error", "timed_out", "is_inherited")
# Of which kinds of step a fact is picked out: looking into the request of every model call would read all prompts.
TEXTS = {
    "verdict": ("record_verdict", "result__verdict"),
    "decided": ("ask_reviewer", "result__verdict"),
    "decision": ("ask_reviewer", "result__decision"),
    "reviewer": ("ask_reviewer", "result__reviewer"),
    "tool": ("call_tool", "request__tool"),
    "tool_error": ("call_tool", "result__error"),
    "tool_failure": ("call_tool", "result__failure"),
    "mode": ("choose_loop", "result__mode"),
    "error_class": ("record_stage", "result__output__type"),
    "completeness": ("record_completeness", "result__state"),
    "second_look": ("record_second_look", "result__state"),
    "choice": ("ask_person", "result__choice"),
    "fault": ("generate", "result__fault"),
}
FACTS = TEXTS | {
    "score": ("record_verdict", "result__score"),
    "referee": ("record_verdict", "result__referee"),
    "confidence": ("record_verdict", "result__confidence"),
    "tool_ok": ("call_tool", "result__ok"),
    "cut_off": ("keep_attempt", "request__cut_off"),
}
COUNTS = {
    "tests_total": ("run_tests", "$.results[*]"),
    "tests_failed": ("run_tests", '$.results[*] ? (@.passed == false && !(@.reason == "broken_test"))'),
    "tests_broken": ("run_tests", '$.results[*] ? (@.reason == "broken_test")'),
    "requirements_total": ("record_verdict", "$.requirements.results[*]"),
    "requirements_unmet": ("record_verdict", "$.requirements.results[*] ? (@.met == false)"),
    "plan_issues": ("record_plan", "$.issues[*]"),
}


def graph_of_run(run: Run) -> tuple[Graph, int]:
    """The run's graph and how many of its first steps were left out of it, where there are very many."""
    steps, left_out = recorded_steps(run)
    graph = graph_of(
        steps,
        outcome=run.outcome or "",
        error=run.error,
        best_attempt=run.best_attempt.number if run.best_attempt else None,
        parting_step=run.forked_from_step,
    )
    return graph, left_out


def recorded_steps(run: Run) -> tuple[list[RecordedStep], int]:
    """The last steps of the run, oldest first, and how many came before them."""
    facts = {
        name: Case(When(kind=kind, then=F(path)), output_field=JSONField()) for name, (kind, path) in FACTS.items()
    }
    # How many things a path finds in the result of a step of that kind.
    counts = {
        name: Case(
            When(
                kind=kind,
                result__isnull=False,
                then=Func(
                    F("result"),
                    Value(path),
                    template="jsonb_array_length(jsonb_path_query_array(%(expressions)s::jsonpath))",
                    output_field=IntegerField(),
                ),
            ),
            default=0,
        )
        for name, (kind, path) in COUNTS.items()
    }
    rows = (
        Step.objects.filter(run=run)
        .annotate(**facts)
        .annotate(**counts)
        .order_by("-seq")
        .values(*COLUMNS, "attempt_number", "edited_by_label", *FACTS, *COUNTS)[:MOST_STEPS]
    )
    steps = [_recorded(row) for row in reversed(rows)]
    return steps, steps[0].seq - 1 if len(steps) == MOST_STEPS else 0


def _recorded(row: dict[str, Any]) -> RecordedStep:
    # What should be a text and is none could not be read.
    texts = {name: row[name][:LONGEST_ERROR] if isinstance(row[name], str) else "" for name in TEXTS}
    is_void = row["referee"] == Referee.TESTS and row["confidence"] == 0 and texts["verdict"] != VerdictName.PASS
    texts["verdict"] = "" if is_void else texts["verdict"] or texts["decided"]
    texts["tool_error"] = texts["tool_error"] or texts["tool_failure"]
    texts["completeness"] = texts["completeness"] or texts["second_look"]
    texts["fault"] = "cut_off" if row["cut_off"] is True else texts["fault"]
    return RecordedStep(
        **{name: row[name] for name in (*COLUMNS, *COUNTS)}
        | {name: text for name, text in texts.items() if name in RecordedStep.model_fields}
        | {
            "error": Truncator(row["error"]).chars(LONGEST_ERROR),
            "attempt": row["attempt_number"],
            "is_edited": bool(row["edited_by_label"]),
            "score": row["score"] if isinstance(row["score"], int | float) and not is_void else None,
            "referee": row["referee"] if isinstance(row["referee"], int) else None,
            "tool_ok": row["tool_ok"] if isinstance(row["tool_ok"], bool) else None,
        }
    )
