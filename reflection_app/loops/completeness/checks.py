"""What a completeness check is told, what it finds, and what came of the supplements. Pure values."""

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
    """Settings as in the seed. `max_supplements` 0 means: check only. The model is that of the role `completeness`.

    `share` is the share of runs that is checked where `when` is sampled, `max_cost_usd` the money limit of a check with
    all its supplements. `look_again`: a run whose supplements all worked is complete only once a second look says so.
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
        """Settings of a kind of task, which were removed, were the project's."""
        return cls.PROJECT if value == "kind" else None


class CheckNumbers(Value):
    """Settings of a check, chosen for some of the work; None leaves each as it is for the rest."""

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
        """Return `settings` with these in front."""
        return CompletenessSettings.model_validate(settings.model_dump() | self.chosen)


class CheckChoice(CheckNumbers):
    """Completeness-check settings for one task; null uses the project's value."""

    when: When | None = Field(default=None, description="sampled: check a random `share` of the runs")
    share: Chance | None = None


class HistoryStep(Value):
    """One step of what was done so far. `arguments` are those of its call; None where nobody told them."""

    operation: Text
    tool: Text = ""
    arguments: dict[str, JsonValue] | None = None
    ok: bool = True
    result: Text = ""


class CheckState(StrEnum):
    """UNCHECKED: the check itself failed, and file inspection found no faults.

    SUPPLEMENTED: the work was incomplete, then everything missing was completed.
    """

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    UNCHECKED = "unchecked"
    SUPPLEMENTED = "completed_by_supplement"


class Supplement(Recorded):
    """`suggested_tools` are those that the check named. Where it named none, the plan may use any of `fitting_tools`.

    `may_repeat`: the task asks for something done once more.

    `missing` is which of the missing aspects it serves, `quote` the words of the task that it follows from; both are
    empty where the check named none that stands.
    """

    operation: Text = Field(min_length=1, max_length=LONGEST_OPERATION)
    reason: Text = ""
    missing: Text = ""
    quote: Text = ""
    suggested_tools: tuple[Text, ...] = ()
    fitting_tools: tuple[Text, ...] = ()
    may_repeat: bool = False
    # Left out where nothing is known of its tools.
    record: SupplementRecord | None = Field(default=None, exclude_if=lambda record: record is None)

    @property
    def allowed_tools(self) -> tuple[str, ...]:
        """The only tools that carrying it out may use."""
        return self.suggested_tools or self.fitting_tools


class Likeness(Value):
    """How like each operation is to its quote and to each tool, in deviations from how like any two are.

    Empty without a model that can tell: words decide then.
    """

    to_quote: tuple[float, ...] = ()
    to_tools: tuple[tuple[float, ...], ...] = ()


class FileAspect(Value):
    """Something that the produced files lack, by the code of the fault and what fills its words."""

    file: Text
    fault: FileFault


