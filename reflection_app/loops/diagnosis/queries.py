"""Search queries as tools read them: which parameter is one, and its syntax put right.

Signs that do not pair and operators of other dialects are mended; the words stay what they were, but where a lighter
query is asked for.
"""

import re

from reflection_app.loops.texts import word_set

LONGEST_QUERY = 2_000
OPERATORS = frozenset({"AND", "OR", "NOT"})
QUERY_KEYS = word_set(
    "query q search search_query search_term keywords keyword expression search_string searchterm searchquery question "
    "term terms search_text text_query 查询 关键词 检索式 搜索词"
)
_QUERY = re.compile(
    r"quer(?!y_?(?:id|type|mode|lang))|(?<!re)search(?!_?(?:type|mode|id|depth|lang|engine))|keyword|suchbegriff|stichwort|recherche"
    r"|requ[eê]te|consulta|b[uú]squeda|palabra|关键|检索|搜索|検索|キーワード|검색"
)
_WITHIN_QUERY = word_set("text value string words phrase")
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "「": '"', "」": '"', "（": "(", "）": ")"})
# As people write them in other languages; each between spaces.
_WORDS = {"AND": "and und et 和 且 与 并且", "OR": "or oder ou 或 或者", "NOT": "not nicht 非 不含"}
_SIGNS = {"AND": ("&&", "&"), "OR": ("||", "|")}
_READS_PATTERNS = re.compile(r"\bregex|regular expression|正则|\bgrep\b")


def is_query(path: str) -> bool:
    """Whether the parameter is what is searched for, by its name and by that of the object that it stands in."""
    around, _, name = path.casefold().rpartition(".")
    if name in _WITHIN_QUERY and around:
        return is_query(around)
    return name in QUERY_KEYS or _QUERY.search(name) is not None


_CODE = re.compile(
    r"\s*+(?:select\b.{1,400}\bfrom\b|with\b.{1,80}\bas\s*\(|insert\s+into\b|update\b.{1,80}\bset\b|delete\s+from\b"
    r"|create\s+(?:table|view|index)\b|match\s*\(|prefix\s+\w+:|explain\s+select\b|show\s+(?:tables|columns)\b"
    r"|(?:query|mutation)\b\s*+\w*+\s*+[{(]|[{<]|[a-z]+://)",
    re.IGNORECASE | re.DOTALL,
)


def is_code(text: str) -> bool:
    """Whether a query is written in a language of its own, SQL or the like, of which no word can be spared."""
    return _CODE.match(text) is not None or re.search(r"[=;]|<>|=>", text) is not None


def is_broken(query: str) -> bool:
    """Whether quotes or brackets do not pair, or nothing follows the last operator."""
    words = query.split()
    return bool(query.count('"') % 2 or not _is_balanced(query) or (words and words[-1] in OPERATORS))


def plain_words(query: str) -> str:
    """The words alone, without signs, operators and names of fields."""
    words = re.findall(r"[\w'-]+", re.sub(r"\b\w{1,12}:(?=\S)", "", query))
    return " ".join(word for word in words if word not in OPERATORS) or query


def mended(query: str, about: str = "") -> str:
    """The query with what commonly breaks its syntax put right; as it is where it is too long to be one.

    `about` is what the tool says of its queries: signs that it names as operators stay signs.
    """
    if len(query) > LONGEST_QUERY or is_code(query) or _READS_PATTERNS.search(about.casefold()):
        return query
    own = {name: sign for name in OPERATORS if (sign := _own_sign(name, about[:LONGEST_QUERY]))}
    text = query.translate(_QUOTES)
    is_boolean = any(sign in text for sign in ("&&", "|")) or any(word in OPERATORS for word in text.split())
    for name, signs in _SIGNS.items():
        for sign in signs:
            # A single & stands in names of firms as well.
            if sign != "&" or re.search(r"\s&\s", text):
                text = text.replace(sign, f" {name} ")
    text = text if text.count('"') % 2 == 0 else text.replace('"', " ")
    text = text if _is_balanced(text) else re.sub(r"[()\[\]{}]", " ", text)
    text = re.sub(r"\(\s*\)|\"\s*\"", " ", text)
    words = re.sub(r"([()])", r" \1 ", text).split() if '"' not in text else text.split()
    # Inside of quotes these are words of a phrase. Where nothing else says so, only `or` is an operator for certain.
    if '"' not in text:
        read = {word: name for name, alike in _WORDS.items() for word in alike.split()}
        certain = OPERATORS if is_boolean else {"OR"}
        words = [name if (name := read.get(word.casefold(), word)) in certain else word for word in words]
    kept: list[str] = []
    for word in words:
        # Of two operators in a row the first is meant; NOT follows others.
        is_second = bool(kept) and kept[-1] in OPERATORS and word in OPERATORS - {"NOT"}
        while word == ")" and kept and kept[-1] in OPERATORS:
            kept.pop()
        if not is_second and not (word in OPERATORS - {"NOT"} and (not kept or kept[-1] == "(")):
            kept.append(word)
    while kept and kept[-1] in OPERATORS:
        kept.pop()
    kept = [own.get(word, word) for word in kept]
    return re.sub(r"\( | \)", lambda found: found[0].strip(), " ".join(kept)) or query


def _own_sign(operator: str, about: str) -> str | None:
    """How the tool says that it writes this operator, where that is not its name."""
    means = {"AND": r"(?:and|且|与|和)", "OR": r"(?:or|或)", "NOT": r"(?:not|非|exclud\w+|排除)"}[operator]
    sign = r"[`'\"“(]?(?P<sign>\|{1,2}|&{1,2}|\+|-|ANDNOT)[`'\"”)]?"
    is_for = r"\s{0,2}(?:is|for|as|means?|=|:|表示|代表|为|\()\s{0,2}(?:(?:boolean|logical|逻辑)\s?)?"
    is_by = r"\s{0,2}(?:is|as|=|:|with|using|by|用|写作|\()\s{0,2}(?:written )?(?:as )?"
    before, after = rf"{sign}{is_for}{means}(?![a-z])", rf"(?<![a-z]){means}{is_by}{sign}(?!\w)"
    found = re.search(before, about, re.IGNORECASE) or re.search(after, about, re.IGNORECASE)
    if found is None and operator == "NOT" and "ANDNOT" in about:
        return "ANDNOT"
    return found["sign"] if found else None


def simplified(query: str) -> str:
    """The first half of the query's words, without its operators and signs; as it is where it is one word."""
    if len(query) > LONGEST_QUERY or is_code(query):
        return query
    words = [word for word in re.findall(r"[\w'-]+", query) if word.upper() not in OPERATORS]
    return " ".join(words[: (len(words) + 1) // 2]) if len(words) > 1 else query


def _is_balanced(text: str) -> bool:
    pairs, waiting = {")": "(", "]": "[", "}": "{"}, list[str]()
    for sign in text:
        if sign in pairs.values():
            waiting.append(sign)
        elif sign in pairs and (not waiting or waiting.pop() != pairs[sign]):
            return False
    return not waiting
