"""No page has a word that only English readers understand: what a template or a view says goes through gettext."""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser

from django.conf import settings
from django.template.base import Lexer, TokenType

TEMPLATES = settings.BASE_DIR / "templates"
# The page of the REST interface's documentation is English, as the interface is.
PAGES = sorted(path for path in TEMPLATES.rglob("*.html") if path.parent.name != "api")
LETTER = re.compile(r"[^\W\d_]")
ENTITY = re.compile(r"&#?\w+;")
# Of a partial that is written into a tag.
ATTRIBUTE = re.compile(r"[\w-]+=\"[^\"]*\"|\bdata-[\w-]+|\bnovalidate\b")
UNHEARD = {"blocktranslate", "comment"}
# What is typed or read by machines stays as it is, and so do names.
SPOKEN_BY_MACHINES = {"code", "pre", "kbd", "script", "style"}
SAID_BY_ATTRIBUTES = {"title", "aria-label", "aria-description", "placeholder", "alt", "data-empty"}
NAMES = re.compile(
    r"Reflection Desk|OpenTelemetry|LangGraph|Python|curl|"
    r"JSON Schema|Markdown|OpenAPI|MCP|HTTP|JSON Lines|JSON|CSV|UTC|κ|α"
)
WORDS_BY_FILTER = re.compile(r"\|(?:default|default_if_none|yesno):\"([^\"]*)\"")
WORDS_BY_ARGUMENT = re.compile(r"\b(?:label|title|words|hint|placeholder|heading|text|legend|summary)=\"([^\"]*)\"")


def is_said(text: str) -> bool:
    """Whether a text has words of a language, beside entities and names."""
    return bool(LETTER.search(NAMES.sub("", ENTITY.sub("", ATTRIBUTE.sub("", text)))))


class Heard(HTMLParser):
    """Collects what a page says without translation: its texts, and the attributes that are read out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.said: list[str] = []
        self._within: list[str] = []
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.end_text()
        if tag in SPOKEN_BY_MACHINES:
            self._within.append(tag)
        self.said += [
            value
            for name, value in attrs
            if name in SAID_BY_ATTRIBUTES and value and not value.startswith("{") and is_said(value)
        ]

    def handle_endtag(self, tag: str) -> None:
        self.end_text()
        if tag in self._within:
            self._within.remove(tag)

    def handle_data(self, data: str) -> None:
        self._text += data if not self._within else ""

    def end_text(self) -> None:
        if is_said(self._text):
            self.said.append(self._text.strip())
        self._text = ""


def untranslated(source: str) -> list[str]:
    """The words of a template outside of `translate` and `blocktranslate`."""
    heard, html, is_class, is_translated = Heard(), [], False, False
    for token in Lexer(source).tokenize():
        if token.token_type == TokenType.BLOCK:
            name = token.contents.split()[0]
            is_translated = name in UNHEARD or (is_translated and name not in {f"end{one}" for one in UNHEARD})
            is_class = token.contents == "block page_class" or (is_class and name != "endblock")
            heard.said += WORDS_BY_ARGUMENT.findall(token.contents) if name in {"include", "with"} else []
        if token.token_type in {TokenType.BLOCK, TokenType.VAR}:
            heard.said += [words for words in WORDS_BY_FILTER.findall(token.contents) if is_said(words)]
        elif token.token_type == TokenType.TEXT and not is_translated and not is_class:
            html.append(token.contents)
    heard.feed("".join(html))
    heard.close()
    heard.end_text()
    return heard.said


def test_no_template_speaks_english_alone() -> None:
    found = {str(page.relative_to(TEMPLATES)): untranslated(page.read_text()) for page in PAGES}
    assert len(found) > 100
    assert {page: words for page, words in found.items() if words} == {}


# Calls that put their text before people: by what is called, and which of the arguments is the text.
TOLD = {
    "success": 1, "error": 1, "info": 1, "warning": 1, "add_error": 1,
    "InvalidInput": 0, "NotFound": 0, "Conflict": 0, "AlreadyDecided": 0, "AlreadyAnswered": 0, "ReviewHeld": 0,
    "ReviewLeaseLost": 0, "RunFinished": 0, "MakesItsOwn": 0, "AttemptConflict": 0, "NotItsTurn": 0,
    "TurnsConflict": 0, "OutcomeKnown": 0, "TicketMovedOn": 0,
}  # fmt: skip
SUBJECTS = ("core", "tasks", "runs", "reviews", "repairs", "sessions", "metrics", "teams", "notebook", "web")
# REST speaks English.
TOLD_BY = sorted(
    path
    for subject in SUBJECTS
    for path in (settings.BASE_DIR / "reflection_app" / subject).rglob("*.py")
    if not {"api", "api.py", "answers", "answers.py"} & set(path.parts)
)


def english_alone(tree: ast.AST) -> Iterator[str]:
    """Where a literal, or a literal in a name of the same function called `message`, is told as it is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _told_by(node)
        elif isinstance(node, ast.Assign) and any(_is_message(target) for target in node.targets):
            yield from _plain(node.value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "message":
                    yield from _plain(value)


def _is_message(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id in {"message", "problem", "complaint"}


def _told_by(call: ast.Call) -> Iterator[str]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    of = getattr(call.func, "value", None)
    if name in {"success", "error", "info", "warning"} and getattr(of, "id", "") != "messages":
        return
    if name in TOLD and len(call.args) > TOLD[name]:
        yield from _plain(call.args[TOLD[name]])


def _plain(value: ast.expr) -> Iterator[str]:
    """The literals of an expression that no gettext call stands around."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str) and is_said(value.value):
        yield f"line {value.lineno}: {value.value}"
    elif isinstance(value, ast.JoinedStr) and any(
        is_said(str(getattr(part, "value", ""))) for part in value.values if isinstance(part, ast.Constant)
    ):
        yield f"line {value.lineno}: {ast.unparse(value)}"
    elif isinstance(value, ast.IfExp):
        yield from (*_plain(value.body), *_plain(value.orelse))
    elif isinstance(value, ast.BinOp):
        yield from (*_plain(value.left), *_plain(value.right))


def test_no_view_and_no_error_speaks_english_alone() -> None:
    found = {path: list(english_alone(ast.parse(path.read_text()))) for path in TOLD_BY}
    assert len(found) > 100
    assert {path: words for path, words in found.items() if words} == {}


def test_a_literal_inside_gettext_has_no_values_in_it() -> None:
    """Of an f-string no catalogue can know the text."""
    for path in TOLD_BY:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"_", "gettext", "ngettext"}:
                assert not any(isinstance(part, ast.JoinedStr) for part in node.args), (path.name, node.lineno)
