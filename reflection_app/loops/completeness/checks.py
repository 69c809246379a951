"""Values of a completeness check: its settings, its findings, and the results of its supplements."""

import hashlib
import re
import unicodedata
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, JsonValue, model_validator

from reflection_app.loops.completeness.dropped import DropCode, Dropped
from reflection_app.loops.completeness.files import FileFault, FilesInspected
from reflection_app.loops.completeness.looked import Looked
from reflection_app.loops.completeness.records import SupplementRecord
from reflection_app.loops.completeness.sampling import Chance, When, read_former
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Recorded, Value

LONGEST_OPERATION = 500

Usd = Annotated[Decimal, Field(gt=0, max_digits=12, decimal_places=6)]


class CompletenessSettings(Value):
    """Settings as in the seed. `max_supplements=0` checks only. The model role is `completeness`.

    If `when` is sampled, `share` is the share of runs to check. `max_cost_usd` limits the cost of a check including its
    supplements. With `look_again`, a run whose supplements all worked is complete only after a second check confirms
    it.
    """

    when: When = When.ON
    share: Chance = Field(default=0.1, description="share of runs to check, 0 to 1, if sampled")
    max_supplements: int = Field(
        default=3, ge=0, le=20, description="maximum number of follow-up steps; 0 means check only"
    )
    temperature: float = Field(default=0.2, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_retries: int = Field(default=2, ge=0, le=5)
    max_cost_usd: Usd | None = None
    look_again: bool = True

    @model_validator(mode="before")
    @classmethod
    def read_former_settings(cls, value: Any) -> Any:
        return read_former(value) if isinstance(value, dict) else value


class SettingsFrom(StrEnum):
    """Source of the settings of a run's check: the most specific level that defines any."""

    TASK = "task"
    PROJECT = "project"
    DESK = "desk"

    @classmethod
    def _missing_(cls, value: object) -> "SettingsFrom | None":
        """Read "kind", a removed level, as the project's settings."""
        return cls.PROJECT if value == "kind" else None


class CheckNumbers(Value):
    """Overrides of check settings. None keeps the value of the less specific level."""

    max_supplements: int | None = Field(default=None, ge=0, le=20)
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_retries: int | None = Field(default=None, ge=0, le=5)
    max_cost_usd: Usd | None = None
    look_again: bool | None = None

    @property
    def chosen(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)

    def over(self, settings: CompletenessSettings) -> CompletenessSettings:
        """Return `settings` overridden by the values set here."""
        return CompletenessSettings.model_validate(settings.model_dump() | self.chosen)


class CheckChoice(CheckNumbers):
    """Completeness-check settings for one task; null uses the project's value."""

    when: When | None = Field(default=None, description="sampled: check a random `share` of the runs")
    share: Chance | None = None


class HistoryStep(Value):
    """A step of the work so far. `arguments` are those of its call, or None if unknown."""

    operation: Text
    tool: Text = ""
    arguments: dict[str, JsonValue] | None = None
    ok: bool = True
    result: Text = ""


class CheckState(StrEnum):
    """State of a completeness check. UNCHECKED: the check failed, and file inspection found no faults.

    SUPPLEMENTED: the work was incomplete, then everything missing was completed.
    """

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    UNCHECKED = "unchecked"
    SUPPLEMENTED = "completed_by_supplement"


class Supplement(Recorded):
    """A follow-up step that the check suggests.

    `suggested_tools` are the tools that the check named. If it named none, the plan may use any of `fitting_tools`.
    `may_repeat`: the task asks for something to be done once more.

    `missing` is the missing aspect that the step serves, `quote` the words of the task it follows from. Both are empty
    if the check named no valid one.
    """

    operation: Text = Field(min_length=1, max_length=LONGEST_OPERATION)
    reason: Text = ""
    missing: Text = ""
    quote: Text = ""
    suggested_tools: tuple[Text, ...] = ()
    fitting_tools: tuple[Text, ...] = ()
    may_repeat: bool = False
    # Excluded if nothing is known of its tools.
    record: SupplementRecord | None = Field(default=None, exclude_if=lambda record: record is None)

    @property
    def allowed_tools(self) -> tuple[str, ...]:
        """The only tools that may be used to carry it out."""
        return self.suggested_tools or self.fitting_tools


class Likeness(Value):
    """Similarity of each operation to its quote and to each tool, as standard scores.

    The unit is deviations from the similarity of any two texts. Empty without an embedding model; shared words decide
    then.
    """

    to_quote: tuple[float, ...] = ()
    to_tools: tuple[tuple[float, ...], ...] = ()


class FileAspect(Value):
    """A fault of a produced file, or a missing file."""

    file: Text
    fault: FileFault


class Completeness(Recorded):
    """Result of a check, after the guards.

    `steps_ok` is separate: steps may all have worked and still leave something missing. `files` are the files opened
    before the model was asked. `faulty_files` are faults found by code, which no model can overrule.
    """

    attempt: int = Field(default=1, ge=1)
    state: CheckState
    analysis: Text = ""
    missing_aspects: tuple[Text, ...] = ()
    supplements: tuple[Supplement, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    steps_ok: bool = True
    error: Text = ""
    # Excluded if there was nothing to inspect visually.
    looked: Looked | None = Field(default=None, exclude_if=lambda looked: looked is None)
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    # Excluded if no file was inspected, so records from before file inspection read and serialize unchanged.
    files: FilesInspected | None = Field(default=None, exclude_if=lambda files: files is None)
    faulty_files: tuple[FileAspect, ...] = Field(default=(), exclude_if=lambda aspects: not aspects)
    cost_known: bool = True


class SupplementResult(Value):
    """Result and cost of one supplement. `done_already`: its call was made before and was not repeated.

    `left_out`: it was not started, or not finished, because the check's cost limit was reached.
    """

    operation: Text
    tools: tuple[Text, ...] = ()
    attempted: bool
    succeeded: bool
    done_already: bool = False
    error: Text = ""
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    cost_known: bool = True
    seconds: float = 0.0
    left_out: DropCode | None = None


class SupplementsRun(Value):
    """Results of all supplements of a check, with the run's statistics at that point.

    `completes`: with them, nothing that the check found is missing anymore. `looks_again`: a second check makes the
    final decision on that.
    """

    attempt: int = Field(default=1, ge=1)
    results: tuple[SupplementResult, ...] = ()
    used: bool
    attempted: int = 0
    succeeded: int = 0
    completes: bool = False
    looks_again: bool = False

    @property
    def success_rate(self) -> float:
        return self.succeeded / self.attempted if self.attempted else 0.0


def state_after(
    found: Completeness, done: SupplementsRun | None, *, second_look: Completeness | None = None
) -> CheckState:
    """Return the check's state after its supplements, and after the second check if one is due.

    If the second check failed, or was not made yet, the state stays as found.
    """
    if found.state is not CheckState.INCOMPLETE or done is None or done.attempt != found.attempt or not done.completes:
        return found.state
    if done.looks_again:
        is_of_it = second_look is not None and second_look.attempt == found.attempt
        is_completed = is_of_it and second_look is not None and second_look.state is CheckState.COMPLETE
        return CheckState.SUPPLEMENTED if is_completed else found.state
    return CheckState.SUPPLEMENTED


# Text overlap in English and Chinese: words of the former, pairs of characters of the latter

LONGEST_KEY = 300
LONGEST_READ = 100_000
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PIECE = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+")
_IS_HAN = re.compile(rf"[{_HAN}]")
_SPACE_BY_HAN = re.compile(rf"(?<=[{_HAN}]) | (?=[{_HAN}])")

# Words that do not identify an operation. Words that reverse the meaning (not, without) or give a direction (from, to)
# are not among them: "from Rome to Paris" differs from "from Paris to Rome".
_EMPTY_WORDS = "a an the please then also now just and of for it its this that these those is are be will"
_EMPTY_SIGNS = "的了请請将將把地得吧呢啊个個并並且再"
# Shared by any two texts about work, so no evidence of a common subject.
_COMMON_WORDS = (
    "to in on at by with from or not no as into was were been has have had do does did done can should must need "
    "needs needed step steps task tasks operation operations missing complete incomplete completed check still user "
    "result results tool tools use used using all any more"
)
_COMMON_PAIRS = (
    "进行 需要 操作 任务 步骤 完成 执行 没有 缺少 遗漏 用户 结果 工具 使用 已经 以及 可以 应该 明确 要求 未完"
)

_EMPTY = frozenset(_EMPTY_WORDS.split())
_WITHOUT_EMPTY = str.maketrans("", "", _EMPTY_SIGNS)
_COMMON = frozenset(f"{_COMMON_WORDS} {_COMMON_PAIRS}".split())


def operation_key(text: str) -> str:
    """Return a key that is equal for operations with the same meaning: words in order, without fillers.

    At most LONGEST_KEY characters. Empty only if the text holds neither a word nor a number.
    """
    pieces = _pieces(text)
    key = " ".join(word for piece in pieces if (word := _telling(piece))) or " ".join(pieces)
    if len(key) <= LONGEST_KEY:
        return key
    rest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return f"{key[: LONGEST_KEY - 17]}…{rest}"[:LONGEST_KEY]


def content_of(text: str) -> frozenset[str]:
    """Return the words and pairs of Chinese characters that indicate the subject of `text`."""
    found: set[str] = set()
    for piece in _pieces(text):
        if _IS_HAN.match(piece):
            signs = piece.translate(_WITHOUT_EMPTY)
            found |= {signs[at : at + 2] for at in range(len(signs) - 1)} - _COMMON
        elif len(piece) > 1 and piece not in _EMPTY and piece not in _COMMON:
            found.add(_telling(piece))
    return frozenset(found)


def stands_in(quote: str, text: str) -> bool:
    """Return True if `text` contains the words of `quote` in sequence. Punctuation and spaces may differ."""
    words, among = (_SPACE_BY_HAN.sub("", " ".join(_words(one))) for one in (quote, text))
    if not words or not content_of(quote):
        return False
    # A Chinese character next to a Latin word is not part of that word.
    start = "" if _IS_HAN.match(words[0]) else rf"(?<![^\W{_HAN}])"
    end = "" if _IS_HAN.match(words[-1]) else rf"(?![^\W{_HAN}])"
    return bool(re.search(f"{start}{re.escape(words)}{end}", among))


def _words(text: str) -> list[str]:
    return _PIECE.findall(unicodedata.normalize("NFKC", text).casefold())


def _pieces(text: str) -> list[str]:
    return _words(text[:LONGEST_READ])


def _telling(piece: str) -> str:
    """Return the word without a plural "s", or the Chinese characters without fillers; "" for a filler."""
    if _IS_HAN.match(piece):
        return piece.translate(_WITHOUT_EMPTY)
    if piece in _EMPTY:
        return ""
    is_plural = len(piece) > 3 and piece.endswith("s") and not piece.endswith(("ss", "us", "is"))
    return piece[:-1] if is_plural else piece
