"""Responses of the REST API as pydantic models. Fields that a newer server adds are available as attributes."""

from datetime import datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

State = Literal["queued", "running", "waiting_review", "waiting_agent", "waiting_time", "finished"]
VerdictName = Literal["PASS", "REVISE", "REJECT"]


class Answer(BaseModel):
    """Base class of all responses. Immutable; accepts unknown fields."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Usage(Answer):
    """Resource usage of a run.

    `cost_usd` is None if the cost of any call is unknown; `known_cost_usd` is then a lower bound. `estimated_tokens`
    are those that no provider reported and the server estimated. `unpriced_calls` counts calls and attempts
    without a known cost, `unmetered_calls` attempts submitted without `usage`.
    """

    prompt_tokens: int
    completion_tokens: int
    estimated_tokens: int = 0
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: Decimal | None
    known_cost_usd: Decimal | None = None
    llm_calls: int
    unpriced_calls: int = 0
    unmetered_calls: int = 0


class BestAttempt(Answer):
    """The attempt that the run selected.

    `score` is 0 to 100, from the highest-ranked evaluator `referee`: `self`, `critic`, `generated_tests`, `tool`,
    `tests` or `person`, lowest first. `cut_off` is True if the answer was cut off. If a reviewer replaced the attempt
    with their own text, `edited` is True; attempt `edited_from` is the original, and `original` its text.
    """

    number: int
    content: str
    cut_off: bool = False
    score: float | None
    referee: str | None
    edited: bool = False
    edited_from: int | None = None
    edited_by: str | None = None
    original: str | None = None


class Attachment(Answer):
    """A stored file.

    `media_type` is detected from the content. `size` is in bytes; `width` and `height` are in pixels, for images.
    `pages` is the number of pages of a PDF, or None if unknown.
    """

    id: UUID
    name: str
    media_type: str
    size: int
    sha256: str
    width: int | None = None
    height: int | None = None
    pages: int | None = None


class Message(Answer):
    """One message of a conversation, as in OpenAI's chat API."""

    role: str
    content: str


class Region(Answer):
    """Part of an attempt's file. `fragment` is a W3C media fragment: a box, a page or a time range."""

    attachment: UUID
    fragment: str = ""


class Mark(Answer):
    """The passage that an issue concerns.

    `exact` is its text. `start` and `end` are offsets in Unicode code points; `line` and `last_line` count from 1.
    """

    text: str = "attempt"
    attempt: int | None = None
    step: int | None = None
    start: int | None = None
    end: int | None = None
    exact: str
    prefix: str = ""
    suffix: str = ""
    line: int | None = None
    last_line: int | None = None


class Issue(Answer):
    """An issue of an attempt. `path` is its place in a JSON answer, such as `$.items[2].id`."""

    description: str
    category: str = "other"
    severity: str = "medium"
    suggested_fix: str = ""
    path: str = ""
    region: Region | None = None
    mark: Mark | None = None


class LastVerdict(Answer):
    """The verdict on the previous attempt. `score` is 0 to 100."""

    verdict: VerdictName
    score: float
    issues: list[Issue]


class RewindTicket(Answer):
    """The reason why an attempt was sent back, and the steps to repair it. `quality_score` is 0 to 100."""

    ticket_id: str
    verdict: VerdictName
    quality_score: float
    issues: list[Issue]
    repair_plan: list[str]
    context_needed: list[str]
    trigger: str


class NextAttempt(Answer):
    """The attempt that a run requests from your agent.

    `messages` is the whole conversation and `prompt` its newest part. `verdict` judges the previous attempt, and
    `ticket` explains why it was sent back; both are None for the first attempt.
    """

    attempt: int
    messages: list[Message]
    prompt: str
    verdict: LastVerdict | None
    ticket: RewindTicket | None


class Run(Answer):
    """A run of a task.

    `outcome` and `best_attempt` are None until the run has finished. `next` is the attempt to submit if the run waits
    for one; only `get_run`, `wait_for_run` and `claim_task` return it. `error` is the reason why the run failed or its
    answer is unverified. `waits_until` is the time when a waiting run resumes automatically.
    """

    id: UUID
    task_id: UUID
    mode: str
    state: State
    outcome: str | None
    waiting_for: str | None
    error: str | None
    best_attempt: BestAttempt | None
    attempts: int
    usage: Usage
    parent_id: UUID | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    waits_until: datetime | None = None
    next: NextAttempt | None = None

    @property
    def is_finished(self) -> bool:
        """True if the run has ended, with any outcome."""
        return self.state == "finished"

    @property
    def is_waiting(self) -> bool:
        """True if the run waits for a reviewer or for the agent's next attempt."""
        return self.state in {"waiting_review", "waiting_agent"}


