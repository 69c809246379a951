"""What a completeness check is told, what it finds, and what came of the supplements. Pure values."""

import hashlib
import re
import unicodedata
from decimal import Decimal
from enum import StrEnum

from pydantic import Field

from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value

LONGEST_OPERATION = 500


class CompletenessSettings(Value):
    """Settings as in the seed. `max_supplements` 0 means: check only. The model is that of the role `completeness`."""

    enabled: bool = True
    max_supplements: int = Field(default=3, ge=0, le=20)
    temperature: float = Field(default=0.2, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_retries: int = Field(default=2, ge=0, le=5)


class HistoryStep(Value):
    """One step of what was done so far."""

    operation: Text
    tool: Text = ""
    ok: bool = True
    result: Text = ""


class CheckState(StrEnum):
    """UNCHECKED: the check itself failed, which says nothing about the work."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    UNCHECKED = "unchecked"


class Supplement(Value):
    operation: Text = Field(min_length=1, max_length=LONGEST_OPERATION)
    reason: Text = ""
    suggested_tools: tuple[Text, ...] = ()


class Dropped(Value):
    """A supplement, or a tool of one, that a guard left out, and why."""

    operation: Text
    why: Text


class Completeness(Value):
    """What a check found, after the guards. `steps_ok` is apart from it: steps that worked may not be all there are."""

    attempt: int = Field(default=1, ge=1)
    state: CheckState
    analysis: Text = ""
    missing_aspects: tuple[Text, ...] = ()
    supplements: tuple[Supplement, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    steps_ok: bool = True
    error: Text = ""
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)


class SupplementResult(Value):
    """How one supplement went, and what it cost."""

    operation: Text
    tools: tuple[Text, ...] = ()
    attempted: bool
    succeeded: bool
    error: Text = ""
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)


class SupplementsRun(Value):
    """What became of all supplements of a check, with the run's statistics as they are then."""

    attempt: int = Field(default=1, ge=1)
    results: tuple[SupplementResult, ...] = ()
    used: bool
    attempted: int = 0
    succeeded: int = 0

    @property
    def success_rate(self) -> float:
        return self.succeeded / self.attempted if self.attempted else 0.0


# What two texts have in common, in English and Chinese alike: the words of one, the pairs of signs of the other.

LONGEST_KEY = 300
LONGEST_READ = 100_000
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PIECE = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+")
_IS_HAN = re.compile(rf"[{_HAN}]")

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


def _pieces(text: str) -> list[str]:
    return _PIECE.findall(unicodedata.normalize("NFKC", text[:LONGEST_READ]).casefold())


def _telling(piece: str) -> str:
    """The word without its plural's s, or the Chinese signs that say something; nothing for an empty word."""
    if _IS_HAN.match(piece):
        return piece.translate(_WITHOUT_EMPTY)
    if piece in _EMPTY:
        return ""
    is_plural = len(piece) > 3 and piece.endswith("s") and not piece.endswith(("ss", "us", "is"))
    return piece[:-1] if is_plural else piece
