"""HTML and Markdown: headings, words, and links that lead nowhere in the document or among the files beside it."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote

from reflection_app.adapters.files.inside.found import CannotLook, Found, line_place
from reflection_app.loops.completeness.file_codes import FaultCode
from reflection_app.loops.lengths import lines_of

# Elements whose end tag must be written.
MUST_END = frozenset(
    {
        *("div", "span", "table", "section", "article", "main", "aside", "nav", "header", "footer", "figure", "ul"),
        *("ol", "dl", "form", "select", "button", "a", "strong", "em", "b", "i", "code", "pre", "h1", "h2", "h3"),
        *("h4", "h5", "h6", "script", "style", "textarea", "svg", "canvas", "video", "audio", "blockquote", "title"),
    }
)
UNSEEN = {"script", "style", "template", "noscript"}
TEMPLATE = re.compile(r"\{\{|\{%|<%|\$\{|\{[A-Za-z_]\w*\}")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
DECLARED = re.compile(rb"""<meta[^>]{0,200}?charset\s*+=\s*+["']?\s*+([A-Za-z0-9_\-]+)""", re.IGNORECASE)
DECLARED_XML = re.compile(rb"""^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9_\-]+)""")
HEADING = re.compile(r"h[1-6]")
type Link = tuple[int, str]


def declared_encoding(content: bytes) -> str:
    """What the document itself says of its encoding."""
    match = DECLARED_XML.search(content[:1_024]) or DECLARED.search(content[:4_096])
    return match.group(1).decode("ascii") if match else ""


