"""Words that turn a sentence round or exclude one another, and amounts brought to one unit; English and Chinese."""

import re
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

# Words that turn a sentence round, and words that exclude one another; English and Chinese. Tables only.


_WORD = r"(?<![\w-])(?:{})(?![\w-])"


def either(english: str, chinese: str) -> re.Pattern[str]:
    """Whole English words, or Chinese ones wherever they stand."""
    return re.compile(f"{_WORD.format(english)}|(?:{chinese})", re.IGNORECASE)


# Not a refusal: a bound, or an addition.
NO_REFUSAL = either(
    r"no (?:more|less|fewer|later|earlier|longer|matter)(?: than)?|not only|if not|whether or not|not yet|no doubt|"
    r"not necessarily|not just",
    "不仅|不但|不过|不同|不一致|不足|不少于|不多于|不超过|不大于|不小于|不低于|不高于|不晚于|不早于|不管|不论",
)
REFUSED = either(
    r"never|not|no|none|cannot|avoid(?:s|ed|ing)?|without|refrain(?: from)?|stop|forbid(?:s|den)?|prohibit(?:s|ed)?|"
    r"ban(?:s|ned)?|disallow(?:s|ed)?|banish(?:ed)?|(?:do|does|did|must|should|ca|wo|is|are|need|have|has|would|could)n['’]t|"
    r"unnecessary|no need|instead of never|off[- ]limits",
    "不要|不得|不应该|不应当|不应|不该|不能|不可以|不可|不许|不准|不必|不用|不允许|不需要|不再|不使用|不会|不做|不写|不加|不在|不把|不将|不对|不给|"
    "不从|不向|无需|无须|毋须|切勿|请勿|勿|禁止|严禁|避免|杜绝|从不|永不|绝不|决不|别(?![的人处名])|没有|拒绝",
)
# What is left undone: refused, it is to be done.
LEFT_UNDONE = either(
    r"forget(?:s|ting)?|forgotten|omit(?:s|ted|ting)?|skip(?:s|ped|ping)?|neglect(?:s|ed|ing)?|fail(?:s|ed|ing)? to|"
    r"ignor(?:e|es|ed|ing)|bypass(?:es|ed|ing)?|leave out|leaving out",
    "忘记|忘了|遗漏|漏掉|忽略|忽视|跳过|省略|绕过|略过",
)
# A rule with an exception does not oppose the exception.
EXCEPTION = either(
    r"unless|except(?: for| when| if)?|only (?:if|when|in|for|after)|until", "除非|除了|除外|仅在|只有|仅当|只在|直到"
)
# What happened once is no demand.
REPORT = either(
    r"was|were|did|didn't|had|made|assumed|forgot|invented|the agent \w+(?:ed|s)",
    "了(?!解)|智能体(?!必须|应|要|需|不得|不要|不能)",
)
DEMANDED = either(
    r"always|must|should|shall|please|ensure|make sure|be sure(?: to)?|remember to|it is (?:important|required) to|"
    r"have to|has to|need(?:s)? to|do|does",
    "必须|应该|应当|务必|一定要|一定|总是|始终|永远|需要|请|每次都?|都要|总要|应|要|记得",
)

