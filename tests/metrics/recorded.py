"""Projects with runs of every kind, as rows that the runner leaves; what they are is chosen by a generator."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Outcome, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.models import CompletenessCheck, Supplement
from reflection_app.runs.models import Attempt, Run, RunState, Step, StepState, Verdict
from reflection_app.tasks.models import Task

AGENTS = ("", "writer", "coder")
MODES = (Mode.EXTERNAL_LOOP, Mode.ACTOR_CRITIC, Mode.REFLEXION, Mode.PLANNING, Mode.COMPLETENESS_CHECK)
MODELS = ("openai/small", "openai/large")
KINDS = ("", "code_generation", "reasoning")


@dataclass
class Rows:
    """Writes one run with its steps, numbering them."""

    run: Run
    at: datetime
    steps: list[Step] = field(default_factory=list)

    def step(self, key: str, kind: str, **fields: Any) -> Step:
        fields = {"state": StepState.DONE, "request": {}, "started_at": self.at, "finished_at": self.at} | fields
        step = Step.objects.create(run=self.run, seq=len(self.steps) + 1, key=key, kind=kind, **fields)
        self.steps.append(step)
        return step

    def call(self, key: str, role: str, *, attempt: int | None = None, **fields: Any) -> Step:
        """A model call, charged to the run as the journal does it."""
        step = self.step(key, "generate", role=role, attempt_number=attempt, **fields)
        self.run.prompt_tokens += step.prompt_tokens
        self.run.completion_tokens += step.completion_tokens
        self.run.cost_usd += step.cost_usd
        self.run.llm_calls += 1
        return step

    def attempt(self, number: int, **fields: Any) -> Attempt:
        answer = self.call(f"attempt-{number}/answer", "actor", attempt=number, **fields)
        return Attempt.objects.create(run=self.run, number=number, step=answer, content=f"answer {number}")

    def verdict(self, attempt: Attempt, referee: Referee, verdict: VerdictName, score: float) -> Verdict:
        key = f"attempt-{attempt.number}/verdict-{len(self.steps)}"
        step = self.step(key, "record_verdict", attempt_number=attempt.number)
        issues = [] if verdict is VerdictName.PASS else [{"category": "format", "description": "It has no title."}]
        return Verdict.objects.create(
            attempt=attempt, step=step, referee=referee.value, verdict=verdict.value, score=score, issues=issues
        )

    def end(self, outcome: Outcome, *, kept: Attempt | None, at: datetime) -> Run:
        self.run.state, self.run.outcome, self.run.finished_at = RunState.FINISHED, outcome.value, at
        self.run.best_attempt, self.run.attempts_made = kept, Attempt.objects.filter(run=self.run).count()
        self.run.last_event_seq += 1
        self.run.save()
        return self.run


def begin(project: Project, mode: Mode = Mode.ACTOR_CRITIC, **fields: Any) -> Rows:
    """A run under way on a task of its own, unless `task` is given."""
    kind, agent = fields.pop("kind", ""), fields.pop("agent", "")
    most = fields.pop("max_iterations", 3)
    task = fields.pop("task", None) or Task.objects.create(
        project=project, objective="Write a letter.", mode=mode.value, kind=kind, agent=agent
    )
    spec = {"limits": {"max_iterations": most}}
    run = Run.objects.create(project=project, task=task, mode=mode.value, spec=spec, loop_version=1, **fields)
    return Rows(run, timezone.now())


def random_run(project: Project, random: Random, *, at: datetime, parent: Run | None = None) -> Run:
    """A finished run of any kind, some of whose numbers make no sense together: figures have to bear that."""
    mode = random.choice(MODES)
    rows = begin(
        project,
        mode,
        kind=random.choice(KINDS),
        agent=random.choice(AGENTS),
        max_iterations=random.choice((1, 2, 3)),
        is_scripted=random.random() < 0.1,
        parent=parent,
        **({"task": parent.task} if parent else {}),
    )
    attempts = [_random_attempt(rows, random, number) for number in range(1, random.randrange(5))]
    if random.random() < 0.3:
        _random_check(rows, random)
    kept = random.choice([*attempts, None]) if attempts else None
    return rows.end(random.choice(list(Outcome)), kept=kept, at=at)


def _random_attempt(rows: Rows, random: Random, number: int) -> Attempt:
    made = rows.attempt(number, model=random.choice(MODELS), **_random_cost(random))
    if random.random() < 0.7:
        rows.call(f"attempt-{number}/critique", "critic", attempt=number, model="openai/critic", **_random_cost(random))
    for referee in random.sample(list(Referee), random.randrange(3)):
        rows.verdict(made, referee, random.choice(list(VerdictName)), random.choice((10.0, 40.0, 60.0, 90.0)))
    if random.random() < 0.3:
        rows.call(f"attempt-{number}/reflection", "reflector", attempt=number, **_random_cost(random))
    return made


def _random_cost(random: Random) -> dict[str, Any]:
    return {
        "prompt_tokens": random.randrange(1000),
        "completion_tokens": random.randrange(300),
        "cost_usd": Decimal(random.randrange(10_000)) / 10_000_000,
        "cost_known": random.random() < 0.9,
        # Whole milliseconds that floats hold exactly, so that they add up in any order.
        "duration_s": random.randrange(32) / 8,
    }


def _random_check(rows: Rows, random: Random) -> None:
    for number in range(1, random.randrange(1, 3) + 1):
        step = rows.step(f"check-{number}", "record_completeness", attempt_number=number)
        done = random.random() < 0.5
        attempted = random.randrange(1, 5)
        check = CompletenessCheck.objects.create(
            project=rows.run.project,
            run=rows.run,
            step=step,
            attempt_number=number,
            state=random.choice(("complete", "incomplete", "completed_by_supplement", "unchecked")),
            used=done or None,
            attempted=attempted if done else None,
            succeeded=random.randrange(attempted + 1) if done else None,
        )
        for place in range(random.randrange(3)):
            Supplement.objects.create(
                project=rows.run.project, completeness_check=check, number=place + 1, operation="op", operation_key="op"
            )


def random_project(project: Project, *, runs: int, seed: int, until: datetime, days: int) -> Sequence[Run]:
    """Runs that finished on the `days` before `until`; one in five is a fork or a redo of an earlier one."""
    random = Random(seed)
    made: list[Run] = []
    for _ in range(runs):
        at = until - timedelta(seconds=random.randrange(days * 86_400))
        parent = random.choice(made) if made and random.random() < 0.2 else None
        made.append(random_run(project, random, at=at, parent=parent))
    return made