class Outline(HTMLParser):
    """Collects what a document says of itself while it is read."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: set[str] = set()
        self.links: list[Link] = []
        self.headings: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.lines: list[str] = []
        self.open: list[str] = []
        self.heading: list[str] | None = None
        self.block: list[str] = []
        self.has_html = self.has_body = self.has_end = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.note(attrs)
        values = {name: value or "" for name, value in attrs}
        for name in ("href", "src"):
            if name in values and tag not in {"base", "use", "image"}:
                self.links.append((self.getpos()[0], values[name]))
        self.has_html |= tag == "html"
        self.has_body |= tag == "body"
        if tag in MUST_END:
            self.open.append(tag)
        if HEADING.fullmatch(tag):
            self.heading = []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag in MUST_END:
            self.open.pop()

    def note(self, attrs: list[tuple[str, str | None]]) -> None:
        self.anchors |= {value for name, value in attrs if name in {"id", "name", "xml:id"} and value}

    def handle_endtag(self, tag: str) -> None:
        self.has_end |= tag in {"html", "body"}
        if tag in self.open:
            while self.open.pop() != tag:
                pass
        if HEADING.fullmatch(tag) and self.heading is not None:
            if text := " ".join("".join(self.heading).split()):
                self.headings.append(text)
            self.heading = None

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside in UNSEEN:
            self.scripts.append(data)
            return
        self.texts.append(data)
        self.lines.append(data.strip())
        if self.heading is not None:
            self.heading.append(data)


def look_at_html(text: str, found: Found, *, name: str, beside: set[str] | None) -> None:
    outline = Outline()
    for at in range(0, len(text), 200_000):
        outline.feed(text[at : at + 200_000])
        if not found.has_time():
            break
    unread = outline.rawdata
    if found.is_whole:
        is_torn = bool(re.match(r"<(?:[a-zA-Z/!?])", unread.lstrip())) and ">" not in unread
        in_raw = bool(outline.open) and outline.open[-1] in {"script", "style", "textarea"}
        # The end tags may be left out, and who writes all of the beginning leaves out none of them.
        is_open = outline.has_html and outline.has_body and not outline.has_end
        if is_torn or in_raw or is_open:
            last = f"<{outline.open[-1]}>" if outline.open else unread.strip()[:20]
            found.fault(FaultCode.TRUNCATED, place=line_place(text.count("\n", 0, len(text.rstrip())) + 1), actual=last)
    outline.close()
    found.headings = outline.headings
    found.read_text(" ".join(" ".join(outline.texts).split()))
    for line in outline.lines:
        found.keep_line(line)
    scripts = "".join(outline.scripts)
    anchors = outline.anchors
    look_at_links(
        outline.links,
        found,
        name=name,
        beside=beside,
        leads=lambda part: part in anchors or part.casefold() == "top" or part in scripts,
    )


def look_at_links(
    links: list[Link], found: Found, *, name: str, beside: set[str] | None, leads: Callable[[str], bool]
) -> None:
    """Counts links; faults for those that lead to no anchor here, or to no file beside this one."""
    found.links = len(links)
    for line, written in links:
        link = written.strip()
        if not link or TEMPLATE.search(link) or SCHEME.match(link) or link.startswith(("//", "/")):
            continue
        path, _, fragment = link.partition("#")
        path = path.partition("?")[0]
        if not path:
            if is_anchor(fragment, link) and not (leads(fragment) or leads(unquote(fragment))):
                found.fault(FaultCode.BROKEN_LINK, place=line_place(line), actual=link)
        elif beside is not None and not is_beside(path, name=name, beside=beside):
            found.fault(FaultCode.BROKEN_LINK, place=line_place(line), actual=link)


def is_anchor(fragment: str, link: str) -> bool:
    """Whether the fragment names a place in the document, and no state of a script."""
    if not fragment or not link.startswith("#"):
        return False
    return "=" not in fragment and not fragment.startswith(("/", "!", ":~:", "?"))


def is_beside(path: str, *, name: str, beside: set[str]) -> bool:
    """Whether one of the other files, or a folder with one in it, has this path from here."""
    for one in {path, unquote(path)}:
        target = normpath(join(dirname(name), one))
        if target == "." or target in beside or any(other.startswith(f"{target}/") for other in beside):
            return True
    return False


# Markdown.

FRONT = re.compile(r"\A---\r?\n.*?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})\s*\Z")
RAW_ANCHOR = re.compile(r"""\b(?:id|name)\s*=\s*["']?([^"'\s>]+)""")
# Of pandoc and kramdown in braces behind a heading, of MyST in brackets above it.
WRITTEN_ANCHOR = re.compile(r"\{:?\s*+#([\w.:\-]++)[^{}]*+\}|^\(([\w.:\-]++)\)=\s*$", re.MULTILINE)
RAW_LINK = re.compile(r"""<(?:a|img|source|video)\b[^<>]*?\b(?:href|src)\s*=\s*["']([^"']*)["']""", re.IGNORECASE)


def look_at_markdown(text: str, found: Found, *, name: str, beside: set[str] | None) -> None:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise CannotLook("markdown-it-py") from None
    front = FRONT.match(text)
    skipped = front.group().count("\n") if front else 0
    body = text[front.end() :] if front else text
    tokens = MarkdownIt("commonmark").enable(["table"]).parse(body)
    links: list[Link] = []
    anchors = {first or second for first, second in WRITTEN_ANCHOR.findall(body)}
    lines = lines_of(body)
    words: list[str] = []
    for place, token in enumerate(tokens):
        line = (token.map[0] if token.map else 0) + skipped + 1
        if token.type == "heading_open":
            heading = plain_text(tokens[place + 1].children or [])
            found.headings.append(WRITTEN_ANCHOR.sub("", heading).strip())
        elif token.type == "inline":
            words.append(plain_text(token.children or []))
            for child in token.children or []:
                links += [(line, str(target)) for key in ("href", "src") if (target := child.attrs.get(key))]
                if child.type == "html_inline":
                    anchors |= set(RAW_ANCHOR.findall(child.content))
                    links += [(line, target) for target in RAW_LINK.findall(child.content)]
        elif token.type == "html_block":
            anchors |= set(RAW_ANCHOR.findall(token.content))
            links += [(line, target) for target in RAW_LINK.findall(token.content)]
            words.append(re.sub(r"<[^<>]*+>", " ", token.content))
        elif token.type == "fence" and token.level == 0 and token.map and token.map[1] >= len(lines):
            if not FENCE.match(lines[-1]) or token.map[1] - token.map[0] < 2:
                found.fault(FaultCode.TRUNCATED, place=line_place(line), actual="```")
        elif token.type in {"fence", "code_block"}:
            words.append(token.content)
    found.read_text("\n".join(words))
    for line_text in words:
        found.keep_line(line_text.strip(" *_:"))
    there = {as_anchor(one) for one in (*found.headings, *anchors)}
    look_at_links(links, found, name=name, beside=beside, leads=lambda part: leads_to(part, there))


def plain_text(children: Iterable[Any]) -> str:
    return "".join(
        child.content if child.type in {"text", "code_inline"} else " " if child.type.endswith("break") else ""
        for child in children
    )


def as_anchor(text: str) -> str:
    """Letters and digits alone: each renderer makes its own of all other signs."""
    return "".join(one for one in unicodedata.normalize("NFC", text).casefold() if one.isalnum())


def leads_to(fragment: str, there: set[str]) -> bool:
    """Whether there is such a heading or anchor; one that came twice has a number behind it."""
    anchor = as_anchor(fragment)
    if not anchor or anchor in there or anchor == "top":
        return True
    bare = fragment.rstrip("0123456789")
    return bare != fragment and bare.endswith(("-", "_")) and as_anchor(bare) in there