class Task(Answer):
    """A task as submitted. `run` is its newest run."""

    id: UUID
    external_id: str | None
    objective: str
    kind: str
    mode: str
    agent: str
    execution: str
    review: str = "policy"
    metadata: dict[str, Any]
    models: dict[str, str] = Field(default_factory=dict)
    created_at: datetime
    run: Run | None


class Work(Answer):
    """A claimed run and its task. `run.next` is the attempt to make.

    The lease expires at `lease_until` unless you extend it. Submit the attempt with `lease_token`.
    """

    task: Task
    run: Run
    lease_token: UUID
    lease_until: datetime


class Hold(Answer):
    """The new end of a lease."""

    lease_until: datetime


class TaskBatch(Answer):
    """The submitted tasks, in order."""

    results: list[Task]


class HandedIn(Answer):
    """A run after an attempt was submitted. `next` is None while it is judged and after the run has ended."""

    run: Run
    next: NextAttempt | None


class Event(Answer):
    """An event of a run. `seq` increases within the run. `run.finished` reports its end."""

    seq: int
    type: str
    payload: dict[str, Any]
    created_at: datetime


class Verdict(Answer):
    """An evaluator's judgment of an attempt.

    `score` is 0 to 100, `confidence` 0 to 1 or None. `given_by` is the reviewer's user name if a person judged.
    """

    referee: str
    verdict: VerdictName
    score: float
    confidence: float | None
    issues: list[Issue]
    given_by: str | None


class Attempt(Answer):
    """One attempt of a run with its verdicts, oldest first. `number` counts from 1."""

    number: int
    content: str
    verdicts: list[Verdict]
    created_at: datetime


class Transcript(Answer):
    """A session. `run_id` is the run that reflects on it, if requested. `turns` is the number of messages."""

    id: UUID
    run_id: UUID | None
    external_id: str | None
    agent: str
    turns: int
    ended: bool
    reflections: list[dict[str, Any]]


class Turns(Answer):
    """A session after messages were added.

    Send `turns` as `after` next time. `reflection` is the newest one that no response has returned yet. `pending` is
    True while a reflection is in progress. `note` is the reason if no more reflections are made.
    """

    turns: int
    reflection: dict[str, Any] | None
    pending: bool
    ended: bool
    note: str | None


class Diagnosis(Answer):
    """The diagnosis of a failed tool call."""

    error_type: str
    root_cause: str
    severity: str


class CorrectiveAction(Answer):
    """The next action after a failed tool call. `action` describes it and `remedy` is its type.

    `modified_params` is None if the arguments stay the same. `alternative` is the next step if the action does not
    help. `carried_over` lists changes of an earlier fix that were applied to the arguments, such as `limit: 500 → 100`.
    """

    action: str
    remedy: str
    modified_params: dict[str, Any] | None
    fallback_tool: str | None
    retry_delay_seconds: float | None
    alternative: str | None
    carried_over: tuple[str, ...] = ()


class ToolFailure(Answer):
    """A failed tool call.

    `state` is `diagnosed`, `diagnosing` or `undiagnosed`. `diagnosis` and `corrective_action` are None until a
    diagnosis exists.
    """

    id: UUID
    state: str
    failed_tool: str
    error_message: str
    diagnosis: Diagnosis | None
    corrective_action: CorrectiveAction | None


class CompletenessCheck(Answer):
    """A completeness check.

    `state` is `checking`, `complete`, `incomplete`, or `unchecked` if the check itself failed; `error` is then the
    reason. `supplements` are suggested follow-up steps, `dropped` those left out. `faulty_files` make the work
    incomplete. `looked` is what a model saw in the files, or None if no file had to show anything.
    """

    id: UUID
    state: str
    analysis: str
    missing_aspects: list[str]
    supplements: list[dict[str, Any]]
    dropped: list[dict[str, Any]]
    files: list[dict[str, Any]]
    faulty_files: list[dict[str, Any]]
    looked: dict[str, Any] | None
    error: str | None


class CompletenessSettings(Answer):
    """The effective settings of the completeness check.

    `when` is `on`, `sampled` or `off`; `share`, 0 to 1, is the share of runs to check if sampled. `max_supplements` is
    the maximum number of follow-up steps; 0 means check only. `max_cost_usd` limits a check with its follow-up steps.
    `chosen` names the settings that the project set itself.
    """

    when: str
    share: float
    max_supplements: int
    max_cost_usd: Decimal | None
    look_again: bool
    chosen: list[str]


class RunCheck(Answer):
    """A completeness check of a run.

    `state` is `complete`, `incomplete`, `completed_by_supplement`, or `unchecked` if the check itself failed.
    """

    id: UUID
    run_id: UUID
    attempt: int
    kind: str
    state: str
    analysis: str
    missing_aspects: list[str]
    supplements: list[dict[str, Any]]
    error: str
    created_at: datetime


