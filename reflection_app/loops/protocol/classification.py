"""Which class of error an attempt shows: the facts are gathered first, and the class follows from them alone.

After "Classification Decision Tree" of the third design seed; no model is asked.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from reflection_app.loops.protocol.error_classes import ErrorClass, FailureFacts, SimilarIssues
from reflection_app.loops.protocol.stages import Classified
from reflection_app.loops.protocol.unknown_english import ENGLISH, Words, words
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.loops.task_spec import Thresholds
from reflection_app.loops.texts import cut
from reflection_app.loops.verdicts import IssueCategory, Judgement, Severity

# The words in which an agent says that it does not know, in English and Chinese: a fact that errors are classed by.
#
# Read sentence by sentence. What somebody else says, or what is quoted, supposed, denied or past, does not count.

# How agents say in Chinese that they do not know, and what makes the same words mean something else.

KNOWS_NOT = (
    r"(?:也|都|还|并|真的?|确实|完全|实在|目前|暂时|其实|同样)?"
    r"(?:不知道|不清楚|不了解|不太清楚|不太了解|不太知道|不甚了解|不确切知道|一无所知|毫不知情|不熟悉|不懂)"
)
THINGS = r"(?:信息|资料|内容|结果|数据|论文|文献|记录|答案|条目|知识|文档|文章|来源|证据|线索|材料|网页|匹配项)"
FOUND = r"(?:找到|查到|搜到|检索到|搜索到|查询到|查找到|获取到|得到|收录|发现)"
SUBJECT = r"(?:我们?|本人|本助手)"

# Denied, supposed, past, or told of somebody else.
BEFORE = (
    r"(?:不是|并非|不会|不能|不可能|没有人|哪能|怎么会|怎能|难道|莫非|岂|别说|不要说|如果|假如|若|要是|倘若|假设|一旦|万一|当|"
    r"除非|他|她|你|您|用户|客户|顾客|读者|大家|人们|有人|别人|谁|很多人|许多人|不少人|对方|主人公|小明|老师|学生|"
    r"起初|一开始|最初|原本|原来|曾经|以前|之前|从前|小时候|装作|假装|知道|所谓|凡是|任何人)"
    r"[^，,、:：我]{0,12}[:：,，]?\s*(?:我们?|咱们)?[^，,:：]{0,4}$"
)
AFTER_KNOW = (
    r"(?:他|她|他们|大家)?(?:为什么|为何|干嘛|怎么)(?:你|您|他|她|老|总)|你|您|"
    r"是否(?:合适|有用|对|可以|需要)|(?:这样|这个|以上)(?:是否|行不行|可不可以|能否|对不对)|该?(?:怎么|如何)(?:感谢|谢)|"
    r"的|不觉|天高|好歹|者|就(?:问|说|查)|也(?:没关系|无妨)|时|之处|疲倦|吗"
)
# To look for mistakes and find none is to know.
NOTHING_WRONG = r"[^，,。]{0,12}?(?:错误|问题|漏洞|缺陷|异常|矛盾|错别字|冲突|重复|反例|更好|疏漏|不一致|违规)"
SUPPOSED = (
    r"(?:如果|假如|若|要是|倘若|一旦|万一|当|除非|则|返回|抛出|报错|他|她|你|您|用户|客户|顾客|程序|函数|代码|接口|起初|一开始|"
    r"最初|之前|以前|不是|并非|不会|难道|404)[^，,]{0,20}$"
)
IN_A_CASE = r"时|则|的情况|就返回|就"
OF_SOMEBODY = r"[^，,。]{0,8}的(?:用户|客户|人|订单|情况|时候|事|东西)"

CHINESE: tuple[Words, ...] = (
    words(
        rf"(?:^|[，,、:：；\s（(]|{SUBJECT}|对此|对不起|抱歉|这个?|此事|这点|答案){SUBJECT}?{KNOWS_NOT}",
        not_before=BEFORE,
        not_after=AFTER_KNOW,
    ),
    words(
        r"我们?(?:对|关于)[^，,。]{1,30}(?:不了解|不熟悉|一无所知|不清楚|知之甚少|没有了解)",
        not_before=r"(?:如果|假如|若|要是|不是|并非|说|以前|之前|起初|一开始)[^，,]{0,6}$",
        not_after=r"的时候|时|的人|之前",
    ),
    words(r"不得而知|无从得知|无从知晓|无从查证", not_before=SUPPOSED),
    words(
        rf"(?:没有?|没能|未能?|并未|尚未|暂未|并没有)能?{FOUND}[^，,。]{{0,20}}?{THINGS}",
        not_before=SUPPOSED,
        not_after=rf"(?:中的?)?{NOTHING_WRONG}|{IN_A_CASE}",
    ),
    words(
        r"(?:^|[，,:：、\s]|我们?|也|都|还是|仍然?|均)"
        r"(?:未找到|没找到|没有找到|没查到|没有查到|未查到|找不到|查不到|搜不到|未检索到|没搜到|没有搜到|未搜索到)",
        not_before=SUPPOSED,
        not_after=rf"{NOTHING_WRONG}|{IN_A_CASE}|[^，,。]{{0,6}}(?:理由|借口|北|工作|词|对手)",
    ),
    words(
        r"(?:无法|没法|不能)(?:准确|确切|直接|从中|据此|进一步|有效|可靠地?)?(?:确定|得知|获知|知道|查到|找到|获取|确认|查证|核实)",
        not_before=SUPPOSED,
        not_after=rf"{NOTHING_WRONG}|{IN_A_CASE}|{OF_SOMEBODY}",
    ),
    words(
        r"(?:无法|没法|不能)(?:准确|确切|直接)?(?:回答|判断|给出答案|"
        r"提供(?:准确|确切|相关|具体)[^，,。]{0,6}(?:信息|答案|资料|数据))",
        not_before=SUPPOSED,
        not_after=rf"{IN_A_CASE}|{OF_SOMEBODY}",
    ),
    words(
        r"(?:知识库|资料库|数据库|文档|资料|材料|上下文|搜索结果|检索结果|文献)(?:里面?|中|内|当中)?(?:也|都|均|还|并)?"
        r"(?:没有|未|无|不包含|不含|查无|缺少|没)"
        rf"(?:收录|包含|提及|提到|提供|记载|说明|涉及|任何|相关|有关|关于|找到|{THINGS})",
        not_before=SUPPOSED,
        not_after=NOTHING_WRONG,
    ),
    words(
        r"(?:搜索|检索|查询|查找)的?(?:结果)?(?:为空|没有(?:任何)?(?:结果|返回)|无结果|一无所获|返回空|返回为空)",
        not_before=SUPPOSED,
        not_after=IN_A_CASE,
    ),
    words(
        r"(?:没有|缺乏|缺少|暂无|尚无|并无)[^，,。]{0,16}?(?:信息|资料|知识|数据|文献|答案|依据|记录)"
        r"(?=$|[，,、；。！\s）)]|可|来|以|能|支持)",
        not_before=rf"{SUPPOSED}|(?:所以|因此|确保|保证|防止|避免|重复|丢失)[^，,]{{0,6}}$",
        not_after=r"丢失|泄露|错误|重复|以外",
    ),
    words(r"(?:信息|资料|数据|知识|依据|上下文)(?:不足|不够|有限|欠缺)(?=$|[，,、。！；以]|无法)", not_before=SUPPOSED),
    words(r"(?:知识库|资料库|文档|资料)(?:里面?|中|内)(?:并)?不存在", not_before=SUPPOSED),
    words(r"超出(?:了)?(?:我们?)?的?(?:知识|认知|训练数据|能力)(?:范围|边界)?", not_before=SUPPOSED),
)


TABLE = (*ENGLISH, *CHINESE)
# Of longer texts, the beginning: who does not know does not need more words than this to say so.
LONGEST_LOOKED_AT = 60_000
# A longer run without an end is data and is read in pieces, so that no pattern has to look far.
LONGEST_SENTENCE = 600
LONGEST_QUOTE = 200
# Each costs the same however short it is: sixty thousand characters may be thirty thousand of them.
MOST_SENTENCES = 3_000

SENTENCE = re.compile(
    rf"[^.!?。！？；;\n\r](?:[^!?。！？；;\n\r.]|\.(?=\S)){{0,{LONGEST_SENTENCE - 2}}}[.!?。！？；;]?"
)
# What is in quotation marks, in code or in a quoted line is not the agent's own word. Bounded, so that a mark without
# its pair hides no more than a passage.
QUOTED = re.compile(
    r"```.{0,20000}?```|`[^`\n]{0,400}`|\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|‘[^’\n]{0,400}’|「[^」\n]{0,400}」|"
    r"『[^』\n]{0,400}』|《[^》\n]{0,100}》|«[^»\n]{0,400}»|^[ ]{0,3}>[^\n]*",
    re.DOTALL | re.MULTILINE,
)


def said_unknown(text: str) -> str:
    """The sentence, cut to a short quote, in which `text` says that its author does not know; "" where it does not."""
    text = text[:LONGEST_LOOKED_AT]
    own = QUOTED.sub(lambda match: " " * len(match[0]), text)
    sentences = (match for match in SENTENCE.finditer(own) if match[0].strip())
    for match in islice(sentences, MOST_SENTENCES):
        sentence = match[0].strip()
        says_it = any(
            not words.not_before.search(sentence[: said.start()]) and not words.not_after.match(sentence, said.end())
            for words in TABLE
            for said in words.says.finditer(sentence)
        )
        if says_it:
            start = match.end() - len(match[0].lstrip())
            return cut(text[start : start + len(sentence)], LONGEST_QUOTE)
    return ""


GRAVE = frozenset({Severity.HIGH, Severity.CRITICAL})
MOST_NAMED = 5
LONGEST_NAMED = 300
MOST_SELF_CHECK_TEXTS = 200

NAMES = {
    ErrorClass.MODEL_CAPABILITY: "Model capability",
    ErrorClass.DECISION_ERROR: "Decision error",
    ErrorClass.PIPELINE_CRASH: "Pipeline crash",
    ErrorClass.MISSING_KNOWLEDGE: "Missing knowledge",
    ErrorClass.NORMAL_ITERATION: "Normal iteration",
}


def gather_facts(
    *,
    content: str,
    judgement: Judgement,
    requirements: RequirementsReport | None,
    interruption: str = "",
    broken_phase: str = "",
    self_check: Any = None,
    similar: SimilarIssues | None = None,
    thresholds: Thresholds,
) -> FailureFacts:
    """What is known of the judged attempt. `self_check` is what its agent handed in about it, in any form."""
    completed, why = _completed(
        content, judgement=judgement, requirements=requirements, interruption=interruption, thresholds=thresholds
    )
    quote = said_unknown(content) or next(filter(None, map(said_unknown, _texts(self_check))), "")
    similar = similar or SimilarIssues()
    return FailureFacts(
        is_completed=completed,
        why_completed=why,
        is_interrupted=bool(interruption.strip()),
        interruption=interruption,
        broken_phase=broken_phase,
        said_unknown=bool(quote),
        quote=quote,
        is_repeated=bool(similar.found),
        similar=similar,
        score=judgement.score,
    )


def _completed(
    content: str,
    *,
    judgement: Judgement,
    requirements: RequirementsReport | None,
    interruption: str,
    thresholds: Thresholds,
) -> tuple[bool, str]:
    """Whether the task was completed, however badly, and why it counts as that."""
    if interruption.strip():
        return False, "the run broke off"
    if not content.strip():
        return False, "the output is empty"
    if requirements is not None and requirements.results:
        unmet = requirements.unmet
        if not unmet:
            return True, f"all {len(requirements.results)} minimum requirements are met"
        named = ", ".join(result.name for result in unmet[:MOST_NAMED])
        more = f" and {len(unmet) - MOST_NAMED} more" if len(unmet) > MOST_NAMED else ""
        return False, f"{len(unmet)} of {len(requirements.results)} minimum requirements are not met: {named}{more}"
    grave = [
        issue for issue in judgement.issues if issue.category is IssueCategory.COMPLETENESS and issue.severity in GRAVE
    ]
    if grave:
        return False, f"something essential is missing: {grave[0].description[:LONGEST_NAMED]}"
    what, score, bar = "completeness", judgement.completeness, thresholds.pass_from
    if score is None:
        what, score, bar = "score", judgement.score, thresholds.revise_from
    if score < bar:
        return False, f"its {what} is {score:g}, below {bar:g}"
    return True, f"its {what} is {score:g}, at or above {bar:g}, and nothing essential is missing"


def _texts(value: Any) -> Iterator[str]:
    """Texts within a JSON value, as many as are looked at. Without recursion: its depth is what an agent chose."""
    left, seen = [value], 0
    while left and seen < MOST_SELF_CHECK_TEXTS:
        one = left.pop()
        seen += 1
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += reversed(list(one.values()))
        elif isinstance(one, list | tuple):
            left += reversed(list(one))


def classify(facts: FailureFacts) -> Classified:
    """The class that the tree comes to, with its questions and their answers."""
    path: list[str] = []

    def holds(question: str, answer: bool, because: str) -> bool:
        path.append(f"{question} {'Yes' if answer else 'No'}{f': {because}' if because else ''}")
        return answer

    looked_at = facts.similar.looked_at
    if holds("Was the task completed?", facts.is_completed, facts.why_completed):
        return _classified(ErrorClass.NORMAL_ITERATION, facts, path, "completed, but below the bar")
    if holds("Was the pipeline interrupted?", facts.is_interrupted, facts.interruption):
        return _classified(ErrorClass.PIPELINE_CRASH, facts, path, facts.broken_phase or facts.interruption)
    if holds("Did the agent say that it does not know?", facts.said_unknown, facts.quote):
        return _classified(ErrorClass.MISSING_KNOWLEDGE, facts, path, facts.quote)
    if holds("Is it the same mistake again?", facts.is_repeated, _repeated(facts)):
        return _classified(ErrorClass.MODEL_CAPABILITY, facts, path, _repeated(facts))
    why = "no such mistake before" if looked_at else "no earlier mistake to compare it with"
    return _classified(ErrorClass.DECISION_ERROR, facts, path, f"{facts.why_completed or 'not completed'}; {why}")


def _repeated(facts: FailureFacts) -> str:
    looked_at, found = facts.similar.looked_at, facts.similar.found
    reports = f"{looked_at} earlier report{'' if looked_at == 1 else 's'}" if looked_at else "the run's earlier tickets"
    if not found:
        return f"nothing alike in {reports}" if looked_at else "there is no earlier report"
    first = found[0]
    before = f" ({first.reflection_id})" if first.reflection_id else ""
    return f"{len(found)} like it in {reports}, such as “{first.description[:LONGEST_NAMED]}”{before}"


def _classified(type_: ErrorClass, facts: FailureFacts, path: list[str], because: str) -> Classified:
    description = f"{NAMES[type_]}: {because}" if because.strip() else NAMES[type_]
    return Classified(type=type_, description=description, path=tuple(path), facts=facts)
