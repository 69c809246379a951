"""How agents say in English that they do not know, and what makes the same words mean something else."""

import re
from typing import NamedTuple

NEVER = r"(?!)"


class Words(NamedTuple):
    """Words that say so, unless `not_before` is found in the sentence before them or `not_after` follows at once."""

    says: re.Pattern[str]
    not_before: re.Pattern[str]
    not_after: re.Pattern[str]


def words(says: str, *, not_before: str = NEVER, not_after: str = NEVER) -> Words:
    return Words(*(re.compile(pattern, re.IGNORECASE) for pattern in (says, not_before, not_after)))


NOT = r"(?:(?:(?:currently|really|simply|still)\s+)?(?:do|did)(?:\s+not|n['’]t))"
CANNOT = (
    r"(?:cannot|can not|can['’]t|could not|couldn['’]t|"
    r"(?:(?:(?:am|are|was|were)\s+)?(?:unable|not able)|(?:have|has|had) not been able|wasn['’]t able)\s+to)"
)
WE = r"\b(?:I|we)\s+"
KNOWLEDGE = r"(?:information|info|knowledge|data|details|records?|facts|sources|documentation|evidence|context)"
WHICH = (
    r"(?:(?:any|enough|sufficient|the|that|this|specific|relevant|reliable|further|more|such|up-to-date|current|"
    r"real-time|detailed|necessary|required|additional)\s+){0,4}"
)

# Supposed, told of somebody else, denied, past, or a manner of speaking.
BEFORE = (
    r"\b(?:if|when|whenever|unless|in case|until|suppose|supposing|pretend|imagine|not that|isn['’]t that|not because|"
    r"(?:he|she|they|you|users?|customers?|people|who|someone|somebody|characters?|[A-Z][a-z]+)\s+"
    r"(?:says?|said|replie[sd]|answers?|answered|thinks?|thought|claims?|claimed|whispers?|whispered)(?:\s+that)?[,:]?|"
    r"(?:n['’]t|not|never)\s+(?:say|think|mean|claim|pretend|believe)(?:\s+that)?|at first|initially|used to|how do|"
    r"why do|what do|everything|nothing that|all that|the things?|what)\s*(?:\W\s*)?(?:\w+\s+){0,2}$"
)
AFTER_KNOW = (
    r"\s*(?:about you\b|(?:exactly )?why (?:you|they|he|she|people|anyone|everyone|nobody|we)\b|how to thank|"
    r"how (?:long|far) I\b|(?:if|whether) (?:this|that|it) (?:helps|is what you)|"
    r"what (?:I would|I['’]d|you['’]d|you would) (?:do|say)|what (?:got into|came over|hit)|how you (?:do|did|manage)|"
    r"which (?:one )?(?:you|of these you)|yet (?:how much|that)|the half of|and neither|nothing|no[nt]\b|until|"
    r"each other|is\b)"
)
# To look for mistakes and find none is to know.
NOTHING_WRONG = (
    r"\W*(?:(?:any|a|an|single|further|more|other|obvious|real|serious|remaining|new|to|be|with|major|critical|security|"
    r"logical|factual|grammatical|spelling|syntax)\s+){0,4}(?:errors?|bugs?|issues?|problems?|faults?|mistakes?|flaws?|"
    r"counter-?examples?|differences?|contradictions?|inconsistenc|violations?|duplicates?|regressions?|vulnerabilit|"
    r"typos?|defects?|reason|better|words)"
)
# What a program does, or what holds in some case only.
SUPPOSED = (
    r"\b(?:if|when|whenever|unless|in case|until|where|while|should|returns?|raise[sd]?|throws?|otherwise|at first|"
    r"initially)\b[^,]{0,80}$"
)
SOURCE = (
    r"\b(?:knowledge base|context(?! manager)|documents?|sources?(?! code)|materials?|database|training data|dataset|"
    r"search results|passages?)"
)
FOUND = (
    r"(?:results?|information|data|sources?|records?|documents?|papers?|match(?:es)?|answers?|articles?|entries|"
    r"details)"
)
WHICH_FOUND = r"(?:(?:relevant|matching|search|further|useful|specific|such|reliable|additional|related)\s+){0,3}"

