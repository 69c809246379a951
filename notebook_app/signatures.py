"""What prompt injection looks like, in English. Pure; every gap is bounded, so that matching is too.

They are matched against text as disguises.py folds it: small letters, no look-alikes, nothing that is not seen.
An order is told from a description by what stands before its verb: "ignore earlier instructions" at the start of a
sentence or after "please" is one; what an agent "tends to ignore", or must never, is not.
"""

import re
from typing import NamedTuple


class Signature(NamedTuple):
    """`rule` names what was found, in one word or two."""

    rule: str
    pattern: re.Pattern[str]


_ORDERED = (
    r"(?:(?:^|[.!?:;,\n\"()\[\]<>|-])\s?|\b(?:please|now|must|shall|should|just|and|then|first|immediately"
    r"|kindly|simply|instead|so|you (?:are|have|need|want|ought) to|i want you to|ai|assistant|model)\s)"
)
_SKIP = r"(?:\s[\w/-]{1,20}){0,4}?\s"
_LESS = r"(?:\s[\w/-]{1,20}){0,2}?\s"
_DROP = (
    r"(?:ignore|disregard|forget|override|bypass|discard|neglect|set aside|throw away|erase|cancel"
    r"|pay no attention to|do not (?:follow|obey)|dont (?:follow|obey)"
    r"|stop (?:following|obeying)|no longer (?:follow|obey)"
    r"|abandon|unlearn)"
)
_EARLIER = (
    r"(?:all|any|every|everything|whatever|previous|prior|earlier|above|preceding|foregoing|past|existing|original"
    r"|initial|former|your|system|safety|content)"
)
_ORDERS = (
    r"(?:instructions?|prompts?|directions?|directives?|guidelines?|orders|rules?|commands?|programming|training"
    r"|constraints?|restrictions?|safeguards?|guardrails?|polic(?:y|ies)|system messages?"
    r"|you (?:were|have been|are|had been) (?:told|given|taught|instructed))"
)
# What is said about orders that come from outside is how to be careful with them.
_NOT_FROM_OUTSIDE = (
    r"(?!\s(?:that (?:are|is|come|appear)|which|found|inside|embedded|hidden|contained|coming|within)\b)"
)
_NOT_IN_A_PAGE = (
    r"(?!\s(?:in|from)\s(?:an?|tool|web|external|retrieved|fetched|the (?:web|tool|page|file"
    r"|document))\b)"
)
_PRIVATE = (
    r"(?:api[ _-]?keys?|secrets?|passwords?|credentials?|access tokens?|environment variables|env vars|private keys?"
    r"|ssh keys?|id_rsa|\.ssh\b|\.env\b|/etc/(?:passwd|shadow)|cookies|conversation|chat history|system prompt"
    r"|(?:every|all)(?: the)? files?|source code)"
)
_AWAY = r"(?:https?://|ftp://|wss?://|@[\w-]{1,60}\.\w|\b\d{1,3}(?:\.\d{1,3}){3}\b)"
_NO_LIMITS = r"(?:restrictions?|limits?|limitations?|filters?|rules|guidelines|censorship|constraints|polic(?:y|ies))"


def signature(rule: str, pattern: str) -> Signature:
    return Signature(rule, re.compile(pattern))