# Either side excludes the other, of the same thing.
ANTONYMS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (
        either(r"enabl(?:e|es|ed|ing)|turn(?:s|ed|ing)? on|switch(?:ed)? on", "启用|开启|打开"),
        either(r"disabl(?:e|es|ed|ing)|turn(?:s|ed|ing)? off|switch(?:ed)? off", "禁用|关闭|停用|关掉"),
    ),
    (
        either(r"before|prior to|ahead of", "之前|以前|(?<=[^目提先])前(?=[先要必，,])"),
        either(r"after|following|afterwards", "之后|以后|(?<=[^最随])后(?=[再要必，,])"),
    ),
    (
        either(r"allow(?:s|ed|ing)?|permit(?:s|ted)?|accept(?:s|ed)?", "(?<!不)允许|(?<!不)接受"),
        either(r"den(?:y|ies|ied)|reject(?:s|ed|ing)?|refus(?:e|es|ed)|block(?:s|ed)?", "驳回|阻止"),
    ),
    (
        either(r"includ(?:e|es|ed|ing)|keep(?:s|ing)?|kept|retain(?:s|ed)?|preserv(?:e|es|ed)", "包含|包括|保留"),
        either(
            r"exclud(?:e|es|ed|ing)|remov(?:e|es|ed|ing)|delet(?:e|es|ed|ing)|drop(?:s|ped)?|strip(?:s|ped)?|discard(?:s|ed)?",
            "排除|去掉|删除|移除|丢弃|去除",
        ),
    ),
    (
        either(r"increas(?:e|es|ed|ing)|rais(?:e|es|ed|ing)|higher|larger|bigger", "增加|增大|提高|调高|更大|更高"),
        either(
            r"decreas(?:e|es|ed|ing)|reduc(?:e|es|ed|ing)|lower(?:s|ed|ing)?|smaller", "减少|减小|降低|调低|更小|更低"
        ),
    ),
    (
        either(r"ascending|oldest first|earliest first", "升序|从旧到新|从小到大"),
        either(r"descending|newest first|latest first", "降序|从新到旧|从大到小"),
    ),
    (either(r"synchronous(?:ly)?|sync", "(?<!异)同步"), either(r"asynchronous(?:ly)?|async", "异步")),
    (
        either(r"required|mandatory|obligatory|compulsory", "必填|必需|强制性"),
        either(r"optional|voluntary", "可选|选填|自愿"),
    ),
    (either(r"public(?:ly)?", "公开"), either(r"private(?:ly)?|confidential", "私有|保密|不公开")),
    (either(r"upper[- ]?case", "大写"), either(r"lower[- ]?case", "小写")),
    (
        either(r"first|at the (?:start|beginning|top)", "首先|开头|最前面"),
        either(r"last|at the (?:end|bottom)", "最后|末尾|结尾"),
    ),
    (either(r"local(?:ly)?", "本地"), either(r"remote(?:ly)?", "远程")),
    (either(r"case[- ]sensitive", "区分大小写"), either(r"case[- ]insensitive", "忽略大小写")),
    (
        either(r"parallel|concurrently|at once|in one (?:batch|go)", "并行|并发|一次性"),
        either(r"sequential(?:ly)?|serial(?:ly)?|one (?:by one|at a time)", "串行|逐个|依次|逐一"),
    ),
    (
        either(r"short|brief(?:ly)?|concise(?:ly)?", "简短|简洁|简要"),
        either(r"long|detailed|in detail|verbose", "详细|冗长|详尽"),
    ),
    (either(r"succeed(?:s|ed)?|safe", "(?<!不)安全"), either(r"fail(?:s|ed)?|unsafe|dangerous", "危险|不安全")),
)

# Of each group one is chosen: languages, forms, signs.
CHOICES: tuple[dict[str, re.Pattern[str]], ...] = (
    {
        "english": either("english", "英文|英语"),
        "chinese": either("chinese|mandarin", "中文|汉语|简体"),
        "french": either("french", "法语|法文"),
        "german": either("german", "德语|德文"),
        "japanese": either("japanese", "日语|日文"),
        "spanish": either("spanish", "西班牙语"),
    },
    {
        "json": either("json|jsonl", "(?!)"),
        "yaml": either("ya?ml", "(?!)"),
        "xml": either("xml", "(?!)"),
        "csv": either("csv", "(?!)"),
        "toml": either("toml", "(?!)"),
        "markdown": either("markdown", "(?!)"),
        "html": either("html", "(?!)"),
        "plain text": either("plain text", "纯文本"),
    },
    {"tabs": either("tabs?", "制表符"), "spaces": either("spaces?", "空格")},
    {
        "single quotes": either("single[- ]quot(?:es|ed)", "单引号"),
        "double quotes": either("double[- ]quot(?:es|ed)", "双引号"),
    },
    {
        "utc": either("utc|gmt", "世界协调时"),
        "local time": either(r"local (?:time|time ?zone)", "本地时间|当地时间|北京时间"),
    },
    {
        "euros": either("euros?|eur", "欧元"),
        "dollars": either("dollars?|usd", "美元"),
        "yuan": either("yuan|cny|rmb", "人民币"),
    },
    {
        "metric": either("metric|kilometers?|celsius", "公里|摄氏"),
        "imperial": either("imperial|miles?|fahrenheit", "英里|华氏"),
    },
    {
        "formal": either("formal(?:ly)?", "正式"),
        "casual": either("casual(?:ly)?|informal(?:ly)?", "随意|口语化|非正式"),
    },
    {"merge": either("merge commits?", "合并提交"), "rebase": either("rebas(?:e|es|ed|ing)", "变基")},
)

