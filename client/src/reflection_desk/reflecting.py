"""The loop of `reflected`: submit a task and call a function for each attempt that its run requests."""

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
    """The prompt for the next attempt, a `str`, which your function receives.

    For the first attempt it is the objective with matching lessons; afterwards it is the feedback on the previous
    attempt. `messages` has the whole conversation. `next` has the verdict and the rewind ticket.
    """

    next: NextAttempt
    # Set by `work_on` only; `reflected` submitted the task itself.
    task: Task | None

    def __new__(cls, upcoming: NextAttempt, task: Task | None = None) -> Self:
        prompt = super().__new__(cls, upcoming.prompt)
        prompt.next, prompt.task = upcoming, task
        return prompt

    @property
    def attempt(self) -> int:
        """Number of the attempt to make, from 1."""
        return self.next.attempt

    @property
    def messages(self) -> list[Any]:
        """The whole conversation as OpenAI chat messages, with `role` and `content`."""
        return [message.model_dump(include={"role", "content"}) for message in self.next.messages]


@dataclass(frozen=True, kw_only=True)
class Made:
    """An attempt with more than its text. Return it from your function instead of a `str`.

    `usage` has the spent `prompt_tokens`, `completion_tokens`, `cost_usd` and the `model`. `attachments` are paths of
    images, audio and other files; they are uploaded before the attempt is submitted.
    """

    content: str
    usage: Mapping[str, Any] | None = None
    self_check: Mapping[str, Any] | None = None
    repairs: Sequence[Mapping[str, Any]] | None = None
    artifacts: Sequence[Mapping[str, Any]] | None = None
    attachments: Sequence[str | PathLike[str]] = ()

    @property
    def fields(self) -> work.AttemptFields:
        """The optional arguments of `hand_in_attempt`."""
        return {
            "usage": self.usage,
            "self_check": self.self_check,
            "repairs": self.repairs,
            "artifacts": self.artifacts,
        }


def as_made(made: Any) -> Made:
    """Return the result of a function as Made. Raises TypeError if it is neither Made nor a `str`."""
    if isinstance(made, str):
        return Made(content=made)
    if not isinstance(made, Made):
        raise TypeError(f"the function must return str or reflection_desk.Made, not {type(made).__name__}")
    return made


def uploaded(made: Made, *, send: Callable[[Call[Attachment]], Steps[Attachment]]) -> Steps[list[UUID]]:
    """Upload the attempt's files and return their ids. Raises OSError if one cannot be read."""
    ids = []
    for path in map(Path, made.attachments):
        content = yield Invoke(path.read_bytes)
        attachment = yield from send(work.upload_attachment(content, name=path.name))
        ids.append(attachment.id)
    return ids


@dataclass(frozen=True)
class Reflected:
    """A finished run and its best attempt."""

    run: Run
    best: BestAttempt

    @property
    def content(self) -> str:
        """Text of the best attempt."""
        return self.best.content

    @property
    def score(self) -> float | None:
        """Score of the best attempt, 0 to 100, or None if it was not judged."""
        return self.best.score

    @property
    def outcome(self) -> str:
        """Outcome of the run: `succeeded` if a reviewer or a check of the task passed it, else why the run stopped.

        The others are `unverified`, `exhausted`, `over_budget`, `timed_out`, `over_corrected`, `rejected`, `cancelled`
        and `failed`.
        """
        return self.run.outcome or ""

    @property
    def succeeded(self) -> bool:
        """True if the outcome is `succeeded`."""
        return self.outcome == "succeeded"

    def __str__(self) -> str:
        return self.content


@dataclass(frozen=True)
class Loop:
    """Submits tasks and lets `function` make the attempts from a Prompt.

    `task` has the fields of `submit_task`. `timeout_s` limits each wait for the server in seconds.
    """

    sender: Sender
    function: Callable[..., Any]
    task: Mapping[str, Any]
    timeout_s: float

    def begin(self, objective: str, *args: Any, **kwargs: Any) -> Steps[Reflected]:
        """Submit the objective as a task and make attempts until its run has ended. Raises as `resume` does."""
        submission = work.submit_task(objective, **{**self.task, "execution": "external"})
        task = yield from self.sender.send(submission)
        if task.run is None:
            raise DeskError(f"task {task.id} has no run")
        return (yield from self.resume(task.run.id, *args, **kwargs))

    def resume(self, run_id: UUID | str, *args: Any, **kwargs: Any) -> Steps[Reflected]:
        """Make the attempts that the run requests until it has ended, and return the best one.

        Cancels the run and raises the error if the function fails or the server finds its attempt invalid. After other
        errors of the server the run continues. Raises NothingKept if the run ended without an attempt, and StillGoing
        if the server takes longer than `timeout_s`.
        """
        run = yield from self._wait(run_id)
        while (upcoming := run.next) is not None:
            try:
                made = yield Invoke(partial(self.function, Prompt(upcoming), *args, **kwargs))
                yield from self._submit(run.id, made, number=upcoming.attempt)
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

    def _submit(self, run_id: UUID, made: Any, *, number: int) -> Steps[None]:
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
            # An attempt may have been expensive: if the server is unavailable, do not lose it.
            yield from self._send(attempt)
        except Conflict:
            # If the run was cancelled or timed out meanwhile, its outcome has the reason: return it instead of raising.
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
