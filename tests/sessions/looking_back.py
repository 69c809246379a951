"""Work that is looked back at, for tests: projects that want it, and what scripted reflectors say."""

import json
from itertools import count
from typing import Any

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.models import Project
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from reflection_app.sessions.models import Reflector, ReflectorKind, Transcript
from reflection_app.sessions.reflectors import begin_due_reflectors
from tests import given
from tests.runs.critiques import critique

_numbers = count(1)
ON = {"reflection": "post_hoc"}


def finding(description: str = "It searched all files. Twice.", **more: Any) -> dict[str, Any]:
    said = {"category": "tool_misuse", "cause": "No glob.", "suggestion": "Set a glob."}
    return said | {"description": description} | more


def memory(name: str = "kebab-case", **more: Any) -> dict[str, Any]:
    said = {"type": "rule", "description": "Files are named in kebab-case.", "content": "The user said: always."}
    return said | {"name": name} | more


def errors_said(*findings: dict[str, Any], score: float = 61) -> str:
    return json.dumps({"score": score, "findings": list(findings)})


def memories_said(*memories: dict[str, Any]) -> str:
    return json.dumps({"memories": list(memories)})


def reading(path: str) -> str:
    return json.dumps({"tool": "read_file", "arguments": {"path": path}})


def searching(pattern: str, glob: str = "*") -> str:
    return json.dumps({"tool": "grep_search", "arguments": {"pattern": pattern, "path_glob": glob}})


# What both say where a test has nothing else in mind.
BOTH = {"errors-1": errors_said(finding()), "memories-1": memories_said(memory())}
DONE = {"attempt-1/answer": "blue", "attempt-1/critique": critique(90, approved=True)}


def watched_project(**fields: Any) -> Project:
    """A project of which runs are looked back at once they have ended."""
    policy = {"audit_share": 0, "unsettled_waits": False}
    return given.project(f"looked-back-{next(_numbers)}", **({"notebook": ON, "review_policy": policy} | fields))


def session_project(answers: dict[str, str] | None = None, **fields: Any) -> Project:
    """The same, with a script that plays those who look back at sessions."""
    model = register_script(f"looking-back-{next(_numbers)}", BOTH if answers is None else answers)
    return watched_project(models_by_role={"default": model}, **fields)


def ended_run(answers: dict[str, str] | None = None, *, project: Project | None = None, **submission: Any) -> Run:
    """A run that has ended well, and whose forks, if any, are queued."""
    said = DONE | (BOTH if answers is None else answers)
    submission.setdefault("mode", "actor_critic")
    run = given.scripted_run(said, project=project or watched_project(), **submission)
    advance(run.pk)
    begin_due_reflectors()
    run.refresh_from_db()
    assert run.is_finished, run.state
    return run


def forks_of(subject: Run | Transcript) -> dict[str, Reflector]:
    """The rows of those who look back at it, by kind, read afresh; they are begun where they are due."""
    begin_due_reflectors()
    about = {"run": subject} if isinstance(subject, Run) else {"transcript": subject}
    return {row.kind: row for row in Reflector.objects.filter(**about).select_related("fork")}


def looked_back(subject: Run | Transcript) -> dict[str, Reflector]:
    """The same once both have been moved on as far as they go."""
    for kind in ReflectorKind.values:
        if kind in (rows := forks_of(subject)):
            advance(rows[kind].fork_id)
    return forks_of(subject)
