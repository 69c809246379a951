"""Rules for parameters that a tool, a validator or a language does not take, and for tools that are not there."""

from reflection_app.loops.diagnosis.diagnoses import ErrorType, Remedy
from reflection_app.loops.diagnosis.rule import FIT_THE_SCHEMA, Change, Rule, words


def _fix(
    name: str,
    source: str,
    *patterns: str,
    cause: str,
    action: str,
    changes: tuple[Change, ...] = (),
    alternative: str = "",
) -> Rule:
    return Rule(
        id=name,
        source=source,
        words=words(*patterns),
        error_type=ErrorType.PARAMETER_ERROR,
        remedy=Remedy.FIX_AND_RETRY,
        changes=changes,
        root_cause=cause,
        action=action,
        alternative=alternative,
    )


TOOLS = (
    Rule(
        id="no-such-tool",
        source="JSON-RPC 2.0 §5.1 (-32601); MCP tools/call; POSIX shells exit 127; gRPC UNIMPLEMENTED; POSIX ENOSYS",
        words=words(
            r"\b(?:unknown|no such|invalid|unrecogni[sz]ed|undefined|unsupported|nonexistent) (?:tool|function|"
            r"command|method|action|operation|endpoint)\b",
            r"\b(?:tool|function|command|(?<!payment )(?<!shipping )(?<!delivery )method|endpoint)\b"
            r".{0,90}\b(?:not found|(?:does not|"
            r"doesn't) exist|is not (?:available|registered|defined|recogni[sz]ed|supported|callable)|"
            r"not (?:implemented|supported|registered))",
            r"(?:^|\W)-32601\b|\bnot ?implemented|\bunimplemented\b|\benosys\b|\beopnotsupp",
            r"\boperation (?:is )?not supported|\bis not recognized as an? ",
            r"\bthere is no (?:tool|function|command) ",
            r"\bmethod not allowed|\bdoes not support (?:this|the|that) (?:operation|action|method|function)",
            r"\bis not a function\b",
            r"(?:未知|无效|没有|不存在)(?:的)?(?:工具|函数|命令|方法|接口)",
            r"(?:工具|函数|命令|方法|接口|操作)[^。,]{0,40}(?:不存在|未找到|找不到|未定义|未实现|不支持|"
            r"未注册)|未实现|接口已(?:下线|停用|废弃)|不支持(?:该|此|的)?(?:操作|方法)",
        ),
        error_type=ErrorType.WRONG_TOOL,
        remedy=Remedy.SWITCH_TOOL,
        root_cause="What was called is not there, or cannot do this.",
        action="Call a tool that there is and that can do this.",
    ),
)

