"""Parse a typed value from model output that may quote the text under evaluation.

The answer is the one object that the model itself wrote. An object that also appears in the text it was asked about is
a quotation, even in another spelling. If quotations occur, the answer must be clearly separate from them. If another
candidate object occurs, nothing is parsed. Asking again is safe; guessing could accept a forged verdict.
"""

import html
import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import json_repair
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from reflection_app.loops.storable import leaves, storable, storable_value
from reflection_app.loops.texts import at_most
from reflection_app.loops.tool_calls import is_too_deep
from reflection_app.loops.verdicts import LONGEST_TEXT

# Field that identifies an object as written in this call. Text from before the call cannot contain its value.
NONCE = "nonce"
MOST_OBJECTS = 50
LONGEST_ANSWER = 100_000
# On hostile text, repair takes time quadratic in its length.
LONGEST_MENDED = 6_000

# Braces that open an object are followed by a key, a comment or the end. Other braces occur in prose: {as JSON}, {:-).
_OPENS = re.compile(r"""\{(?=\s*(?:\\*["'“”‘’„«]|//|/\*|\#|[A-Za-z_][\w-]*+\s*[:：]|\Z))""")
_STRUCTURE = re.compile(r"""[{}"'“]|//[^\n]*+|/\*.*?(?:\*/|\Z)""", re.DOTALL)
_CLOSES = {opening: re.compile(rf"(?<!\\)(?:\\\\)*{closing}") for opening, closing in ('""', "''", "“”")}
# Reasoning that some servers leave before the answer.
_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_AROUND = " \t`*_.,;。，；!！)）]}"
_TAG = re.compile(r"</?\w+>|```\w*")
_NO_SIGN = re.compile(r"[\W_]+")
# A name with a boolean or a number. Quantifiers are possessive because the text is hostile.
_PAIR = re.compile(
    r"""(?<!\w)(\w{1,60}+)[\s"'”’\\*`]*+[:：=][\s"'“‘\\*`]*+(-?\d++(?:\.\d++)?|true\b|false\b)""", re.IGNORECASE
)
CUT_OFF = "its JSON is cut off"
_OTHER_QUOTES = re.compile(r"\{\s*[“„«]")
_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
# Full-width characters in place of JSON punctuation.
_QUOTE_COLON = re.compile(r'"\s*：')
_COMMA_QUOTE = re.compile(r'，\s*(["}])')
# Each of these ligatures expands to a whole sentence; hostile texts could grow by them.
_LIGATURES = dict.fromkeys(map(ord, "\ufdfa\ufdfb"), " ")
# A single shared number may be a coincidence.
FEWEST_ALIKE = 2


class UnusableAnswerError(ValueError):
    """The model's answer does not have the requested form."""


@dataclass(frozen=True)
class Piece:
    """A candidate object in an answer. If it cannot be parsed, `value` is None and `problem` gives the reason."""

    text: str
    value: dict[str, Any] | None
    problem: str
    # Text around the object on its first and on its last line.
    before: str
    after: str
    # Repair may mistake a quotation inside a string for fields of the object.
    is_mended: bool = False

    @property
    def is_marked_as_quoted(self) -> bool:
        return self.before.lstrip().startswith(">")

    @property
    def ends_its_line(self) -> bool:
        """True if no further text follows on the same line."""
        return not _TAG.sub("", self.after).strip(_AROUND)


