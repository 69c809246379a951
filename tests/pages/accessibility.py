"""The accessibility tree of a page: roles and names, in the notation of Playwright's aria snapshots.

Computed from the HTML alone, as it is without scripts and styles: a browser would take a hundred times as long.
"""

import re
from collections.abc import Iterator

from lxml import html

ROLES = {
    "a": "link",
    "aside": "complementary",
    "article": "article",
    "button": "button",
    "dd": "definition",
    "details": "group",
    "dialog": "dialog",
    "dt": "term",
    "fieldset": "group",
    "figure": "figure",
    "footer": "contentinfo",
    "form": "form",
    "header": "banner",
    "img": "img",
    "li": "listitem",
    "main": "main",
    "meter": "meter",
    "nav": "navigation",
    "ol": "list",
    "option": "option",
    "p": "paragraph",
    "progress": "progressbar",
    "section": "region",
    "select": "combobox",
    "summary": "button",
    "table": "table",
    "td": "cell",
    "textarea": "textbox",
    "th": "columnheader",
    "tr": "row",
    "ul": "list",
} | {f"h{level}": "heading" for level in range(1, 7)}
ROLES_OF_INPUTS = {"checkbox": "checkbox", "radio": "radio", "submit": "button", "number": "spinbutton"}
# What these say is their name; their parts are not listed again.
NAMED_BY_CONTENT = {"button", "heading", "link", "option", "cell", "columnheader", "rowheader", "term"}
CELLS = {"cell", "columnheader", "rowheader"}
# Without a name they mean nothing.
NEED_A_NAME = {"form", "region", "group"}
NEVER_SHOWN = {"script", "style", "template", "svg", "noscript", "head", "datalist"}
# Shown as the names of something else.
NAMES = {"legend", "caption", "figcaption"}
INLINE = {"span", "b", "strong", "em", "i", "code", "time", "small", "abbr", "mark", "bdi", "kbd", "s", "ins", "del"}
STATES = ("checked", "disabled", "selected", "open", "required")


def snapshot(page: str) -> str:
    """The tree of the page's main part, or of all of a fragment, a node a line; what varies by run is left out."""
    root = html.fromstring(page)
    main = root.find(".//main")
    lines = list(_lines(root if main is None else main, "", root))
    return "".join(f"{line}\n" for line in lines)


def _lines(element: html.HtmlElement, indent: str, root: html.HtmlElement) -> Iterator[str]:
    if not _is_shown(element):
        return
    role = _role(element)
    name = _name(element, role, root)
    if role in NEED_A_NAME and not name:
        role = ""
    is_whole = role in NAMED_BY_CONTENT and not (role in CELLS and _has_controls(element))
    parts = [] if is_whole else list(_parts(element, indent + "  " * bool(role), root))
    if not role:
        yield from parts
        return
    shown = f' "{name}"' if name and (is_whole or role not in NAMED_BY_CONTENT) else ""
    states = "".join(f" [{state}]" for state in STATES if element.get(state) is not None)
    level = f" [level={element.tag[1]}]" if role == "heading" else ""
    if len(parts) == 1 and not (shown or states) and parts[0].strip().startswith("- text: "):
        yield f"{indent}- {role}: {parts[0].partition('- text: ')[2]}"
    elif parts or shown or states:
        yield f"{indent}- {role}{shown}{level}{states}{':' if parts else ''}"
        yield from parts


def _parts(element: html.HtmlElement, indent: str, root: html.HtmlElement) -> Iterator[str]:
    said = element.text or ""
    if element.tag == "textarea":
        said = ""
    for child in element:
        if child.tag in NAMES:
            said += child.tail or ""
            continue
        if child.tag == "label":
            # Its text is the name of a field.
            yield from (line for line in _parts(child, indent, root) if not line.strip().startswith("- text: "))
            said += child.tail or ""
            continue
        if _is_inline(child):
            said += _text(child) + (child.tail or "")
            continue
        if text := _spoken(said):
            yield f"{indent}- text: {text}"
        yield from _lines(child, indent, root)
        said = child.tail or ""
    if text := _spoken(said):
        yield f"{indent}- text: {text}"


