"""Derive from a tool's name whether it reads, and whether it reads a page."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from reflection_app.loops.texts import word_set

READING = word_set(
    "get read search fetch list find lookup look query retrieve show describe view check browse scrape crawl download "
    "open grep reader searcher webreader websearch stat head cat select"
)
WRITING = word_set(
    "create update delete remove write set send post put patch insert add book cancel pay buy order transfer move "
    "rename execute run submit publish deploy merge push commit reset drop modify change edit upload exchange return "
    "refund"
)
# Verbs that are nouns too: "get_order" and "list_posts" read.
NOUNS_TOO = word_set("order book post transfer exchange return refund edit change commit merge patch pay")
PAGE_KEYS = word_set("url uri link href webpage page_url website address source_url 链接 网址")
_WORD = re.compile(r"[a-z0-9]{1,40}|[\u4e00-\u9fff]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_READS = re.compile("读取|查询|搜索|检索|获取|查看|列出|浏览|查找|抓取")
_WRITES = re.compile(
    "写(?!真)|删除|修改|发送|创建|更新|上传|提交|预订|支付|取消|转账|下单|执行|移动|清空|新建|添加|发布"
)


def is_reading(name: str) -> bool:
    """Return True if the tool's name says that it reads and contains no word for writing."""
    if _WRITES.search(name):
        return False
    words = _words(name)
    if words and words[0] in READING:
        return not set(words) & (WRITING - NOUNS_TOO)
    return (bool(set(words) & READING) or _READS.search(name) is not None) and not set(words) & WRITING


def is_reading_page(tool: str, params: Mapping[str, Any]) -> bool:
    """Return True if the call reads one page of many: it names a URL and no sending method."""
    method = params.get("method")
    if isinstance(method, str) and method.strip().upper() not in {"", "GET", "HEAD"}:
        return False
    if set(_words(tool)) & WRITING:
        return False
    return any(
        key.casefold() in PAGE_KEYS and isinstance(value, str) and value.strip().casefold().startswith(("http", "www."))
        for key, value in params.items()
    )


def _words(name: str) -> list[str]:
    """Return the words of the name in order, without the server prefix."""
    own = name.rsplit("__", 1)[-1][:200]
    plain = "".join(one for one in unicodedata.normalize("NFKD", own) if not unicodedata.combining(one))
    return _WORD.findall(_CAMEL.sub(" ", plain).replace("_", " ").casefold())
