"""Another tool for the same work, found by a rule that errs on the side of finding none.

A tool that is not there is most often misspelt: one whose name is the same but for case, separators and the prefix of
its server is meant. Else only tools that read may stand in for tools that do not write: where they are alike (by their
vectors, else by the words of names and descriptions) and can be called with what the failed call was called with.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from reflection_app.loops.diagnosis.diagnoses import FailedCall
from reflection_app.loops.diagnosis.modifiers import SIZE_KEYS, Params, fits, known_properties
from reflection_app.loops.diagnosis.queries import QUERY_KEYS, is_query
from reflection_app.loops.texts import word_set
from reflection_app.loops.tool_calls import ToolSpec

MOST_TOOLS = 200
ALIKE = 0.85
SHARED_WORDS = 0.5
SAME_SERVER = 0.3
SAME_ADDRESS = 0.4
SAME_THING = 0.15
# Cosine of the wheel's vectors of two descriptions; of pairs that do other things most lie below.
ALIKE_VECTORS = 0.5
# More where the one parameter was given to the other without a word that says that they are the same.
GUESSED = 0.05


READING = word_set(
    "get read search fetch list find lookup look query retrieve show describe view check browse scrape crawl download "
    "open grep reader searcher webreader websearch stat head cat select "
    "suche suchen lese lesen hole holen abfragen auflisten zeige anzeigen lire rechercher chercher lister obtenir "
    "trouver afficher consulter buscar leer obtener listar consultar mostrar"
)
WRITING = word_set(
    "create update delete remove write set send post put patch insert add book cancel pay buy order transfer move "
    "rename execute run submit publish deploy merge push commit reset drop modify change edit upload exchange return "
    "refund schreibe schreiben losche loschen sende senden erstelle erstellen anlegen andern aktualisieren buchen "
    "ecrire supprimer envoyer creer modifier reserver payer escribir borrar eliminar enviar crear modificar reservar "
    "pagar"
)
# "get_order" and "list_posts" read.
NOUNS_TOO = word_set("order book post transfer exchange return refund edit change commit merge patch pay")
PAGE_KEYS = word_set("url uri link href webpage page_url website address source_url 链接 网址")
_SMALL = word_set("a an the of to in on for and or by with from is it its as at this that be all any one")
_WORD = re.compile(r"[a-z0-9]{1,40}|[\u4e00-\u9fff]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_READS = re.compile("读取|查询|搜索|检索|获取|查看|列出|浏览|查找|抓取|検索|取得|一覧|검색|조회")
_WRITES = re.compile(
    "写(?!真)|删除|修改|发送|创建|更新|上传|提交|预订|支付|取消|转账|下单|执行|移动|清空|新建|添加|发布|書き|書込|削除|送信|作成|登録|予約|삭제|전송|생성"
)
_SAYS_READING = re.compile(
    r"\W*(?:(?:gets?|reads?|search(?:es)?|fetch(?:es)?|lists?|finds?|looks?|quer(?:y|ies)|retrieves?|shows?|returns?"
    r"|describes?|views?|downloads?|sucht|liest|holt|zeigt|lit|recherche|cherche|liste|busca|lee|obtiene)\b"
    r"|读取|查询|搜索|检索|获取|返回|查看|列出)"
)
# What a description says of effects, but for what it says that it does not do.
_SAYS_WRITING = re.compile(
    r"(?<!not )(?<!never )(?<!without )\b(?:creat|updat|delet|remov|writ|send|cancel|modif(?:y|i)|edit|upload|execut"
    r"|archiv|submit|overwrit|mark)(?:s|es|e|ed|ing)?\b(?! (?:by|in|on|at)\b)|删除|写入|修改|发送|创建|标记"
)


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


@dataclass(frozen=True)
class StandIn:
    """Another tool that reads, and the failed call's parameters under its names; None where its schema tells none."""

    tool: ToolSpec
    params: Params | None
    renamed: Mapping[str, str]

    def is_about_the_same(self) -> bool:
        """Whether a place, an address or the like of the failed call is asked for, if by another name."""
        kinds = [alike for alike in _ALIKE_KEYS if alike not in (QUERY_KEYS, SIZE_KEYS)]
        pairs = [(was.casefold(), now.casefold()) for was, now in self.renamed.items()]
        return any(was in alike and now in alike for was, now in pairs for alike in kinds)

    def in_words(self) -> str:
        """How to use it. Names of parameters alone: what is advised is kept beside other calls."""
        as_what = ", ".join(f"{was} as {now}" for was, now in self.renamed.items() if was != now)
        return f"Use {self.tool.name} instead ({as_what})." if as_what else f"Use {self.tool.name} instead."


