"""Recalling what the notebook has for a run, once and before anything that its first attempt rests on is asked."""

from reflection_app.loops.lessons import Lessons, recall_for
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import Execution, TaskSpec


async def lessons_for(spec: TaskSpec, run: Progress, *, prompts: int = 1) -> Lessons | None:
    """What the notebook has for the first attempt of our own models; an outside agent recalls by itself.

    `prompts` is how many are told of it, so that all of them together leave room for the work. A run whose
    specification names no lessons performs just the effects that it performed before there were any: the loops'
    versions stay as they are, and what waited meanwhile goes on.
    """
    if run.lessons is None and spec.execution is Execution.MANAGED:
        recall = recall_for(spec, prompts=prompts)
        if recall is not None:
            run.lessons = await run.perform(recall)
    return run.lessons


async def task_with_lessons(spec: TaskSpec, run: Progress, *, task: str, prompts: int) -> str:
    """The task as it is told outside of an attempt's own prompt, with the lessons for it."""
    lessons = await lessons_for(spec, run, prompts=prompts)
    return prompt("told_lessons", task=task, lessons=lessons.block) if lessons and lessons.block else task