def read_answer[T: BaseModel](
    text: str, *, schema: type[T], asked: str = "", nonce: str = "", needs_nonce: bool = False
) -> T:
    """Parse the model's own value from `text`, repairing near-JSON. Surrounding prose is allowed.

    `asked` is what the model was shown. An object that occurs there counts as the model's own only with the `nonce`.
    With `needs_nonce`, an object surrounded by prose needs it too. Raise UnusableAnswerError with the reason.
    """
    if len(text) > LONGEST_ANSWER:
        raise UnusableAnswerError(f"it is longer than {LONGEST_ANSWER:,} characters")
    text = _bare(text)
    pieces = list(_pieces(text, names={*schema.model_fields, NONCE}))
    if not pieces:
        raise UnusableAnswerError("there is no JSON object in it")
    proved = f', with "{NONCE}": "{nonce}" in it' if nonce else ""
    quoted = Quoted(asked, fields=set(schema.model_fields))
    marked = [
        piece
        for piece in pieces
        if nonce and piece.value and piece.value.get(NONCE) == nonce and not (piece.is_mended and piece in quoted)
    ]
    others = [piece for piece in pieces if piece not in marked]
    quotations = [piece for piece in others if piece.is_marked_as_quoted or piece in quoted]
    rivals = [piece for piece in others if piece not in quotations and _is_rival(piece, schema, is_marked=bool(marked))]
    own = [piece for piece in pieces if piece in marked or piece in rivals]
    if not own:
        raise UnusableAnswerError(f"no object in it is an answer of your own; give one{proved}")
    if any(_content_of(piece) != _content_of(own[0]) for piece in own):
        raise UnusableAnswerError("it holds several different JSON objects; answer with one, and quote none")
    answer = own[-1]
    if answer.value is None:
        raise UnusableAnswerError(answer.problem)
    if not marked and quotations and not answer.ends_its_line:
        raise UnusableAnswerError(
            f"it is not clear which of its JSON objects is the answer; give one by itself{proved}"
        )
    if needs_nonce and not marked:
        prose = text
        for piece in pieces:
            prose = prose.replace(piece.text, "")
        if any(map(str.isalnum, _TAG.sub("", prose))):
            raise UnusableAnswerError(f"it is not clear that the object in it is your answer; give it alone{proved}")
    try:
        return schema.model_validate(_without_nonce(answer.value))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)[:8]
        places = [".".join(str(part) for part in problem["loc"]) or "the answer" for problem in problems]
        messages = [f"{place}: {problem['msg']}" for place, problem in zip(places, problems, strict=True)]
        raise UnusableAnswerError("; ".join(messages)) from None


def _bare(text: str) -> str:
    """Return the answer without leading reasoning, and without JSON-string or HTML escaping."""
    text = _THOUGHT.sub("", text, count=1)
    if text.lstrip().startswith('"{'):
        try:
            text = str(json.loads(text))
        except ValueError:
            return text
    return html.unescape(text) if "{&quot;" in text.replace(" ", "") else text


def _is_rival(piece: Piece, schema: type[BaseModel], *, is_marked: bool) -> bool:
    """Return True if `piece` may be meant as an answer. Code and settings in prose use other field names.

    If a marked answer exists, only an object that fits `schema` is a rival.
    """
    if is_marked:
        try:
            schema.model_validate(piece.value)
        except ValidationError:
            return False
        return True
    return piece.problem == CUT_OFF or any(
        re.search(rf"(?<!\w){name}(?!\w)", piece.text) for name in schema.model_fields
    )


def _content_of(piece: Piece) -> Any:
    return piece.text if piece.value is None else _without_nonce(piece.value)


def _without_nonce(value: dict[str, Any]) -> dict[str, Any]:
    return {name: inner for name, inner in value.items() if name != NONCE}


class Quoted:
    """Text to search for quotations, regardless of their spelling, order or layout."""

    def __init__(self, text: str, *, fields: set[str]) -> None:
        self._fields = fields
        self._signs = _signs(text)
        pairs = [(name.lower(), value.lower()) for name, value in _PAIR.findall(_plain(text))]
        self._pairs = {(name, value == "true" if value in {"true", "false"} else float(value)) for name, value in pairs}

    def __contains__(self, piece: Piece) -> bool:
        """Return True if the text contains `piece` literally, or every boolean and number of it."""
        if piece.problem == CUT_OFF:
            # Its end may belong to the model's own object.
            return False
        if _signs(piece.text) in self._signs:
            return True
        pairs = [pair for pair in _scalars(piece.value) if pair[0] in self._fields]
        if len(pairs) >= FEWEST_ALIKE and all(pair in self._pairs for pair in pairs):
            return True
        scalars = list(_scalars(piece.value, deep=True))
        texts = [one for one in leaves(piece.value) if isinstance(one, str)]
        return (
            bool(scalars)
            and len(scalars) + len(texts) >= FEWEST_ALIKE
            and all(pair in self._pairs for pair in scalars)
            and all(_signs(text) in self._signs for text in texts)
        )


def _scalars(value: Any, *, deep: bool = False) -> Iterator[tuple[str, bool | float]]:
    """Yield each boolean and number of an object with its name. With `deep`, include nested ones."""
    for name, inner in value.items() if isinstance(value, dict) else ():
        if isinstance(inner, bool | int | float):
            yield name.lower(), inner
        elif deep:
            for item in inner if isinstance(inner, list) else [inner]:
                yield from _scalars(item, deep=True)


def _plain(text: str) -> str:
    """Return the text without invisible characters, and with look-alike characters normalized (NFKC)."""
    text = unicodedata.normalize("NFKC", text.translate(_LIGATURES))
    return text if text.isascii() else "".join(sign for sign in text if unicodedata.category(sign) != "Cf")


def _signs(text: str) -> str:
    """Return only the letters and digits of `text`, in lower case."""
    return _NO_SIGN.sub("", _plain(text)).lower()