def tool_that_serves_alike(failed: FailedCall) -> str | None:
    """The name of the tool that can stand in, told without vectors."""
    found = stand_in(failed)
    return found.tool.name if found else None


def stand_in(failed: FailedCall, likeness: Mapping[str, float] | None = None) -> StandIn | None:
    """The tool that serves most alike; None where none does, or two do equally. `likeness` is by the vectors."""
    found = []
    for one in stand_ins(failed):
        if likeness:
            is_guess = not any(_means_same(was, now) for was, now in one.renamed.items())
            how, least = likeness.get(one.tool.name, 0.0), ALIKE_VECTORS + (GUESSED if is_guess else 0.0)
            how += SAME_THING if how and one.is_about_the_same() else 0.0
        else:
            how, least = _shared(failed, one), SHARED_WORDS
        if how >= least:
            found.append((how, one))
    found.sort(key=lambda one: -one[0])
    return found[0][1] if found and (len(found) == 1 or found[0][0] > found[1][0]) else None


def stand_ins(failed: FailedCall) -> list[StandIn]:
    """The other tools that only read and can be called with what the failed call was called with."""
    if not may_call(failed.tool):
        return []
    found = []
    for tool in _others(failed):
        named = is_reading(tool.name) or (
            not _says_writing(tool.name) and _SAYS_READING.match(tool.description.lower())
        )
        if not named or _SAYS_WRITING.search(tool.description[:2_000].lower()):
            continue
        known = known_properties(tool.parameters)
        if not known and not tool.parameters.get("required"):
            found.append(StandIn(tool, None, {}))
        elif (filled := _filled(tool, failed)) is not None:
            found.append(StandIn(tool, *filled))
    return found


# Whose data is looked at: a tool that does not ask looks at others' as well.
_WHOSE = re.compile(r"user|account|tenant|project|customer|owner|branch|scope|repo|database|calendar|workspace")
_ALIKE_KEYS = (
    PAGE_KEYS,
    QUERY_KEYS,
    SIZE_KEYS,
    word_set("path file filepath file_path filename file_name location_path uri_path document doc page 路径 文件"),
    word_set("city location place town address_city region where 城市 地点 位置"),
    word_set("repo repository repo_name repository_name project_repo"),
    word_set("start start_date from from_date date_from since begin time_min start_time 开始 开始日期"),
    word_set("end end_date to to_date date_to until time_max end_time 结束 结束日期"),
    word_set("date day when on 日期"),
    word_set("symbol ticker stock code 代码 股票"),
    word_set("language lang locale"),
)


def _filled(tool: ToolSpec, failed: FailedCall) -> tuple[Params, dict[str, str]] | None:
    """The tool's parameters out of the failed call's, and which became which; None where one is left without.

    All that the failed tool required has to be asked for by the other, too.
    """
    known, required = known_properties(tool.parameters), _names(tool.parameters.get("required"))
    own = next((one for one in failed.tools if one.name == failed.tool), None)
    params, renamed = dict[str, Any](), dict[str, str]()
    for name in (*required, *(name for name in known if name not in required)):
        sources = [key for key in failed.params if key not in renamed and _means_same(key, name)]
        sources.sort(key=lambda key, name=name: key != name)  # type: ignore[misc]
        for source in sources:
            if fits({name: failed.params[source]}, {"properties": {name: known.get(name, {})}}):
                params[name], renamed[source] = failed.params[source], name
                break
    # The one thing that both want, whatever they call it.
    missing = [name for name in required if name not in params and "default" not in known.get(name, {})]
    wanted = _names(own.parameters.get("required")) if own else ()
    left = [key for key in wanted or failed.params if key in failed.params and key not in renamed]
    if len(missing) == len(left) == 1 and _may_become(missing[0], known.get(missing[0], {}), failed.params[left[0]]):
        params[missing[0]], renamed[left[0]] = failed.params[left[0]], missing[0]
    kept_to = [key for key in failed.params if key in wanted or _WHOSE.search(key.casefold())]
    usual = {name: known[name]["default"] for name in required if "default" in known.get(name, {})}
    params = usual | params
    is_whole = all(key in renamed for key in kept_to) and bool(renamed)
    return (params, renamed) if is_whole and fits(params, tool.parameters) else None