RULES = (
    _fix(
        "query-syntax",
        "seed 003 v1.1, scene 4; Lucene query parser; arXiv API user manual (query construction); GitHub search syntax",
        r"\b(?:invalid|malformed|bad|illegal|incorrect) (?:search |boolean |lucene )?(?:query|search|"
        r"expression)(?: syntax| string| expression| format)?\b",
        r"\b(?:query|search|expression)\b.{0,30}\b(?:syntax|pars(?:e|ing)|unbalanced|malformed|"
        r"could not be parsed|is invalid)",
        r"\bfailed to parse (?:the )?(?:query|search)",
        r"\bunbalanced (?:quotes?|parenthes[ie]s|brackets)",
        r"(?:查询|搜索|检索)(?:语句|语法|表达式|条件|词)?(?:.{0,6})(?:语法错误|格式错误|无效|错误|不合法|解析失败)",
        cause="The query is not written in the language that the tool reads.",
        action="Correct the query's syntax and search again.",
        changes=(Change.FIX_QUERY,),
        alternative="Search with plain words, without operators.",
    ),
    _fix(
        "unexpected-parameter",
        "Python TypeError; JSON Schema additionalProperties; pydantic extra_forbidden; Go json: unknown field",
        r"\bunexpected (?:keyword )?(?:argument|parameter|field|property|option)|\bgot multiple values for",
        r"\btakes (?:no|\d{1,3}|from \d{1,3} to \d{1,3}) (?:positional |keyword )?arguments?",
        r"\b(?:unknown|unrecogni[sz]ed|unsupported|extra|invalid|illegal) (?:request )?(?:argument|parameter|"
        r"field|property|option|attribute|key|inputs?|flag|param|query parameter)s?\b(?! (?:value|type|format))",
        r"\badditional ?properties\b|\b(?:was|were) unexpected\b|\bextra inputs are not permitted",
        r"\bextra_forbidden|未知(?:的)?(?:参数|字段)|多余(?:的)?(?:参数|字段)|不支持(?:的)?(?:参数|字段)|"
        r"意外(?:的)?(?:参数|关键字)",
        cause="A parameter is named that the tool does not know.",
        action="Leave out the parameter that is named.",
        changes=FIT_THE_SCHEMA,
    ),
    _fix(
        "missing-parameter",
        "Python TypeError; JSON Schema required; pydantic missing; JSON-RPC 2.0 §5.1 (-32602)",
        r"\bmissing\b.{0,40}\b(?:argument|parameter|field|property|input|value|param|key|column|header)s?\b",
        r"\b(?:argument|parameter|field|property|param|input)s?\b.{0,60}\b(?:is|are|was) (?:missing|required)",
        r"\bis a required (?:property|argument|field|parameter)|\bfield required\b",
        r"\bmust (?:provide|specify|be (?:provided|specified|set|given))",
        r"\brequired (?:argument|parameter|field|property|params?)\b|\b(?:is|are) required\b",
        r"\bno (?:value|argument) (?:was )?(?:given|provided|supplied)",
        r"\b(?:may|must|can|should)(?: ?not|n't) be (?:empty|blank|null|none)",
        r"\bcannot be (?:empty|blank|null|none)",
        r"缺少[^。]{0,30}(?:参数|字段|属性|必填|必需|值)|缺失[^。]{0,20}(?:参数|字段)|(?:参数|"
        r"字段)[^。]{0,30}(?:缺失|缺少|不能为空|为空|必填|未提供)",
        r"必填(?:项|参数|字段)?|不能为空",
        cause="A parameter that the tool needs is missing or empty.",
        action="Add the parameter that is named.",
        changes=FIT_THE_SCHEMA,
    ),
    _fix(
        "invalid-parameter",
        "JSON-RPC 2.0 §5.1 (-32602); JSON Schema 2020-12; pydantic ValidationError; "
        "gRPC INVALID_ARGUMENT; OpenAI and Anthropic invalid_request_error",
        r"(?:^|\W)-3260[02]\b",
        r"\binvalid (?:params?|parameters?|arguments?|input|value|option|choice|enum|type|format|date|time|"
        r"number|request|id|identifier|email|url|uri|uuid|json|body|payload|data|range|length|character|"
        r"literal)s?\b",
        r"\binvalid_(?:argument|request|parameter|input|value|type)",
        r"\bvalidation[_ ]?(?:error|failed|failure|errors|exception)|\bfailed validation",
        r"\bdoes not (?:match|fit|conform|satisfy|comply)|\bbadrequest\b|\bbad request\b|\bunprocessable\b",
        r"\billegal ?argument|\bschema (?:error|violation|validation)|\bnot a valid\b|\bis not valid\b",
        r"\bis invalid\b",
        r"\b(?:is not|isn't) (?:of type|one of|an? (?:integer|number|string|boolean|array|object|list|date))",
        r"\bmust be (?:of type|one of|an? |in |between|at least|at most|less|greater|equal|positive|negative|"
        r"unique|non|null|either|>|<|\d)",
        r"\bshould be (?:a |an |one of|less|greater|of type|in |>|<)",
        r"\bexpected .{1,60}(?:but )?(?:got|received|found)\b|\binput should be\b",
        r"\b(?:exceeds?|greater than|more than|above|less than|smaller than|below|over|"
        r"larger than) (?:the )?(?:maximum|minimum|max|min|allowed|upper|lower|limit)",
        r"\bmaximum (?:allowed |value |length |size )?(?:is|of|:)",
        r"\bminimum (?:allowed |value |length )?(?:is|of|:)|\bout of (?:range|bounds)\b",
        r"\btoo (?:long|short|big|small|many (?:items|values|elements))\b|\bbeyond its end\b|\bpast the end\b",
        r"\b(?:wrong|incorrect|bad|malformed) (?:type|format|parameter|argument|value|number of arguments|input|"
        r"date|data)s?\b",
        r"\bcannot be (?:parsed|converted|interpreted)|\bfailed to (?:parse|convert|decode)",
        r"\bcould not (?:convert|parse)|\bparse ?error|\bmalformed\b|\bunable to parse",
        r"\bcannot (?:parse|unmarshal|deserialize|cast)",
        r"参数(?:格式|类型|值|名|校验|验证|范围)?[^。]{0,12}(?:错误|有误|无效|不正确|不合法|非法|失败|不符|"
        r"异常|越界|超出|过长|过大|必须|应)",
        r"(?:格式|类型|校验|验证|取值|日期|数据(?!库))(?:.{0,6})(?:错误|有误|不正确|不合法|不符|非法|失败|无效|不匹配)",
        r"(?:无效|非法|错误|不合法)(?:的)?(?:参数|值|输入|格式|请求|日期|类型|编号|标识|字段)|必须(?:是|为|在|"
        r"大于|小于|不)|应(?:为|该是)|超出(?:.{0,8})范围",
        r"不能(?:大于|小于|超过)|不在(?:.{0,10})范围",
        cause="A parameter has a value, a type or a form that the tool does not take.",
        action="Correct the parameter that is named, after the message and the tool's schema.",
        changes=FIT_THE_SCHEMA,
    ),
    _fix(
        "json-input",
        "RFC 8259; JSON-RPC 2.0 §5.1 (-32700); Python json.JSONDecodeError; Node JSON.parse",
        r"(?:^|\W)-32700\b|\bjson ?decode ?error|\bjsondecodeerror|\bjson\.parse|\b(?:in|of) json at position",
        r"\bexpecting (?:property name|',' delimiter|':' delimiter|value)|\bunterminated string|\btrailing comma",
        r"\bextra data: line|\bjson (?:parse|syntax|parsing)|\bunexpected token",
        r"json\s?(?:格式|解析|语法)(?:.{0,4})(?:错误|失败|异常)|解析\s?json\s?(?:失败|错误)|不是有效的\s?json",
        cause="What was sent is no valid JSON.",
        action="Send the same content as valid JSON.",
    ),
)

