"""A function that makes attempts, in the desk's loop: called again with what was wrong until the loop is content."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Self
from uuid import UUID

from reflection_desk.answers import Attachment, BestAttempt, NextAttempt, Run, Task
from reflection_desk.call import Call
from reflection_desk.calls import work
from reflection_desk.errors import Conflict, DeskError, Invalid, NothingKept
from reflection_desk.steps import Invoke, Sender, Steps


class Prompt(str):
    """What the function is called with: a text, and with it the messages so far, the verdict and the ticket.

    Of the first attempt it is the objective, with the lessons that fit it; then why the attempt before came back.
    """

    next: NextAttempt
    # Of work that was claimed; whoever handed the task in knows it.
    task: Task | None

    def __new__(cls, upcoming: NextAttempt, task: Task | None = None) -> Self:
        prompt = super().__new__(cls, upcoming.prompt)
        prompt.next, prompt.task = upcoming, task
        return prompt

    @property
    def attempt(self) -> int:
        """Which one is to be made, from 1."""
        return self.next.attempt

    @property
    def messages(self) -> list[Any]:
        """The whole conversation to go on with, in OpenAI's form."""
        return [message.model_dump(include={"role", "content"}) for message in self.next.messages]


@dataclass(frozen=True, kw_only=True)
class Made:
    """An attempt with what the desk is to know besides: returned in place of a bare text."""

    content: str
    usage: Mapping[str, Any] | None = None
    self_check: Mapping[str, Any] | None = None
    repairs: Sequence[Mapping[str, Any]] | None = None
    artifacts: Sequence[Mapping[str, Any]] | None = None
    # Paths of pictures, sounds and other files, which are uploaded first.
    attachments: Sequence[str | PathLike[str]] = ()

    @property
    def fields(self) -> work.AttemptFields:
        """What `hand_in_attempt` is told besides the content."""
        return {
            "usage": self.usage,
            "self_check": self.self_check,
            "repairs": self.repairs,
            "artifacts": self.artifacts,
        }


def as_made(made: Any) -> Made:
    """What a function made, which may be a bare text. Raises TypeError."""
    if isinstance(made, str):
        return Made(content=made)
    if not isinstance(made, Made):
        raise TypeError(f"an attempt is a text or reflection_desk.Made, not {type(made).__name__}")
    return made


def uploaded(made: Made, *, send: Callable[[Call[Attachment]], Steps[Attachment]]) -> Steps[list[UUID]]:
    """The ids of the attempt's files, once the desk has them. Raises OSError where one cannot be read."""
    ids = []
    for path in map(Path, made.attachments):
        content = yield Invoke(path.read_bytes)
        kept = yield from send(work.upload_attachment(content, name=path.name))
        ids.append(kept.id)
    return ids


@dataclass(frozen=True)
class Reflected:
    """The best attempt of a run that has ended, and how it ended."""

    run: Run
    best: BestAttempt

    @property
    def content(self) -> str:
        return self.best.content

    @property
    def score(self) -> float | None:
        return self.best.score

    @property
    def outcome(self) -> str:
        """`succeeded`, where a person or the task's own check let it pass; else why the loop stopped."""
        return self.run.outcome or ""

    @property
    def succeeded(self) -> bool:
        return self.outcome == "succeeded"

    def __str__(self) -> str:
        return self.content


@dataclass(frozen=True)
class Loop:
    """The tasks of a function: `task` holds the fields of `submit_task` besides the objective.

    `function` is given the prompt and makes the attempt. The desk is waited for `timeout_s` at a time.
    """

    sender: Sender
    function: Callable[..., Any]
    task: Mapping[str, Any]
    timeout_s: float

    def begin(self, objective: str, *args: Any, **kwargs: Any) -> Steps[Reflected]:
        """Hands the objective in and makes attempts until the run has ended."""
        submission = work.submit_task(objective, **{**self.task, "execution": "external"})
        task = yield from self.sender.send(submission)
        if task.run is None:
            raise DeskError(f"task {task.id} has no run")
        return (yield from self.go_on(task.run.id, *args, **kwargs))

    def go_on(self, run_id: UUID | str, *args: Any, **kwargs: Any) -> Steps[Reflected]:
        """Makes the attempts that the run still asks for. Raises NothingKept where it ended without any.

        A run whose function fails is cancelled, so that nobody waits for it; one that the desk itself failed is not.
        """
        run = yield from self._wait(run_id)
        while (upcoming := run.next) is not None:
            try:
                made = yield Invoke(partial(self.function, Prompt(upcoming), *args, **kwargs))
                yield from self._hand_in(run.id, made, number=upcoming.attempt)
            except Exception as error:
                if not isinstance(error, DeskError) or isinstance(error, Invalid):
                    yield from self._cancel(run.id, error)
                raise
            run = yield from self._wait(run.id)
        if run.best_attempt is None:
            raise NothingKept(run)
        return Reflected(run, run.best_attempt)

    def _wait(self, run_id: UUID | str) -> Steps[Run]:
        return self.sender.wait_for_run(run_id, timeout_s=self.timeout_s, until=lambda run: run.next is not None)

    def _hand_in(self, run_id: UUID, made: Any, *, number: int) -> Steps[None]:
        made = as_made(made)
        files = yield from uploaded(made, send=self._send)
        attempt = work.hand_in_attempt(
            run_id,
            made.content,
            attempt=number,
            attachments=files,
            wait_s=work.LONGEST_WAIT_S,
            **made.fields,
        )
        try:
            # What was made may have cost something: a desk that is away is asked again, like one that is waited for.
            yield from self._send(attempt)
        except Conflict:
            # Somebody cancelled the run meanwhile, or its time was up: it tells that itself.
            run = yield from self.sender.send(work.get_run(run_id))
            if run.next is not None and run.next.attempt == number:
                raise

    def _send[T](self, call: Call[T]) -> Steps[T]:
        return self.sender.send_until(call, deadline=time.monotonic() + self.timeout_s)

    def _cancel(self, run_id: UUID, error: Exception) -> Steps[None]:
        try:
            yield from self.sender.send(work.cancel_run(run_id))
        except DeskError as refused:
            error.add_note(f"Run {run_id} could not be cancelled: {refused}")
        else:
            error.add_note(f"Run {run_id} was cancelled.")
