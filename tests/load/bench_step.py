"""Prints what the desk adds to a step over bare litellm, medians of one interleaved series.

A run is three attempts of actor and critic against a server that answers at once: six model calls and their
verdicts. "Bare" makes the same six calls, with the same messages and the same form, by `litellm.acompletion` alone.

.venv/bin/python -m tests.load.bench_step [ROUNDS]
"""

import asyncio
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from tests.load.engines import django_on_own_engines
from tests.load.machine import describe_machine
from tests.load.model_server import model_server

GOAL_MS = 3.0
GOAL_RATIO = 2.0
MODEL = "openai/bench"
TASK: dict[str, Any] = {"objective": "Write about the sea.", "mode": "actor_critic", "limits": {"time_budget_s": 600}}


@dataclass(frozen=True)
class Taken:
    """One run: its steps, its calls of a model, and what it and the bare calls took: time, and CPU of this process."""

    steps: int
    requests: list[dict[str, Any]]
    run_ms: float
    bare_ms: float
    run_cpu_ms: float
    bare_cpu_ms: float

    @property
    def calls(self) -> int:
        return len(self.requests)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with (
        model_server() as url,
        django_on_own_engines({"LLM_MODEL": MODEL, "OPENAI_API_BASE": url, "OPENAI_API_KEY": "none"}),
    ):
        measure(rounds)


def measure(rounds: int) -> None:

    from tests import given

    project = given.project()
    for _ in range(5):
        take(given.submitted_run(project, **TASK).pk)
    taken = [take(given.submitted_run(project, **TASK).pk) for _ in range(rounds)]
    scripted = [scripted_step_ms(project) for _ in range(rounds)]
    over = [(one.run_ms - one.bare_ms) / one.steps for one in taken]
    over_call = [(one.run_ms - one.bare_ms) / one.calls for one in taken]
    print(describe_machine())
    print(f"{rounds} runs of {taken[0].calls} model calls in {statistics.mean(one.steps for one in taken):.1f} steps")
    print(f"bare litellm, a call            median {median([one.bare_ms / one.calls for one in taken]):6.2f} ms")
    print(f"run, whole                      median {median([one.run_ms for one in taken]):6.2f} ms")
    ratio = median([one.run_ms / one.bare_ms for one in taken])
    print(f"run over its bare calls         median {ratio:6.2f} (goal: at most {GOAL_RATIO:g})")
    print(f"added, a step                   median {median(over):6.2f} ms")
    print(f"added, if all is laid on calls  median {median(over_call):6.2f} ms")
    print(f"a step with a scripted model    median {median(scripted):6.2f} ms")
    met = "met" if median(over) <= GOAL_MS else "missed"
    print(f"goal: at most {GOAL_MS:g} ms added a step; measured {median(over):.2f} ms: {met}")


def median(values: list[float]) -> float:
    return statistics.median(values)


def take(run_id: UUID) -> Taken:
    """Advances the run to its end, then makes its calls again without the desk."""
    from reflection_app.runs.advance import advance
    from reflection_app.runs.models import Run, Step

    began, began_cpu = time.perf_counter(), time.process_time()
    advance(run_id)
    run_ms, run_cpu_ms = (time.perf_counter() - began) * 1000, (time.process_time() - began_cpu) * 1000
    run = Run.objects.get(pk=run_id)
    assert run.outcome == "exhausted", (run.outcome, run.error)
    requests = [step.request for step in Step.objects.filter(run=run, kind="generate")]
    steps = Step.objects.filter(run=run).count()
    began_cpu = time.process_time()
    return Taken(
        steps=steps,
        requests=requests,
        run_ms=run_ms,
        bare_ms=bare_ms(requests),
        run_cpu_ms=run_cpu_ms,
        bare_cpu_ms=(time.process_time() - began_cpu) * 1000,
    )


def bare_ms(requests: list[dict[str, Any]]) -> float:
    from reflection_app.adapters.llm import provider
    from reflection_app.adapters.llm.gateway import model_loop

    # The same loop and so the same open connections: what is compared is the desk, not two pools.
    return model_loop(provider.close_connections).submit(_bare_ms(requests)).result()


async def _bare_ms(requests: list[dict[str, Any]]) -> float:
    from reflection_app.adapters.llm.litellm_import import litellm
    from reflection_app.adapters.llm.provider import READ_WITHIN_S, response_format

    schemas = [request.get("json_schema") for request in requests]
    forms = [schema and response_format(schema, model=MODEL, provider="openai") for schema in schemas]
    began = time.perf_counter()
    for request, form in zip(requests, forms, strict=True):
        await litellm().acompletion(
            model=MODEL,
            messages=request["messages"],
            temperature=request["temperature"],
            max_tokens=1000,
            timeout=READ_WITHIN_S,
            **({"response_format": form} if form else {}),
        )
        await asyncio.sleep(0)
    return (time.perf_counter() - began) * 1000


def scripted_step_ms(project: Any) -> float:
    """What a step of a code-free run takes where no model is called at all: journal and loop alone."""
    from reflection_app.runs.advance import advance
    from reflection_app.runs.models import Step
    from tests.runs.critiques import critique

    answers = {f"attempt-{number}/answer": f"draft {number}" for number in range(1, 4)}
    answers |= {f"attempt-{number}/critique": critique(30 + 5 * number) for number in range(1, 4)}
    from tests import given

    run = given.scripted_run(answers, project=project, **TASK)
    began = time.perf_counter()
    advance(run.pk)
    return (time.perf_counter() - began) * 1000 / Step.objects.filter(run=run).count()


if __name__ == "__main__":
    main()
