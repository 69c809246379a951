"""Signatures of errors, in which alike errors are equal, and the few words that tell one at a glance."""

import re

from reflection_app.loops.diagnosis.error_texts import plain_text, telling_text
from reflection_app.loops.storable import storable

LONGEST_SIGNATURE = 300
MOST_SYMPTOMS = 5
LONGEST_SYMPTOM = 60
NOTHING_SAID = "(nothing said)"

# One pass, the first that fits at a place wins. Codes stay: they tell errors apart. All repeats are bounded.
_VARIABLE = re.compile(
    r"""
      (?P<kept>\b(?:http(?:/\d(?:\.\d)?)?(?:\ (?:status|error|code))?|status(?:[ _]?code)?
          |(?:error|exit|return|sqlstate)?[ _-]?code|errno|sqlstate|exit\ status)
          (?:\ is)?[ :=\[(]{0,4}-?[0-9][0-9a-z]{0,5}\b
        |(?:错误码|状态码|代码)[ :=]{0,3}-?\d{1,6}
        |\b[45]\d\d\ (?=[a-z]))
    | (?P<url>\b[a-z][a-z0-9+.-]{1,15}://[^\s"'<>,，。]{1,500})
    | (?P<email>\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})
    | (?P<time>\b\d{4}[-/年]\d{1,2}[-/月]\d{1,2}日?(?:[t ]\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:z|[+-]\d\d:?\d\d)?)?
        |\b\d{1,2}:\d\d(?::\d\d)?(?:\.\d{1,9})?\b)
    | (?P<id>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)
    | (?P<value>"[^"\n]{0,400}"|(?<!\w)'[^'\n]{0,400}'(?!\w)
        |“[^”]{0,400}”|「[^」]{0,400}」|《[^》]{0,400}》|‘[^’]{0,400}’)
    | (?P<path>\b[a-z]:\\[^\s:*?"<>|]{1,300}|(?<![\w.)/])~?(?:/[\w.@+-]{1,120}){2,30}/?
        |(?<![\w.)/])\.{1,2}(?:/[\w.@+-]{1,120}){1,30}
        |\b[\w-]{1,60}\.(?:py|js|ts|json|csv|txt|md|html|pdf|sql|yaml|yml|toml|log|go|rs|java|sh)\b)
    | (?P<hex>\b0x[0-9a-f]{1,64}\b)
    | (?P<duration>\b(?:\d{1,4}h\ ?)?(?:\d{1,4}m\ ?)?\d{1,12}(?:\.\d{1,9})?
        \ ?(?:ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|hours?)\b
        |\d{1,12}(?:\.\d{1,9})?\ ?(?:毫秒|秒钟?|分钟|小时))
    | (?P<ip>\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b)
    | (?P<word>(?<![\w])(?=[a-z_-]{0,40}\d)(?=[\d_-]{0,40}[a-z])[a-z0-9_]{2,120}(?:-[a-z0-9_]{1,60}){0,10}(?![\w]))
    | (?P<number>\d{1,40}(?:[.,]\d{1,20}){0,8})
    """,
    re.VERBOSE,
)
_LEAD = re.compile(r"^(?:(?:error|exception|failure|fatal|错误|异常|失败|报错)\s?[:!-]\s?){1,4}")
_SYMPTOM = re.compile(
    r"""
      \bHTTP\s?[45]\d\d\b|\b[45]\d\d\s(?:[A-Z][a-z]+\s?){1,4}
    | \b(?-i:E[A-Z]{4,14})\b|\b(?-i:[A-Z])\w{1,40}(?-i:Error|Exception)\b
    | \b(?:connect(?:ion)?|read|gateway)?\s?time(?:d\s|-)?out\b|\bdeadline\sexceeded\b|\bno\sresponse\b
    | \brate\s?-?limit(?:ed|s)?\b|\btoo\smany\srequests\b|\bquota\b|\boverloaded\b
    | \bforbidden\b|\bunauthorized\b|\bpermission\sdenied\b|\baccess\sdenied\b|\bexpired\b|\bapi\skey\b|\bnot\sallowed\b
    | \bconnection\s(?:refused|reset|closed|aborted)\b|\bcertificate\b|\bTLS\b|\bSSL\b|\bDNS\b
    | \b(?:service\s|temporarily\s)?unavailable\b|\bbad\sgateway\b|\binternal\sserver\serror\b
    | \bnot\sfound\b|\bno\ssuch\b|\bdoes\snot\sexist\b|\balready\sexists\b|\bduplicate\b
    | \binvalid\b|\bsyntax\b|\bmissing\b|\brequired\b|\bunexpected\b|\bunknown\b|\bunsupported\b|\bnot\simplemented\b
    | \bnot\s(?:enough|available)\b|\binsufficient\b|\btoo\s(?:large|long)\b|\bout\sof\s(?:memory|range|stock)\b
    | \bno\sspace\b|\bread-?only\b|\bkilled\b|\bconflict\b|\block(?:ed)?\b|\bempty\b|\bno\sresults?\b|\balready\b
    | 超时|无响应|没有响应|请求过于频繁|频率限制|限流|配额|额度
    | 权限不足|无权限|没有权限|拒绝访问|禁止访问|未授权|认证失败|已过期
    | 连接失败|连接被拒绝|连接重置
    | 证书|域名|服务不可用|网关|服务器内部错误|繁忙
    | 不存在|未找到|找不到|已存在|重复|参数错误|格式错误|语法错误
    | 缺少|缺失|无效|不合法|不支持|未知
    | 余额不足|库存不足|不足|已满|过大|过长|无结果|为空|冲突
    """,
    re.VERBOSE | re.IGNORECASE,
)


def signature_of(error: str, *, tool: str = "") -> str:
    """The error with all that varies from call to call replaced by placeholders; at most 300 characters.

    `tool` is the failed tool's name, which says nothing in its own errors. Codes stay, as do the words in any language.
    """
    text = telling_text(error)
    name = tool.strip().casefold()
    if len(name) > 2:
        text = text.replace(name, "<tool>")
    text = _LEAD.sub("", _VARIABLE.sub(_placeholder, text))
    return storable(text.strip(" .。!,;:")[:LONGEST_SIGNATURE].strip()) or NOTHING_SAID


def symptoms_of(error: str) -> tuple[str, ...]:
    """The few telling words as they are written in the error; the beginning of its signature where there are none."""
    found: dict[str, str] = {}
    for one in _SYMPTOM.finditer(plain_text(error)):
        word = storable(" ".join(one[0].split()))[:LONGEST_SYMPTOM]
        found.setdefault(word.casefold(), word)
        if len(found) == MOST_SYMPTOMS:
            break
    return tuple(found.values()) or (signature_of(error)[:LONGEST_SYMPTOM],)


def _placeholder(found: re.Match[str]) -> str:
    kind = found.lastgroup or "value"
    if kind == "kept":
        return found[0]
    return {"word": "<id>", "number": "<n>"}.get(kind, f"<{kind}>")
