"""Another tool for the same work, found by a rule that errs on the side of finding none.

A tool that is not there is most often misspelt: one whose name is the same but for case, separators and the prefix of
its server is meant. Else only tools that read may stand in for tools that read, where names and descriptions share most
of their words, and where the parameters fit: another tool that writes does something else.
"""

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from reflection_app.loops.diagnosis.diagnoses import FailedCall
from reflection_app.loops.diagnosis.modifiers import fits
from reflection_app.loops.texts import word_set
from reflection_app.loops.tool_calls import ToolSpec

MOST_TOOLS = 200
ALIKE = 0.85
SHARED_WORDS = 0.5


READING = word_set(
    "get read search fetch list find lookup look query retrieve show describe view check browse scrape crawl download "
    "open grep reader searcher webreader websearch stat head cat select"
)
WRITING = word_set(
    "create update delete remove write set send post put patch insert add book cancel pay buy order transfer move "
    "rename execute run submit publish deploy merge push commit reset drop modify change edit upload exchange return "
    "refund"
)
# "get_order" and "list_posts" read.
NOUNS_TOO = word_set("order book post transfer exchange return refund edit change commit merge patch pay")
PAGE_KEYS = word_set("url uri link href webpage page_url website address source_url")
_SMALL = word_set("a an the of to in on for and or by with from is it its as at this that be all any one")
_WORD = re.compile(r"[a-z0-9]{1,40}|[\u4e00-\u9fff]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def misspelt_tool(failed: FailedCall) -> str | None:
    """The one tool whose name was meant where a name that is not there was called."""
    others = _others(failed)
    same = [tool.name for tool in others if _bare(tool.name) == _bare(failed.tool)]
    if len(same) == 1:
        return same[0]
    name = _bare(failed.tool)
    alike = [
        tool.name
        for tool in others
        if is_reading(tool.name) and SequenceMatcher(None, name, _bare(tool.name)).ratio() >= ALIKE
    ]
    return alike[0] if len(alike) == 1 and is_reading(failed.tool) and not same else None


def tool_that_serves_alike(failed: FailedCall) -> str | None:
    """The one other reading tool that is described in mostly the same words and takes these parameters."""
    own = next((tool for tool in failed.tools if tool.name == failed.tool), None)
    if own is None or not is_reading(own.name):
        return None
    mine = _meaning(own)
    found = []
    for tool in filter(lambda tool: is_reading(tool.name), _others(failed)):
        theirs = _meaning(tool)
        shared = len(mine & theirs) / len(mine | theirs) if mine and theirs else 0.0
        if shared >= SHARED_WORDS and takes(tool, failed.params):
            found.append(tool.name)
    return found[0] if len(found) == 1 else None


def takes(tool: ToolSpec, params: Mapping[str, Any]) -> bool:
    """Whether the tool's schema names all of these parameters and is not broken by them."""
    known = tool.parameters.get("properties")
    return isinstance(known, dict) and params.keys() <= known.keys() and fits(params, tool.parameters)


def may_stand_in(tool: str, *, called: str) -> bool:
    """Whether code may call `tool` in the place of `called`: it only reads, or is the very tool under another spelling.

    A tool that changes something is chosen by an actor who sees the task, whatever is said to have helped before.
    """
    return is_reading(tool) or _bare(tool) == _bare(called)


def is_reading(name: str) -> bool:
    """Whether the tool's name says that it reads, and says nothing of writing."""
    words = _ordered(name.rsplit("__", 1)[-1][:200])
    if words and words[0] in READING:
        return not set(words) & (WRITING - NOUNS_TOO)
    return bool(set(words) & READING) and not set(words) & WRITING


def is_reading_page(tool: str, params: Mapping[str, Any]) -> bool:
    """Whether the call reads one page of many: it names a URL and does not say that it sends something there."""
    method = params.get("method")
    if isinstance(method, str) and method.strip().upper() not in {"", "GET", "HEAD"}:
        return False
    if _words(tool.rsplit("__", 1)[-1]) & WRITING:
        return False
    return any(
        key.casefold() in PAGE_KEYS and isinstance(value, str) and value.strip().casefold().startswith(("http", "www."))
        for key, value in params.items()
    )


def _others(failed: FailedCall) -> list[ToolSpec]:
    return [tool for tool in failed.tools[:MOST_TOOLS] if tool.name != failed.tool]


def _bare(name: str) -> str:
    return "".join(sorted_words) if (sorted_words := _ordered(name.rsplit("__", 1)[-1])) else name.casefold()


def _ordered(name: str) -> list[str]:
    return _WORD.findall(_CAMEL.sub(" ", name).replace("_", " ").casefold())


def _words(text: str) -> set[str]:
    return set(_ordered(text[:2_000]))


def _meaning(tool: ToolSpec) -> set[str]:
    return _words(f"{tool.name.rsplit('__', 1)[-1]} {tool.description}") - _SMALL - READING
