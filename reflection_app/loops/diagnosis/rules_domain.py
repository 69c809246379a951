"""Rules for what services say of their own things: not there, not to be had, not enough, not in this state.

The wider a row's words are, the later it stands.
"""

from reflection_app.loops.diagnosis.diagnoses import ErrorType, FailureSeverity, Remedy
from reflection_app.loops.diagnosis.rule import Rule, words

SOURCE = "Errors of shops, airlines and desks as recorded in tau-bench (sierra-research/tau-bench); gRPC status codes"
STATE_WORDS = (
    (
        r"\balready (?:been )?(?:delivered|cancell?ed|shipped|closed|completed|processed|paid|refunded|merged|"
        r"returned|exchanged|expired|started|finished|submitted|archived|deleted|checked in|used|resolved|approved|"
        r"rejected|departed|flown)\b"
    ),
    r"\bnon-\w{3,20} \w{2,30} cannot be\b",
    r"\bcannot (?:cancel|refund|return|modify|exchange|change|close): ",
    (
        r"\bis not (?:in )?(?:an? )?(?:pending|open|active|delivered|draft|cancell?able|refundable|returnable|"
        r"modifiable|editable)\b"
    ),
    r"\b(?:invalid|wrong|illegal|current|this|in its present) (?:state|status|transition)\b",
    (
        r"\bcannot (?:\w{2,20} )?(?:cancel|modify|change|update|return|exchange|refund|edit|delete|transition|"
        r"transfer|reopen|close)\b.{0,80}\b(?:because|since|in (?:the )?(?:state|status)|state|status|already|once|"
        r"after)\b"
    ),
    r"\bfailed[_ ]precondition\b|\bnon-?refundable\b",
    (
        r"(?:订单|任务|请求|申请|工单|状态)[^。]{0,20}(?:已(?:经)?(?:发货|取消|完成|关闭|处理|支付|退款|签收|送达|"
        r"过期|结束|删除))"
    ),
    (
        r"已(?:经)?(?:发货|取消|完成|关闭|支付|退款|签收|送达|合并|归档)|(?:当前|订单)?状态(?:不允许|不正确|错误|"
        r"不支持|无法)|无法(?:取消|修改|退款|退货)"
    ),
)


def _fix(name: str, source: str, *patterns: str, cause: str, action: str, alternative: str = "") -> Rule:
    return Rule(
        id=name,
        source=source,
        words=words(*patterns),
        error_type=ErrorType.PARAMETER_ERROR,
        remedy=Remedy.FIX_AND_RETRY,
        root_cause=cause,
        action=action,
        alternative=alternative,
    )


STATE = Rule(
    id="state-forbids",
    source=f"{SOURCE} (FAILED_PRECONDITION)",
    words=words(*STATE_WORDS),
    error_type=ErrorType.WRONG_TOOL,
    remedy=Remedy.SWITCH_TOOL,
    severity=FailureSeverity.MEDIUM,
    root_cause="The thing is in a state in which this operation is not possible; no parameters would change that.",
    action="Read its present state and use the operation that this state allows (return instead of cancel).",
    alternative="Where no operation is left, say so to whoever asked; a person can make an exception.",
)