ENGLISH: tuple[Words, ...] = (
    words(
        rf"{WE}(?:(?:just|also|honestly|actually|still)\s+)?{NOT}\s+(?:(?:actually|really|yet)\s+)?know\b",
        not_before=BEFORE,
        not_after=AFTER_KNOW,
    ),
    words(r"(?:^|[:\-–—*]\s*)(?:sorry,?\s+)?(?:do not|don['’]t)\s+know\W*$"),
    words(
        r"\bno idea\b(?=\W*$|\s+(?:what|who|which|where|when|how))",
        not_before=r"\b(?:he|she|they|you|users?|if|when|people)\b[^,]{0,30}$",
        not_after=r"\s+how (?:much|grateful)",
    ),
    words(
        rf"{WE}(?:(?:just|also|simply|honestly|still)\s+)?(?:{NOT}\s+(?:\w+\s+)?(?:have|possess)|have no|have not|"
        rf"haven['’]t got|lack)\s+(?:access to\s+)?{WHICH}{KNOWLEDGE}\b",
        not_before=BEFORE,
        not_after=r"\s+(?:to (?:share|hide|lose)|leaks?|loss)",
    ),
    words(rf"{WE}{NOT}\s+have\s+access to\b", not_before=BEFORE),
    words(
        r"\b(?:I|we)(?:\s+am|\s+are|['’]m|['’]re)\s+not\s+(?:familiar with|"
        r"aware of any (?:information|data|sources?|publications?|papers?)|"
        r"(?:sure|certain) (?:what|which|who|where|when)\b)",
        not_before=BEFORE,
        not_after=r"\s+(?:else )?you\b",
    ),
    words(
        rf"\b(?:(?:I|we)\s+(?:\w+ly\s+)?|(?:I['’]m|we['’]re)\s+(?=unable|not able)){CANNOT}\s+(?:\w+ly\s+)?"
        r"(?:find|locate|determine|verify|retrieve|identify|confirm|answer|look up|obtain|establish|say for certain)\b",
        not_before=BEFORE,
        not_after=NOTHING_WRONG,
    ),
    words(
        r"\b(?:I|we)\s+(?:have\s+)?(?:found|got|received)\s+"
        rf"(?:nothing|no (?:\w+\s+){{0,2}}{FOUND})\b",
        not_before=BEFORE,
        not_after=r"\s+(?:wrong|to (?:fix|change|correct|complain)|suspicious|broken|missing)",
    ),
    words(
        r"\b(?:(?:returned|yielded|gave|produced|found)\s+(?:no|zero|0)|"
        r"did(?: not|n['’]t) (?:return|yield|give|produce)(?: any)?)\s+(?:\w+\s+){0,2}"
        r"(?:results?|match(?:es)?|hits?|documents|papers|records)\b",
        not_before=SUPPOSED,
        not_after=r"\s+(?:worse|if|when)",
    ),
    words(
        rf"\b(?:no|zero)\s+{WHICH_FOUND}{FOUND}\s+(?:(?:was|were|is|are|has been|have been|could be|can be)\s+)?"
        r"(?:found|available|returned|retrieved|located)\b",
        not_before=SUPPOSED,
        not_after=r"\s+(?:if|when|unless|by default|wrong)",
    ),
    words(r"^\W*nothing (?:relevant )?(?:was |could be )?found\b", not_after=r"\s+(?:wrong|if|when)"),
    words(r"^\W*no (?:relevant |matching |search )?results?(?: found)?\W*$"),
    words(
        rf"{SOURCE}\b[^.]{{0,60}}?\b(?:do(?:es)?|did)(?:\s+not|n['’]t)\s+"
        r"(?:contain|include|mention|cover|provide|have|say|specify|list|give)\b",
        not_before=SUPPOSED,
        not_after=r"\s+(?:any\s+)?(?:errors?|bugs?|duplicates?|nulls?|personal|sensitive|harmful|only|just|malware|ads)",
    ),
    words(
        rf"{SOURCE}\s+(?:has|have|holds?|contains?)\s+(?:no|nothing)\b",
        not_before=SUPPOSED,
        not_after=r"\s+(?:errors?|bugs?|duplicates?|nulls?|personal|sensitive|other|wrong|more than|limits?)",
    ),
    words(
        r"\bthere(?: is|['’]s| was)\s+(?:no|not enough|insufficient)\s+(?:\w+\s+){0,2}"
        r"(?:information|data|evidence|context|knowledge)\b",
        not_before=SUPPOSED,
        not_after=r"\s+(?:loss|leak|race|that (?:it|this) (?:fails|breaks))",
    ),
    words(
        r"\binsufficient (?:information|data|context|knowledge)\b",
        not_before=SUPPOSED,
        not_after=r"\s*(?:error|exception|warning)",
    ),
    words(
        r"\b(?:is|are|lies|falls?)\s+(?:beyond|outside(?: of)?)\s+(?:my|our)\s+(?:knowledge|training|expertise)\b",
        not_before=SUPPOSED,
    ),
    words(r"\b(?:is|are|remains?)\s+(?:unknown|unfamiliar|not known) to (?:me|us)\b", not_before=SUPPOSED),
    words(r"\b(?:after|past|beyond) my (?:knowledge|training)(?: data)? cut-?off\b", not_before=SUPPOSED),
)