class RecurringSupplement(Answer):
    """A step that was missing in several runs of one kind of task.

    `operation` is the text of its first occurrence. `runs` is the number of runs; `attempted` and `succeeded` count its
    executions. `cost_usd` is None if the cost of any call is unknown.
    """

    source: str
    kind: str
    operation: str
    runs: int
    attempted: int
    succeeded: int
    tokens: int
    cost_usd: Decimal | None


class RecurringSupplements(Answer):
    """Recurring missing steps, most frequent first."""

    results: list[RecurringSupplement]


class CompletenessFigures(Answer):
    """Counts of all completeness checks of the project.

    `supplemented` counts the incomplete ones whose missing work was then completed. Shares are 0 to 1. `cost_usd` is
    the cost of the checks themselves, or None if the cost of any call is unknown.
    """

    checks: int
    complete: int
    incomplete: int
    supplemented: int
    unchecked: int
    share_incomplete: float | None
    share_supplemented: float | None
    tokens: int
    cost_usd: Decimal | None


class Lesson(Answer):
    """A retrieved notebook entry. `score` is the confidence that it concerns the query, 0 to 1."""

    id: UUID
    kind: str
    name: str
    description: str
    content: str
    occurrences: int
    score: float


class Recalled(Answer):
    """Retrieved notebook entries, best first.

    `text` has them ready for a prompt, inside a boundary that no entry can close. `withheld` is the number of entries
    held out at random. `used_meaning` is False if only words were searched.
    """

    entries: list[Lesson]
    withheld: int
    used_meaning: bool
    text: str


class RulesPrompt(Answer):
    """Text for a system prompt: insert `text` unchanged. It is empty if there are no entries.

    `boundary` is the random token in both markers around the entries.
    """

    text: str
    boundary: str
    entries: list[dict[str, Any]]


class Entry(Answer):
    """A notebook entry. `state` is `proposed`, `screened`, `approved`, `retired`, `rejected` or `merged`."""

    id: UUID
    kind: str
    state: str
    name: str
    description: str
    content: str
    occurrences: int


class Proposal(Answer):
    """The result of a proposal.

    `is_new` is False if the notebook already had the entry; the proposal then counts as an occurrence. `is_counted` is
    False if the same evidence was already counted.
    """

    entry: Entry
    is_new: bool
    is_counted: bool


class Figure(Answer):
    """A metric. `value` is None without data, and `of` is the sample size.

    `unit` is `share`, `count`, `mean`, `ms`, `s`, `tokens` or `usd`. `low` and `high` bound the 95 % confidence
    interval of a share, else they are None.
    """

    value: float | None
    unit: str
    of: int
    low: float | None
    high: float | None


class Metrics(Answer):
    """Metrics by name. `before` has those of the preceding period of equal length."""

    figures: dict[str, Figure]
    before: dict[str, Figure]


class ReviewedAttempt(Answer):
    """The attempt under review."""

    number: int
    content: str


class Decision(Answer):
    """The decision on a review and the resulting verdict.

    `attempt` is the number of the attempt that the verdict is about. `edited_answer` is the reviewer's text, which is
    the run's answer, or None if not edited.
    """

    decision: str
    attempt: int | None
    verdict: Verdict | None
    edited: bool = False
    edited_answer: str | None = None
    reason: str
    decided_by: str
    decided_at: datetime


class Review(Answer):
    """A review of a verdict.

    `state` is `waiting`, `claimed`, `decided` or `withdrawn`. `decision` is None until the review is decided. `holder`
    is the user name of the reviewer who claimed it.
    """

    id: UUID
    run_id: UUID
    attempt: ReviewedAttempt
    reason: str
    state: str
    holder: str | None
    verdict: Verdict
    decision: Decision | None

    @property
    def is_open(self) -> bool:
        """True if the review is waiting or claimed."""
        return self.state in {"waiting", "claimed"}


class AskedFor(Answer):
    """The opened reviews: one, or one for each of several blind reviewers."""

    reviews: list[Review]


class Claim(Answer):
    """A claimed review. Send `lease_token` with heartbeats, the decision and the release."""

    review: Review
    lease_token: UUID


class DatasetColumn(Answer):
    """A column of a dataset.

    `type` is `string`, `integer`, `number`, `boolean`, `timestamp`, `object` or `json`. `fields` are those of an
    object, or of each object in a list.
    """

    name: str
    type: str
    is_list: bool
    may_be_null: bool
    description: str
    fields: list["DatasetColumn"] = Field(default_factory=list)


class DatasetKind(Answer):
    """A dataset with its columns."""

    kind: str
    schema_version: int
    columns: list[DatasetColumn]


class DatasetKinds(Answer):
    """The datasets of the server."""

    results: list[DatasetKind]


class Page[T](Answer):
    """One page of a list. `next` is the URL of the next page, or None. `Desk.pages` follows it."""

    results: list[T]
    next: str | None = None
    previous: str | None = Field(default=None, repr=False)