def _pieces(text: str, *, names: set[str]) -> Iterator[Piece]:
    """Yield each top-level object candidate in `text`. Raise UnusableAnswerError if there are too many."""
    ends = count = 0
    while (opening := _OPENS.search(text, ends)) is not None:
        count += 1
        if count > MOST_OBJECTS:
            raise UnusableAnswerError(f"it holds more than {MOST_OBJECTS} JSON objects; answer with one")
        begins = opening.start()
        source = text.translate(_QUOTES) if _OTHER_QUOTES.match(text, begins) else text
        value, problem, is_mended = None, "", False
        try:
            value, ends = _DECODER.raw_decode(source, begins)
        except (ValueError, RecursionError) as error:
            found = _end_of(source, begins)
            if found is None:
                ends, problem = len(text), CUT_OFF
            elif isinstance(error, _Twins):
                ends, problem = found, "a key stands twice in its JSON"
            else:
                value, ends, is_mended = _mended(source[begins:found], names=names), found, True
        if not problem and (not isinstance(value, dict) or is_too_deep(value)):
            problem = "its JSON cannot be read"
        yield Piece(
            text[begins:ends],
            None if problem else storable_value(value),
            problem,
            before=text[text.rfind("\n", 0, begins) + 1 : begins],
            after=text[ends:].split("\n", 1)[0],
            is_mended=is_mended,
        )


class _Twins(ValueError):
    """A duplicate key: it is unclear which value applies."""


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({storable(key) for key, _ in pairs}) < len(pairs):
        raise _Twins
    return dict(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_without_twins, strict=False)


def _end_of(text: str, begins: int) -> int | None:
    """Return the index after the brace that closes the one at `begins`, or None if it is never closed.

    Braces in strings and comments do not count.
    """
    depth, at = 0, begins
    while (found := _STRUCTURE.search(text, at)) is not None:
        sign, at = found[0], found.end()
        if sign in ("{", "}"):
            depth += 1 if sign == "{" else -1
            if not depth:
                return at
        elif sign in _CLOSES:
            closing = _CLOSES[sign].search(text, at)
            if closing is None:
                return None
            at = closing.end()
    return None


def _mended(text: str, *, names: set[str]) -> Any:
    """Repair `text` with json_repair. Return None if it fails or a field occurs more than once."""
    if len(text) > LONGEST_MENDED:
        return None
    if any(len(re.findall(rf"""(?<!\w){re.escape(name)}["'”’]?\s*[:：]""", text)) > 1 for name in names):
        return None
    text = _COMMA_QUOTE.sub(r",\1", _QUOTE_COLON.sub('":', text))
    try:
        return json_repair.loads(text)
    except (ValueError, RecursionError):
        return None


# Base types for parsing model answers: unknown fields are ignored, and a lone text becomes a list of one.

MOST_ITEMS = 50


class Lenient(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


def as_list(value: Any) -> Any:
    """Return `value` as a list: a lone text becomes one item, null an empty list. Excess items are dropped."""
    if value is None:
        return []
    return [value] if isinstance(value, str) else value[:MOST_ITEMS] if isinstance(value, list) else value


def read_as[E: StrEnum](kind: type[E], *, otherwise: E) -> BeforeValidator:
    """Return a validator that maps unknown names to `otherwise`. Models invent kinds and categories."""

    def read(value: Any) -> E:
        name = str(value).strip().lower().replace(" ", "_")
        return kind(name) if name in kind else otherwise

    return BeforeValidator(read)


def _or_empty(value: Any) -> Any:
    """Return "" for null."""
    return "" if value is None else value


def as_described(value: Any) -> Any:
    """Return a list of objects in which a plain sentence becomes an object's `description`."""
    items = as_list(value)
    if not isinstance(items, list):
        return items
    return [item if isinstance(item, dict) else {"description": str(item)} for item in items if item]


def _no_flag(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


def _flag(value: Any) -> Any:
    text = value.strip().lower() if isinstance(value, str) else ""
    if not isinstance(value, bool) and text not in {"true", "false"}:
        raise ValueError("must be true or false")
    return value if isinstance(value, bool) else text == "true"


# A verdict depends on these, so "yes", "on" and 1 are rejected as booleans, and true is rejected as a number.
Flag = Annotated[bool, BeforeValidator(_flag)]
Number = Annotated[float, BeforeValidator(_no_flag), Field(allow_inf_nan=False)]
Share = Annotated[Number, Field(ge=0, le=1)]
Clipped = Annotated[str, at_most(LONGEST_TEXT)]
Said = Annotated[Clipped, BeforeValidator(_or_empty)]
Texts = Annotated[tuple[Clipped, ...], BeforeValidator(as_list)]