_OF_ONE_KIND = re.compile(r"id$|key$|uuid|mail|date|time|code|token|secret|passw|auth|phone|number|hash|sha$|amount")


def _names(listed: Any) -> tuple[str, ...]:
    return tuple(one for one in listed if isinstance(one, str)) if isinstance(listed, list) else ()


def _means_same(key: str, name: str) -> bool:
    one, other = key.casefold(), name.casefold()
    if re.sub(r"[\W_]", "", one) == re.sub(r"[\W_]", "", other):
        return True
    return any(one in alike and other in alike for alike in _ALIKE_KEYS) or (is_query(one) and is_query(other))


def _may_become(name: str, schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a text may be asked for under another name: ids and addresses are no other thing's."""
    if not isinstance(value, str) or not value.strip() or _OF_ONE_KIND.search(name.casefold()):
        return False
    is_url = re.match(r"https?://|www\.", value.strip().casefold()) is not None
    wants_url = name.casefold() in PAGE_KEYS or schema.get("format") in {"uri", "url"}
    return is_url if wants_url else not is_url or is_query(name)


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
    if _WRITES.search(name):
        return False
    words = _ordered(name.rsplit("__", 1)[-1][:200])
    if words and words[0] in READING:
        return not set(words) & (WRITING - NOUNS_TOO)
    return (bool(set(words) & READING) or _READS.search(name) is not None) and not set(words) & WRITING


def may_call(name: str) -> bool:
    """Whether nothing in the tool's name says that it writes, so that to ask in another way does no harm."""
    return not _says_writing(name)


def _says_writing(name: str) -> bool:
    is_one = bool(_words(name.rsplit("__", 1)[-1]) & WRITING) or _WRITES.search(name) is not None
    return is_one and not is_reading(name)


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


def described(tool: ToolSpec) -> str:
    """What a tool is and asks for, in the words that its vector is made of."""
    asks = " ".join(known_properties(tool.parameters)).replace("_", " ")
    return f"{' '.join(_ordered(tool.name.rsplit('__', 1)[-1]))}: {tool.description} ({asks})"


def _others(failed: FailedCall) -> list[ToolSpec]:
    return [tool for tool in failed.tools[:MOST_TOOLS] if tool.name != failed.tool]


def _bare(name: str) -> str:
    return "".join(sorted_words) if (sorted_words := _ordered(name.rsplit("__", 1)[-1])) else name.casefold()


def _ordered(name: str) -> list[str]:
    plain = "".join(one for one in unicodedata.normalize("NFKD", name) if not unicodedata.combining(one))
    return _WORD.findall(_CAMEL.sub(" ", plain).replace("_", " ").casefold())


def _words(text: str) -> set[str]:
    return set(_ordered(text[:2_000]))


def _shared(failed: FailedCall, other: StandIn) -> float:
    """How much of the words of both descriptions is the same; nearer are tools of one server, and those that read what
    lies at an address."""
    own = next((one for one in failed.tools if one.name == failed.tool), None)
    mine, theirs = _meaning(own or ToolSpec(name=failed.tool[:64])), _meaning(other.tool)
    shared = len(mine & theirs) / len(mine | theirs) if mine and theirs else 0.0
    server, _, _ = failed.tool.rpartition("__")
    if server and other.tool.name.rpartition("__")[0] == server:
        shared += SAME_SERVER
    if any(was.casefold() in PAGE_KEYS and now.casefold() in PAGE_KEYS for was, now in other.renamed.items()):
        # Of a tool that is not there, nothing but its name could be compared.
        shared += SAME_ADDRESS if own is not None else SHARED_WORDS
    elif other.is_about_the_same():
        shared += SAME_THING
    return shared


def _meaning(tool: ToolSpec) -> set[str]:
    words = _words(f"{tool.name.rsplit('__', 1)[-1]} {tool.description}") - _SMALL - READING
    return {word.removesuffix("s") for word in words}