def _is_shown(element: html.HtmlElement) -> bool:
    return (
        isinstance(element.tag, str)
        and element.tag not in NEVER_SHOWN
        and element.get("hidden") is None
        and element.get("aria-hidden") != "true"
        and element.get("type") != "hidden"
    )


def _is_inline(element: html.HtmlElement) -> bool:
    """True if it is part of the text around it."""
    if not _is_shown(element) or element.tag == "br":
        return True
    return element.tag in INLINE and element.get("role") is None and all(_is_inline(child) for child in element)


def _role(element: html.HtmlElement) -> str:
    if given := element.get("role"):
        return "" if given in {"presentation", "none"} else str(given)
    if element.tag == "input":
        return ROLES_OF_INPUTS.get(element.get("type", "text"), "textbox")
    if element.tag == "th" and element.get("scope") == "row":
        return "rowheader"
    if element.tag == "a" and element.get("href") is None:
        return ""
    return ROLES.get(element.tag, "")


def _name(element: html.HtmlElement, role: str, root: html.HtmlElement) -> str:
    if label := element.get("aria-label"):
        return _spoken(label)
    if ids := element.get("aria-labelledby"):
        return _spoken(" ".join(_text_of_id(root, one) for one in ids.split()))
    if element.tag in {"input", "select", "textarea"}:
        if element.get("type") == "submit":
            return _spoken(element.get("value") or "")
        labels = [*element.iterancestors("label")]
        if element.get("id"):
            labels += [label for label in root.iter("label") if label.get("for") == element.get("id")]
        named = " ".join(_text(label, without=element) for label in labels)
        return _spoken(named or element.get("placeholder") or element.get("title") or "")
    if element.tag in {"fieldset", "table", "figure"}:
        first = next((one for one in element if one.tag in {"legend", "caption", "figcaption"}), None)
        return "" if first is None else _spoken(_text(first))
    if element.tag == "img":
        return _spoken(element.get("alt") or "")
    if role in NAMED_BY_CONTENT:
        return _spoken(_text(element) or element.get("title") or "")
    return ""


def _has_controls(element: html.HtmlElement) -> bool:
    return any(one.tag in {"a", "button", "input", "select", "ul", "ol", "details"} for one in element.iter())


def _text_of_id(root: html.HtmlElement, id_: str) -> str:
    found = root.xpath("//*[@id=$id]", id=id_)
    return _text(found[0]) if found else ""


def _text(element: html.HtmlElement, *, without: html.HtmlElement | None = None) -> str:
    """What is shown in it. The own content of fields is not."""
    if element is without or not _is_shown(element):
        return ""
    if element.tag == "br":
        return " "
    if element.tag == "img":
        return str(element.get("alt") or "")
    if element.tag in {"select", "textarea"}:
        return ""
    # A time is written by how long ago it was.
    if element.tag == "time":
        return "#"
    said = element.get("aria-label") or element.text or ""
    for child in element if element.get("aria-label") is None else ():
        gap = "" if _is_inline(child) else " "
        said += gap + _text(child, without=without) + gap + (child.tail or "")
    return f" {said} " if "visually-hidden" in element.get("class", "") else str(said)


# By the clock, by the machine, or by chance.
ID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(?:rewind|reflection|ref|msg|rd)_[\w-]+"
)
HEX = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{6,}\b")
NUMBER = re.compile(r"\d[\d.,:]*\d|\d")
UNIT = re.compile(
    r"# ?(?:(?:ms|min|s|h|d|B|kB|KB|MB|seconds?|minutes?|hours?|days?)\b|毫秒|秒钟?|分钟?|小时|天)|(?:less|more) than #"
)
MONTHS = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
MONTH = re.compile(rf"\b{MONTHS}\.? #|# {MONTHS}\b")


def _spoken(text: str) -> str:
    """The text on one line, with what varies from run to run written as `#`."""
    text = NUMBER.sub("#", HEX.sub("#", ID.sub("#", text)))
    text = " ".join(MONTH.sub("#", UNIT.sub("#", text)).split())
    # How long something took: less than the smallest unit, or more.
    text = text.replace("< #", "#")
    return re.sub(r"#(?: ?#)+", "#", text)
