"""What the desk answers. Fields that a newer desk adds are kept, and reach you by their names."""

from datetime import datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

State = Literal["queued", "running", "waiting_review", "waiting_agent", "waiting_time", "finished"]
VerdictName = Literal["PASS", "REVISE", "REJECT"]


class Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class Usage(Answer):
    """What a run took. `cost_usd` is None where some of it is not known; it is then at least `known_cost_usd`."""

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
    number: int
    content: str
    cut_off: bool = False
    score: float | None
    referee: str | None
    # A reviewer's own text in the place of attempt `edited_from`, whose text is `original`.
    edited: bool = False
    edited_from: int | None = None
    edited_by: str | None = None
    original: str | None = None


class Attachment(Answer):
    """A file that is kept; its media type was found in its bytes."""

    id: UUID
    name: str
    media_type: str
    size: int
    sha256: str
    width: int | None = None
    height: int | None = None
    pages: int | None = None


class Message(Answer):
    role: str
    content: str


class Region(Answer):
    """A file of the attempt, and the part of it: a box, a page or seconds, as W3C media fragments name them."""

    attachment: UUID
    fragment: str = ""


class Mark(Answer):
    """The passage that an issue is about: from `start` to `end` in code points, and in its own words."""

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
    description: str
    category: str = "other"
    severity: str = "medium"
    suggested_fix: str = ""
    path: str = ""
    region: Region | None = None
    mark: Mark | None = None


class LastVerdict(Answer):
    verdict: VerdictName
    score: float
    issues: list[Issue]


class RewindTicket(Answer):
    ticket_id: str
    verdict: VerdictName
    quality_score: float
    issues: list[Issue]
    repair_plan: list[str]
    context_needed: list[str]
    trigger: str


class NextAttempt(Answer):
    """What the agent is to do next: `messages` to continue with, and why the attempt before came back."""

    attempt: int
    messages: list[Message]
    prompt: str
    verdict: LastVerdict | None
    ticket: RewindTicket | None


class Run(Answer):
    """`outcome` is None until the run has finished; `next` is the attempt to hand in, where it waits for one."""

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
        return self.state == "finished"

    @property
    def is_waiting(self) -> bool:
        """Whether somebody else has to act: a reviewer, or the agent."""
        return self.state in {"waiting_review", "waiting_agent"}


class Task(Answer):
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
    """A task whose next attempt is yours to make: it is `run.next`. The hold ends without heartbeats."""

    task: Task
    run: Run
    lease_token: UUID
    lease_until: datetime


class Hold(Answer):
    lease_until: datetime


class TaskBatch(Answer):
    results: list[Task]


class HandedIn(Answer):
    """The run after the attempt, and what the loop asks for next; None where it asks for nothing."""

    run: Run
    next: NextAttempt | None


class Event(Answer):
    seq: int
    type: str
    payload: dict[str, Any]
    created_at: datetime


class Verdict(Answer):
    referee: str
    verdict: VerdictName
    score: float
    confidence: float | None
    issues: list[Issue]
    given_by: str | None


class Attempt(Answer):
    number: int
    content: str
    verdicts: list[Verdict]
    created_at: datetime


class Transcript(Answer):
    """A session. `run_id` is the run that reflects on it while it happens, where that was asked for."""

    id: UUID
    run_id: UUID | None
    external_id: str | None
    agent: str
    turns: int
    ended: bool
    reflections: list[dict[str, Any]]


class Turns(Answer):
    """The session after its turns were added. `reflection` is the newest one that no answer has told of yet.

    `turns` is what the next call gives as `after`; `pending` says that a reflection is being made.
    """

    turns: int
    reflection: dict[str, Any] | None
    pending: bool
    ended: bool
    note: str | None


class Diagnosis(Answer):
    error_type: str
    root_cause: str
    severity: str


class CorrectiveAction(Answer):
    action: str
    remedy: str
    modified_params: dict[str, Any] | None
    fallback_tool: str | None
    retry_delay_seconds: float | None
    alternative: str | None
    carried_over: tuple[str, ...] = ()


class ToolFailure(Answer):
    """`diagnosis` is None while a model is still thinking about it."""

    id: UUID
    state: str
    failed_tool: str
    error_message: str
    diagnosis: Diagnosis | None
    corrective_action: CorrectiveAction | None


class CompletenessCheck(Answer):
    """`state` is `checking`, `complete`, `incomplete`, or `unchecked` where the check itself failed.

    `faulty_files` are those that keep it from being complete, `looked` what a model saw on the files.
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
    """As they apply: `when` is `on`, `sampled` or `off`; `chosen` names those that the project set itself."""

    when: str
    share: float
    max_supplements: int
    max_cost_usd: Decimal | None
    look_again: bool
    chosen: list[str]


class RunCheck(Answer):
    """`state` is `complete`, `incomplete`, `completed_by_supplement`, or `unchecked` where the check itself failed."""

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
    """What several runs of a kind of task lacked; `operation` is as it was said first."""

    source: str
    kind: str
    operation: str
    runs: int
    attempted: int
    succeeded: int
    tokens: int
    cost_usd: Decimal | None


class RecurringSupplements(Answer):
    results: list[RecurringSupplement]


class CompletenessFigures(Answer):
    """Over all checks of the project. Of the `incomplete` ones, `supplemented` were completed."""

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
    id: UUID
    kind: str
    name: str
    description: str
    content: str
    occurrences: int
    score: float


class Recalled(Answer):
    """`text` holds the entries ready for a prompt, inside a boundary that none of them can close."""

    entries: list[Lesson]
    withheld: int
    used_meaning: bool
    text: str


class RulesPrompt(Answer):
    text: str
    boundary: str
    entries: list[dict[str, Any]]


class Entry(Answer):
    id: UUID
    kind: str
    state: str
    name: str
    description: str
    content: str
    occurrences: int


class Proposal(Answer):
    """`is_new` is False where the notebook had it already: then it was counted."""

    entry: Entry
    is_new: bool
    is_counted: bool


class Figure(Answer):
    """`of` is how many it was computed from; `low` and `high` hold it with 95 % confidence, where that can be said."""

    value: float | None
    unit: str
    of: int
    low: float | None
    high: float | None


class Metrics(Answer):
    """Figures by their names; `before` are those of the period before."""

    figures: dict[str, Figure]
    before: dict[str, Figure]


class ReviewedAttempt(Answer):
    number: int
    content: str


class Decision(Answer):
    """What was decided, by whom, and the verdict that has held since."""

    decision: str
    attempt: int | None
    verdict: Verdict | None
    edited: bool = False
    edited_answer: str | None = None
    reason: str
    decided_by: str
    decided_at: datetime


class Review(Answer):
    """A verdict that is put before a person; `decision` is None until it is decided, `state` tells of the way there."""

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
        return self.state in {"waiting", "claimed"}


class AskedFor(Answer):
    """The reviews that are open now: one, or a seat for each of several blind reviewers."""

    reviews: list[Review]


class Claim(Answer):
    review: Review
    lease_token: UUID


class DatasetColumn(Answer):
    name: str
    type: str
    is_list: bool
    may_be_null: bool
    description: str
    fields: list["DatasetColumn"] = Field(default_factory=list)


class DatasetKind(Answer):
    kind: str
    schema_version: int
    columns: list[DatasetColumn]


class DatasetKinds(Answer):
    results: list[DatasetKind]


class Page[T](Answer):
    results: list[T]
    next: str | None = None
    previous: str | None = Field(default=None, repr=False)