# Words alone: matched in whatever disguises are taken off, too.
ENGLISH: tuple[Signature, ...] = (
    signature(
        "override",
        rf"{_ORDERED}{_DROP}(?:{_SKIP}|\s){_EARLIER}(?:{_SKIP}"
        rf"|\s){_ORDERS}\b{_NOT_FROM_OUTSIDE}{_NOT_IN_A_PAGE}",
    ),
    signature("override", rf"{_ORDERED}{_DROP}{_LESS}{_ORDERS}{_SKIP}(?:above|before|so far|up to now|earlier)\b"),
    signature(
        "override",
        rf"\b(?:previous|prior|earlier|above|initial|original|your|system)(?:{_LESS}|\s){_ORDERS}(?:{_LESS}|\s)"
        r"(?:no longer (?:apply|hold|bind)|(?:do not|dont) apply|(?:are|is) (?:now )?(?:void|null|cancell?ed"
        r"|suspended|lifted"
        r"|superseded|revoked|switched off|disabled)|(?:have been|were) (?:lifted|revoked|suspended)"
        r"|(?:must|should|shall|are to|have to) (?:now )?be (?:ignored|disregarded|forgotten))\b",
    ),
    signature(
        "override",
        rf"\b(?:supersedes?|takes? precedence over|has priority over|have priority over|overrides?)\s(?:all|any"
        rf"|every|your)"
        rf"(?:{_LESS}|\s){_ORDERS}\b",
    ),
    signature(
        "new orders",
        r"(?:^|\n|[.!?]\s)(?:new|updated|revised|real|actual)\s(?:instructions?|tasks?|orders?|system prompt"
        r"|objectives?)\s?:"
        r"|\bstop what you are doing\b|\b(?:obey|answer to|listen to)\s(?:only\s)?(?:me|my|the author of this)\b",
    ),
    signature(
        "persona",
        r"\byou(?: are|re) (?:now|henceforth|from now on|no longer)\s(?:called\s|my\s|an?\s|the\s|in\s)"
        r"(?:[\w-]{1,20}\s){0,3}?(?:assistant|ai|model|bot|chatbot|agent|persona|character|hacker|administrator"
        r"|admin|root"
        r"|mode|bound|restricted)\b",
    ),
    signature(
        "persona",
        rf"\b(?:ai|model|assistant|chatbot|bot|llm)\s(?:\w{{1,20}}\s){{0,2}}?(?:without|with no|free of|free from)\s"
        rf"(?:\w{{1,20}}\s){{0,2}}?{_NO_LIMITS}\b|\byou(?: are|re) dan\b"
        r"|\b(?:unrestricted|uncensored|jailbroken|unfiltered)\s(?:ai|assistant|model|chatbot|mode|persona)\b",
    ),
    signature(
        "persona",
        rf"{_ORDERED}(?:pretend|imagine|suppose)\s(?:to be|you are|youre|that you are|that you have no)\b"
        r"|\b(?:act|behave|respond|answer|speak) as (?:if|though) you (?:had|have|were|are)\s(?:no|not|never"
        r"|un\w+|free)\b"
        rf"|{_ORDERED}act as (?:root|admin|an? admin\w*|superuser|sudo|dan|an? un\w+)\b",
    ),
    signature(
        "persona",
        r"\b(?:developer|god|dan|jailbreak|sudo|maintenance|admin) mode\b[^\n]{0,80}\b(?:rules|restrictions"
        r"|safety|filters?"
        r"|unrestricted|guidelines)\b|\b(?:you(?: are|re)(?: now)?|now) in (?:developer|god|dan|jailbreak|sudo"
        r"|admin) mode\b",
    ),
    signature(
        "persona",
        r"\bfrom (?:now|this point|here|this moment)(?: on)?(?:wards?)?,?\s(?:on\s)?(?:you\b|respond|reply"
        r"|answer|obey|act\b"
        r"|speak|your\b|i am)|\bhenceforth,?\syou\b",
    ),
    signature(
        "prompt theft",
        rf"{_ORDERED}(?:reveal|leak|disclose|expose|dump|recite)(?:{_SKIP}|\s)(?:system prompt|(?:initial"
        rf"|original|hidden|secret"
        r"|developer|system|your) (?:instructions?|prompt)|(?:your|the) secrets?)\b",
    ),
    signature(
        "prompt theft",
        rf"{_ORDERED}(?:print|show|output|display|repeat|write|tell me|give me|share|return|copy|paste"
        rf"|translate|summari[sz]e"
        rf"|encode)(?:{_SKIP}|\s)(?:your|full|entire|whole|exact|hidden|verbatim)(?:{_LESS}|\s)"
        r"(?:system prompt|instructions?|prompt|initial message)\b",
    ),
    signature(
        "prompt theft",
        rf"\b(?:repeat|print|output|copy)(?:{_SKIP}|\s)(?:text|words|everything|prompt|message|content"
        rf"|lines?)\sabove\b"
        r"|\bwhat (?:are|were|is|was) your (?:initial|original|system|hidden|first|secret) (?:instructions?"
        r"|prompt|rules)\b",
    ),
    signature(
        "exfiltration",
        r"\b(?:send|post|upload|forward|transmit|exfiltrate|e-?mail|leak|submit|deliver|copy|push)\b"
        rf"[^\n]{{0,80}}?{_PRIVATE}[^\n]{{0,80}}?{_AWAY}",
    ),
    signature(
        "exfiltration",
        r"\b(?:curl|wget|nc|fetch)\b[^\n]{0,160}?(?:\$\((?:cat|env|printenv|whoami)|`(?:cat|env)|/etc/(?:passwd"
        r"|shadow)|id_rsa)"
        r"|\btransfer\s(?:\w{1,12}\s){0,2}?(?:funds|money|bitcoin|balance)\b[^\n]{0,40}?\bto (?:account|wallet"
        r"|iban|address)\b",
    ),
    signature(
        "secrecy",
        r"\b(?:do not|dont|never)\s(?:tell|inform|mention|reveal|notify|alert|warn)(?:\s\w{1,20}){0,4}?\s"
        r"(?:this|these|the above)\s(?:notes?|messages?|instructions?|text|entry|prompt|orders?|memory)\b"
        r"|\bnever mention that you (?:read|saw|were|received)\b",
    ),
    signature(
        "judging",
        rf"{_ORDERED}(?:approve|accept|pass|mark|rate)(?:\s\w{{1,20}})?\s(?:every|all|each|any|everything)\b"
        r"(?!\sof (?:them|which) only)(?:\s(?:answers?|attempts?|outputs?|verdicts?|work|submissions?)|[.!\n]|$)"
        r"|\b(?:return|returns|give|gives|assign|award|output)(?:\s\S{1,20}){0,5}?\s(?:score|points|marks|grade"
        r"|100)\b"
        r"(?:\s\S{1,20}){0,5}?\s(?:whatever|regardless|no matter|irrespective)\b"
        r"|\balways (?:give|return|output|answer|award) (?:full marks|100|a? ?pass|approved)\b"
        r"|\byou must (?:approve|output pass|accept)\b",
    ),
    signature(
        "order to agents",
        r"\b(?:ai|ai agents?|ai assistants?|ai models?|llm|dear assistant|note to (?:ai|the model|the assistant"
        r"|llms?))\s?[:,]\s?"
        r"(?:please\s)?(?:delete|send|approve|ignore|say|run|execute|call|post|reply|answer|print|output"
        r"|transfer|stop)\b",
    ),
)