CODE = (
    _fix(
        "code-syntax",
        "Python SyntaxError, IndentationError; ECMAScript SyntaxError; POSIX shell syntax error",
        r"\bsyntax ?error|\bindentation ?error|\btab ?error\b|\binvalid syntax",
        r"\bunexpected (?:eof|indent|end of (?:file|statement)|identifier|symbol)|\bunmatched '",
        r"\bwas never closed|\bexpected an indented|\bcompil(?:e|ation) (?:error|failed)|\bcannot compile",
        r"\bunterminated\b|\bregex(?:p|ular expression)?\b.{0,40}\b(?:error|invalid|parse)|\bbad escape",
        r"语法(?:错误|有误|不正确)|编译(?:错误|失败)|缩进错误",
        cause="The code, query or pattern that was sent does not follow its language.",
        action="Correct the syntax at the place that is named.",
    ),
    _fix(
        "module-missing",
        "Python ModuleNotFoundError, ImportError; Node MODULE_NOT_FOUND",
        r"\bmodule ?not ?found|\bno module named|\bimport ?error|\bcannot find (?:module|package)",
        r"\bcannot import name|\berr_module_not_found|\bpackage .{1,60} (?:is not installed|not found)",
        r"\bimport .{1,60} could not be resolved|模块(?:.{0,10})(?:不存在|未找到|找不到|未安装)",
        cause="The code uses a package that is not there.",
        action="Write it with what is installed.",
        alternative="Ask a person to have the package installed.",
    ),
    _fix(
        "code-name",
        "Python NameError, UnboundLocalError; ECMAScript ReferenceError",
        r"\bname ?error|\bunboundlocalerror|\breference ?error|\bname '.{1,60}' is not defined",
        r"\b\w{1,60} is not defined\b|\bundefined (?:variable|name|symbol|reference|local)|\bunbound variable",
        r"变量(?:.{0,20})(?:未定义|不存在)|未定义(?:的)?(?:变量|名称)",
        cause="The code uses a name that is not defined.",
        action="Define the name before it is used, or correct its spelling.",
    ),
    _fix(
        "code-value",
        "Python exception hierarchy: TypeError, ValueError, KeyError, IndexError, AttributeError, "
        "ArithmeticError, UnicodeError; ECMAScript TypeError, RangeError",
        r"\btype ?error\b|\bvalue ?error\b|\bkey ?error\b|\bindex ?error\b|\battribute ?error\b|\brange ?error\b",
        r"\bzero ?division ?error|\boverflow ?error|\bassertion ?error|\bunicode(?:decode|encode)? ?error",
        r"\brecursion ?error|\bstop ?iteration\b|\bunsupported operand|\bhas no attribute",
        r"\bis not (?:iterable|subscriptable|callable)|\bcannot read propert|\bundefined is not",
        r"\bdivision by zero|\bindex out of|\blist index|\bnot assignable to|\bnull ?pointer|\bnullreference",
        r"\bnumber ?format ?exception|\bclass ?cast|\bcodec can't (?:de|en)code|类型错误|值错误|键错误|"
        r"索引(?:越界|错误|超出)",
        r"除(?:数为|以)零|空指针|编码错误",
        cause="The code or the tool met a value that it cannot work with.",
        action="Correct the value that is named, or handle it before it is used.",
        changes=FIT_THE_SCHEMA,
    ),
)