class Completeness(Recorded):
    """What a check found, after the guards. `steps_ok` is apart from it: steps that worked may not be all there are.

    `files` are those that were opened before it was asked, and `faulty_files` what they lack: code's word, which no
    model's stands against.
    """

    attempt: int = Field(default=1, ge=1)
    state: CheckState
    analysis: Text = ""
    missing_aspects: tuple[Text, ...] = ()
    supplements: tuple[Supplement, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    steps_ok: bool = True
    error: Text = ""
    # Left out where nothing was to be looked at.
    looked: Looked | None = Field(default=None, exclude_if=lambda looked: looked is None)
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    # Left out where nothing was looked at: what was recorded before files were reads and is written as ever.
    files: FilesInspected | None = Field(default=None, exclude_if=lambda files: files is None)
    faulty_files: tuple[FileAspect, ...] = Field(default=(), exclude_if=lambda aspects: not aspects)
    cost_known: bool = True


class SupplementResult(Value):
    """How one supplement went, and what it cost. `done_already`: its call was made before, so it was not made again.

    `left_out`: it was not begun, or not ended, because the check's money was used up.
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
    """What became of all supplements of a check, with the run's statistics as they are then.

    `completes`: with them nothing is missing any more of what the check found. `looks_again`: a second look has the
    last word on that.
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
    """The check's state once its supplements were carried out, and looked at again where they are.

    A second look that failed, or was not made yet, leaves it as it was found.
    """
    if found.state is not CheckState.INCOMPLETE or done is None or done.attempt != found.attempt or not done.completes:
        return found.state
    if done.looks_again:
        is_of_it = second_look is not None and second_look.attempt == found.attempt
        is_completed = is_of_it and second_look is not None and second_look.state is CheckState.COMPLETE
        return CheckState.SUPPLEMENTED if is_completed else found.state
    return CheckState.SUPPLEMENTED


# What two texts have in common, in English and Chinese alike: the words of one, the pairs of signs of the other.

LONGEST_KEY = 300
LONGEST_READ = 100_000
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PIECE = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+")
_IS_HAN = re.compile(rf"[{_HAN}]")
_SPACE_BY_HAN = re.compile(rf"(?<=[{_HAN}]) | (?=[{_HAN}])")

# Words that say nothing of what is done. Those that turn a sense round (not, without) or tell a direction (from, to)
# stay: "from Rome to Paris" is another operation than "from Paris to Rome".
_EMPTY_WORDS = "a an the please then also now just and of for it its this that these those is are be will"
_EMPTY_SIGNS = "的了请請将將把地得吧呢啊个個并並且再"
# Shared by any two texts about work, and so no sign that they are about the same.
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
    """Equal for operations that say the same: by words and signs in their order, without those that say nothing.

    At most LONGEST_KEY characters; empty only where the text holds neither a word nor a number.
    """
    pieces = _pieces(text)
    key = " ".join(word for piece in pieces if (word := _telling(piece))) or " ".join(pieces)
    if len(key) <= LONGEST_KEY:
        return key
    rest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return f"{key[: LONGEST_KEY - 17]}…{rest}"[:LONGEST_KEY]


def content_of(text: str) -> frozenset[str]:
    """The words and the pairs of Chinese signs by which `text` can be told to be about something."""
    found: set[str] = set()
    for piece in _pieces(text):
        if _IS_HAN.match(piece):
            signs = piece.translate(_WITHOUT_EMPTY)
            found |= {signs[at : at + 2] for at in range(len(signs) - 1)} - _COMMON
        elif len(piece) > 1 and piece not in _EMPTY and piece not in _COMMON:
            found.add(_telling(piece))
    return frozenset(found)


def stands_in(quote: str, text: str) -> bool:
    """Whether `text` holds the words of `quote` one after the other, whatever stands between them but words."""
    words, among = (_SPACE_BY_HAN.sub("", " ".join(_words(one))) for one in (quote, text))
    if not words or not content_of(quote):
        return False
    # Chinese signs beside a word in letters are no part of it.
    start = "" if _IS_HAN.match(words[0]) else rf"(?<![^\W{_HAN}])"
    end = "" if _IS_HAN.match(words[-1]) else rf"(?![^\W{_HAN}])"
    return bool(re.search(f"{start}{re.escape(words)}{end}", among))


def _words(text: str) -> list[str]:
    return _PIECE.findall(unicodedata.normalize("NFKC", text).casefold())


def _pieces(text: str) -> list[str]:
    return _words(text[:LONGEST_READ])


def _telling(piece: str) -> str:
    """The word without its plural's s, or the Chinese signs that say something; nothing for an empty word."""
    if _IS_HAN.match(piece):
        return piece.translate(_WITHOUT_EMPTY)
    if piece in _EMPTY:
        return ""
    is_plural = len(piece) > 3 and piece.endswith("s") and not piece.endswith(("ss", "us", "is"))
    return piece[:-1] if is_plural else piece