# Letters alone, without anything between them: for words that were cut or spaced out.
SQUEEZED: tuple[Signature, ...] = (
    signature(
        "override",
        r"(?:ignore|disregard|forget|override|bypass)(?:all|any|every|everything|of|the|your|my|these|those"
        r"|previous|prior"
        r"|earlier|above|preceding|system|initial|original|safety){1,5}(?:instructions?|rules|prompts?"
        r"|guidelines|directions"
        r"|directives|orders|commands|restrictions|policies)",
    ),
    signature(
        "prompt theft",
        r"(?:reveal|print|output|repeat|leak|disclose|show)(?:me)?(?:your|thefull"
        r"|all){1,2}(?:hidden|full)?systemprompt",
    ),
    signature(
        "persona",
        r"youarenow(?:anunrestricted|anuncensored|indevelopermode|ingodmode|dan(?=without|and"
        r"|who))",
    ),
)


# Marks that have no place in a lesson: tags of chat templates, scripts, comments, links that carry data away. Pure.

MARKUP: tuple[Signature, ...] = (
    signature(
        "role tag",
        r"<\|\s?(?:im_start|im_end|im_sep|system|user|assistant|developer|endoftext|eot_id|start_header_id"
        r"|end_header_id"
        r"|begin_of_text|end_of_turn|start_of_turn|end)\s?\|?>|<(?:start|end)_of_turn>|\[/?inst\]|<</?sys>>"
        r"|</?(?:system|assistant|human|developer)(?:[_-]?(?:prompt|message|instructions?))?>",
    ),
    signature(
        "role tag",
        r"(?:^|\n)\s{0,10}#{1,6}\s{0,4}(?:system|assistant|human|developer|instructions?)(?: (?:prompt"
        r"|message))?\s{0,4}:"
        r"|(?:^|\n)\s{0,10}(?:human|user)\s{0,4}:[^\n]{0,400}\n\s{0,10}(?:assistant|ai)\s{0,4}:"
        r"|(?:^|\n)\s{0,10}assistant\s{0,4}:\s{0,4}(?:sure|ok|of course|certainly|i will|ill|yes)\b"
        r"|(?:^|\n)\s{0,10}(?:system|developer)(?: (?:prompt|message))?\s{0,4}:\s{0,4}(?:you|please|always"
        r"|never|ignore|override"
        r"|output|give|from now|new|important)\b",
    ),
    signature(
        "script",
        r"<script\b[^>]{0,200}(?:\bsrc\b|>[^<\n]{1,400}</script)"
        r"|<\w{1,12}\s[^>]{0,300}?\bon[a-z]{3,16}\s?=",
    ),
    signature(
        "script",
        r"(?:\]\(|=)\s{0,4}[\"']?\s{0,4}(?:javascript|vbscript):"
        r"|\bdata:(?:text/(?:html|javascript|plain|xml)|application/(?:javascript|xhtml\+xml|x-sh)"
        r"|image/svg\+xml)[;,]"
        r"|<(?:iframe|object|embed|meta|base)\s[^>]{1,300}>",
    ),
    signature(
        "hidden comment",
        r"<!--\s{0,20}[^\s<>]{1,40}(?:\s{1,4}[^\s<>]{1,40}){2,}?"
        r"|<!--[^<>\n]{0,40}?[\u3400-\u9fff]{4}",
    ),
    signature(
        "link that tells",
        r"!\[[^\]\n]{0,200}\]\(\s{0,4}(?:https?:)?//[^)\s]{1,400}?(?:[?&][\w.-]{0,40}=|\{)"
        r"|\]\(\s{0,4}https?://[^)\s]{0,400}?[{<$%\[]{1,2}\s?(?:conversation|secret|token|api_?key|password"
        r"|prompt|history|cookie)",
    ),
)