RULES = (
    _fix(
        "money-short",
        SOURCE,
        r"\b(?:balance|funds|credit|money)\b.{0,40}\b(?:not enough|insufficient|too low|exceeded|not sufficient)",
        r"\b(?:not enough|insufficient)\b.{0,20}\b(?:balance|funds|credit|money)",
        r"\b(?:card|payment)\b.{0,20}\b(?:declined|was refused)|余额(?:不足|不够)|资金不足|(?:卡|支付|"
        r"付款)(?:被拒|失败)",
        cause="The means of payment that is named does not cover the amount.",
        action="Read what means of payment there are and what they hold; name one that is enough, or divide.",
        alternative="Ask whoever pays which to use: it is their money.",
    ),
    _fix(
        "sums-differ",
        SOURCE,
        r"\b(?:does not|doesn't|do not|don't) (?:add up|sum|match|agree|equal)",
        r"\b(?:amount|total|sum|price|checksum|version|count)s?\b.{0,40}\b(?:mismatch|incorrect|differs?|"
        r"is wrong)",
        r"\bmismatch(?:ed)?\b|\btotal .{0,40}\bbut\b|(?:金额|总额|总价|数量|版本|校验和)[^。]{0,16}(?:不一致|"
        r"不符|不匹配|不相等|不对)",
        cause="The numbers that were sent do not fit each other, or not what the service reckons.",
        action="Reckon again with the number that the message names (fees and extras with it), then send that.",
    ),
    _fix(
        "not-for-this",
        SOURCE,
        r"\b(?:cannot|can't|can not|may not|must not|could not) be (?:used|applied|combined|booked|ordered|"
        r"added|assigned|selected|changed to|removed)\b",
        r"\bnot (?:accepted|eligible|applicable|allowed|valid|supported|usable) (?:for|with|in|on|here)\b",
        r"\bdoes not accept\b|\bnot supported\b",
        r"\bonly .{1,60} (?:is|are|can be) (?:allowed|accepted|supported|used)|不能用于|不可用于|不适用于|"
        r"不支持|不允许(?:使用|用于)",
        r"仅支持|只(?:支持|能使用|接受)",
        cause="What is named may not be used for this.",
        action="Name another one of a kind that is allowed here; read which there are.",
        alternative="Ask whoever gave it which other to use.",
    ),
    _fix(
        "not-to-be-had",
        SOURCE,
        r"\b(?:not|no longer|isn't|aren't|currently not) available\b|\bunavailable\b|\bsold out|\bout of stock",
        r"\bfully booked|\bno (?:seats?|rooms?|slots?|stock|tables?|availability|capacity|vacanc\w{1,4})\b",
        r"\bnot enough (?:seats?|rooms?|stock|items?|units|inventory|slots?|tickets?|places?|capacity)",
        r"\binsufficient (?:stock|inventory|capacity|seats|quantity)|\bno more .{1,40}(?:left|available)|"
        r"库存不足|售罄",
        r"缺货|(?:座位|余票|房间|名额|票)(?:已)?(?:不足|已满|售完|用完)|无(?:可用|余)(?:票|房|座|库存)?|"
        r"不可用|已满|已下架",
        cause="What is named cannot be had as asked: at this time, in this class or in this number.",
        action="Look what is available (another date, class, item) and call with one of these.",
        alternative="Offer the choice to whoever asked. Where exactly this has to stay, no call will help: say so.",
    ),
    _fix(
        "no-results",
        "Seed 003 v1.1, cheat sheet (no results)",
        r"\b(?:no|0|zero) (?:search )?(?:results?|matches|matching|hits|records?|rows|data|papers|documents|"
        r"entries|items|articles)\b",
        r"\bnothing (?:was )?found|\b(?:returned|found) (?:nothing|no )|\bempty result",
        r"\bdid not (?:match|return|find) any|\bno .{1,60} (?:were|was) found",
        r"(?:无|没有|未找到|查无|暂无)(?:相关|匹配|符合条件的|任何|搜索|查询)?(?:的)?(?:结果|数据|记录|论文|"
        r"文档|内容)|结果为空|查询为空",
        cause="The search found nothing: its words or filters are too narrow.",
        action="Search with fewer or more general words, or fewer filters.",
        alternative="Use another source.",
    ),
    _fix(
        "not-there",
        f"{SOURCE} (NOT_FOUND)",
        r"\b(?:not|never) found\b|\bnotfound\b|\bnot_found\b|\bno such\b",
        r"\bnot recogni[sz]ed\b|\bno (?:\w{1,30} ){1,3}found\b",
        r"\b(?:does not|doesn't|do not|don't|did not) exist|\bnon-?existent\b",
        r"\b(?:cannot|can't|could not|couldn't|unable to|failed to) (?:find|locate|look up)\b",
        r"\bno \w{2,30} (?:with|named|called|for|by|matching)\b",
        r"\bunknown (?:\w{2,30} )?(?:id|user|order|product|item|customer|account|name|symbol|city|currency|"
        r"model|key|entity|resource|location|code)\b",
        r"\bis unknown\b|不存在|未找到|找不到|没有找到|查不到|查无此|未能找到|无此",
        cause="What the parameters name is not there.",
        action="Look the name or number up with a tool that lists or searches; do not guess another one.",
        alternative="Ask whoever gave it: it may be spelt wrongly, or be somebody else's.",
    ),
    _fix(
        "limit-of-kind",
        SOURCE,
        r"\b(?:exceeds?|exceeded|over|reached|above|more than)\b.{0,30}\b(?:limit|maximum|allowance|capacity|"
        r"allowed)\b",
        r"\btoo many\b|\bat most \d|\bno more than \d|\b(?:maximum|max) (?:number|of)",
        r"\bnumber of .{1,40}(?:do(?:es)? not match|mismatch|cannot)|超过(?:.{0,10})(?:限制|上限|最大)",
        r"超出(?:.{0,10})(?:限制|上限)|最多(?:只能)?\s?\d|太多",
        cause="More is named than is allowed.",
        action="Name fewer, within the limit that the message names.",
    ),
)
