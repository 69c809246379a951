"""Direct orders to whoever reads a text, in English and Chinese: what needs no classifier. Pure; gaps are bounded.

Matched against text as disguises.py folds it: small letters, no look-alikes, nothing that is not seen. Whatever is
meant rather than said in these words is for the classifier (judgement/lesson_screening.py).
"""

import re

# An order begins a sentence or follows such a word; what agents "tend to ignore", or must never, is a description.
# Nor is one that stands in quotation marks.
_ORDERED = r"(?:(?:^|[.!?:;,\n(\[>|-])\s?|\b(?:please|now|must|should|just|and|then|simply|you (?:have|are) to)\s)"
_DROP = r"(?:ignore|disregard|forget|override|bypass|discard|stop following|do not (?:follow|obey)|no longer follow)"
_GIVEN = r"(?:previous|prior|earlier|above|original|initial|your|system|safety|everything you|you were)"
_RULES = r"(?:instructions?|prompts?|directions?|guidelines?|rules?|orders|constraints?|told|given)"
_ELSEWHERE = r"(?!\s(?:that|which|found|in an?|from an?)\b)"
_LIMITS = r"(?:restrictions?|limits?|limitations?|filters?|polic(?:y|ies)|rules)"
_PRIVATE = r"(?:api keys?|secrets?|passwords?|credentials?|environment variables|id_rsa|\.ssh|/etc/passwd|every file)"
_AWAY = r"(?:https?://|wss?://|[\w.-]{1,60}@[\w-]{1,60}\.\w|\d{1,3}(?:\.\d{1,3}){3})"
_SAME = r"[^。!?\n]"
_NOT = "".join(f"(?<!{word})" for word in ("不要", "不能", "不得", "不应", "禁止", "避免", "切勿", "别", "“", "「"))
_DROP_ZH = r"(?:忽略|无视|忘记|忘掉|不要遵守|绕过)(?!了)"
_GIVEN_ZH = r"(?:之前|以上|先前|原有|所有|全部|系统|你的?)"
_RULES_ZH = r"(?:指令|指示|提示词?|规则|命令|限制|规定)"
_PRIVATE_ZH = r"(?:密钥|密码|口令|令牌|凭证|环境变量)"
_SEND_ZH = r"(?:发送|上传|提交|转发|发到|发给|发至|传到)"
ORDERS = {
    "override": (
        rf"{_ORDERED}{_DROP}\b[^.!?\n]{{0,30}}?\b{_GIVEN}\b[^.!?\n]{{0,30}}?\b{_RULES}\b{_ELSEWHERE}",
        rf"{_ORDERED}{_DROP}\s(?:all|any|every)\s(?:the\s)?{_RULES}\b{_ELSEWHERE}",
        rf"\b{_GIVEN}\s(?:\w{{1,20}}\s){{0,2}}{_RULES}\s(?:no longer apply|are (?:now )?(?:void|lifted|switched off))",
        rf"{_NOT}{_DROP_ZH}{_SAME}{{0,8}}?{_GIVEN_ZH}{_SAME}{{0,8}}?{_RULES_ZH}|只听我的|服从我|照我说的做",
    ),
    "persona": (
        rf"\byou(?: are|re) (?:now )?(?:an? )?(?:unrestricted|uncensored|in \w{{1,20}} mode|ai without {_LIMITS})",
        rf"{_ORDERED}(?:pretend (?:to be|you)|act as (?:root|if you had no))|\bdeveloper mode\b[^\n]{{0,80}}\brules\b",
        rf"(?:你现在|假装|假设|扮演){_SAME}{{0,12}}?(?:(?:没有|不受){_SAME}{{0,4}}?限制|管理员|祖母)",
    ),
    "prompt theft": (
        rf"{_ORDERED}(?:reveal|print|show|output)\b[^.!?\n]{{0,20}}?\byour (?:\w{{1,12}}\s)?(?:prompt|secrets)\b",
        r"\brepeat the text above\b|\bwhat were your initial instructions\b",
        rf"(?:告诉我|输出|打印|泄露|把){_SAME}{{0,6}}?你{_SAME}{{0,4}}?提示词",
    ),
    "exfiltration": (
        rf"\b(?:send|post|upload|forward)\b[^\n]{{0,80}}?{_PRIVATE}[^\n]{{0,80}}?{_AWAY}|\bcurl\b[^\n]{{0,99}}?\$\(",
        rf"{_PRIVATE_ZH}{_SAME}{{0,20}}?{_SEND_ZH}{_SAME}{{0,20}}?{_AWAY}",
        rf"{_SEND_ZH}{_SAME}{{0,20}}?{_PRIVATE_ZH}{_SAME}{{0,20}}?{_AWAY}",
    ),
    "role tag": (
        r"(?:^|\n)\s{0,9}(?:<\|\s?(?:im_start|im_end|system|user|assistant|end)\s?\|?>|\[/?inst\]|<</?sys>>|</?system>)",
        r"(?:^|\n)\s{0,9}#{1,6}\s?(?:system|assistant)\s?:|(?:^|\n)\s{0,9}(?:human|user):[^\n]{0,400}\n\s{0,9}assistant:",
    ),
    "script": (
        r"<script\b[^\n]{0,300}(?:\bsrc\b|</script)|<\w{1,12}\s[^>]{0,300}?\bon[a-z]{3,16}\s?=|\]\(\s?javascript:",
        r"\bdata:text/html[;,]|<!--\s?[^\s<>]{1,40}(?:\s[^\s<>]{1,40}){2}|<!--[^<>\n]{0,40}?[\u3400-\u9fff]{4}",
        r"!\[[^\]\n]{0,200}\]\(\s?(?:https?:)?//[^)\s]{1,400}?(?:[?&][\w.-]{0,40}=|\{)",
    ),
}
PATTERNS = tuple((rule, re.compile(pattern)) for rule, patterns in ORDERS.items() for pattern in patterns)