# What is said of one of them says nothing of another.
SCOPES: tuple[dict[str, re.Pattern[str]], ...] = (
    {
        "production": either("production|prod|live", "生产|线上|正式"),
        "staging": either("staging|pre-?production", "预发"),
        "tests": either("tests?|testing", "测试"),
        "development": either("development|dev|local(?:ly)?", "开发|本地"),
    },
    {
        "windows": either("windows", "(?!)"),
        "linux": either("linux|ubuntu|debian", "(?!)"),
        "mac": either("mac ?os|macs?|os x", "苹果"),
    },
    {
        "weekdays": either("weekdays|working days|office hours", "工作日|上班时间"),
        "weekends": either("weekends?|holidays?", "周末|节假日"),
    },
    {"read": either("read(?:s|ing)?", "读取"), "write": either("writ(?:e|es|ing)", "写入")},
    {"request": either("requests?", "请求"), "response": either("responses?", "响应")},
    {"internal": either("internal(?:ly)?", "内部"), "external": either("external(?:ly)?", "外部|对外")},
    {
        "new": either("new", "新客户|新用户"),
        "returning": either("returning|existing|old", "老客户|老用户|现有"),
    },
)


# Amounts in a text, brought to one unit each, so that 60 seconds are a minute and three times are 3 次. Pure.

_UNITS: dict[str, tuple[str, str]] = {}
for _dimension, _sizes in {
    "time": {
        "0.001": "ms millisecond milliseconds 毫秒",
        "1": "s sec secs second seconds 秒 秒钟",
        "60": "min mins minute minutes 分钟",
        "3600": "h hr hrs hour hours 小时",
        "86400": "day days 天 日",
        "604800": "week weeks 周 星期",
    },
    "size": {"1": "byte bytes 字节", "1000": "kb", "1000000": "mb 兆", "1000000000": "gb"},
    "share": {"1": "% percent"},
    "times": {"1": "time times retry retries attempt attempts 次 遍"},
}.items():
    for _size, _names in _sizes.items():
        _UNITS.update(dict.fromkeys(_names.split(), (_dimension, _size)))
_NAMED = {
    name: str(value)
    for value, name in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    )
}
_NAMED |= {"once": "1", "twice": "2", "thrice": "3"}
_NAMED |= dict(zip("零一二三四五六七八九十", map(str, range(11)), strict=True)) | {"两": "2"}
_COUNTERS = "毫秒|秒钟?|分钟|小时|天|周|星期|次|遍|个|行|字节|页|条"
_UNIT = "|".join(sorted((name for name in _UNITS if name.isascii() and name != "%"), key=len, reverse=True))
_AMOUNT = re.compile(
    rf"(?<![\w.])(?P<number>\d+(?:[.,]\d+)*)\s*(?P<unit>%|(?:{_UNIT})\b|{_COUNTERS})?"
    rf"|(?<=[\u4e00-\u9fff])(?P<number2>\d+(?:\.\d+)*)\s*(?P<unit2>%|(?:{_UNIT})\b|{_COUNTERS})?"
    rf"|\b(?P<word>{'|'.join(name for name in _NAMED if name.isascii())})\b(?:\s+(?P<unit3>(?:{_UNIT})\b))?"
    rf"|(?P<chinese>[零一二两三四五六七八九十])(?P<unit4>{_COUNTERS})",
    re.IGNORECASE,
)
# Of a name and the space between it and its number no more is read.
LONGEST_NAME_OF_A_THING = 40
# A number that names a thing is no amount of it.
_NAMES_A_THING = re.compile(
    r"(?:http|status|error|code|errors|issue|step|page|chapter|section|rfc|cve|pep|no\.|#|状态码|错误码?|第|步骤|"
    r"\b(?:case|example|run|task|test|session|user|customer|order|booking|item|line|row|turn|ticket|lesson|entry|number)|"
    r"案例|用例|运行|任务|会话|用户|客户|订单|条目|编号)\s*+[:：#-]?\s*+$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Amount:
    """`value` in the smallest unit of its dimension; a bare number has none, a version is told as it is written."""

    dimension: str
    value: str
    said: str


def amounts_in(text: str) -> tuple[list[Amount], str]:
    """The amounts, and the text without them; numbers that name a thing stay in it."""
    found: list[Amount] = []

    def take(match: re.Match[str]) -> str:
        if _NAMES_A_THING.search(text[max(match.start() - LONGEST_NAME_OF_A_THING, 0) : match.start()]):
            return match[0]
        groups = match.groupdict()
        number = groups["number"] or groups["number2"] or _NAMED[(groups["word"] or groups["chinese"]).lower()]
        unit = (groups["unit"] or groups["unit2"] or groups["unit3"] or groups["unit4"] or "").lower()
        if groups["word"] and not unit and groups["word"].lower() == "one":
            return match[0]
        dimension, size = _UNITS.get(unit, ("", "1"))
        value = number
        with suppress(InvalidOperation):
            exact = Decimal(number.replace(",", "")) * Decimal(size)
            # 3.10 is another version than 3.1.
            value = str(exact.normalize()) if dimension else number
        found.append(Amount(dimension, value, match[0].strip()))
        return " "

    return found, _AMOUNT.sub(take, text)
