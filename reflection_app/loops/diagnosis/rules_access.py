"""Rules for limits, quotas, rights and keys. They come before bare statuses: services put them under many."""

from reflection_app.loops.diagnosis.diagnoses import ErrorType, FailureSeverity, Remedy
from reflection_app.loops.diagnosis.rule import Change, Rule, statuses, words

DAILY = words(
    r"\b(?:daily|monthly|weekly|per[- ]day|per[- ]month)\b.{0,60}\b(?:limit|quota|cap)",
    r"\b(?:limit|quota|cap)\b.{0,60}\b(?:daily|monthly|weekly|per[- ]day|per[- ]month|for (?:today|the day|"
    r"this month))",
    r"\bquota_?\s?exceeded|\bexceeded your (?:current )?quota|\bresource_?exhausted|\bdaily ?limit",
    r"\bout of (?:searches|requests)\b|\bquota (?:is |has been )?(?:used up|exhausted|reached)",
    r"(?:今日|当日|每日|本月|每月|日).{0,12}(?:上限|限额|配额|额度|次数)|(?:配额|额度|次数).{0,8}(?:用完|用尽|"
    r"耗尽|已满|超限|超出|不足)",
)
RATE = words(
    r"\brate[- _]?limit|\bratelimit|\btoo many requests|\bthrottl|\btoo_many_requests|\bslow ?down\b",
    r"\brequests? (?:per|/) ?(?:second|minute|hour)|\b(?:tpm|rpm|qps)\b.{0,20}(?:limit|exceed)|\bsecondary rate",
    r"\btry again in \d|\btoo (?:many|frequent) (?:calls|queries|attempts)|\brequests? (?:are )?too frequent",
    r"请求(?:过于|太|过)频繁|频率(?:过高|限制|超限|太快)|访问(?:过于|太|过)频繁|操作(?:过于|太)频繁|限流|"
    r"请求(?:次)?数过多|请求太多|调用过于频繁",
)
BILLING = words(
    r"\binsufficient_quota\b|\bbilling\b.{0,60}\b(?:limit|details|not active|disabled|required)|\bpayment required\b",
    r"\bcredit balance is too low",
    r"\b(?:account|api|prepaid) (?:balance|credits?)\b.{0,40}\b(?:too low|insufficient|exhausted|empty)",
    r"\binsufficient (?:api |account )?credits?\b|\bplan (?:does not|doesn't) include|\bupgrade your plan",
    r"\bsubscription (?:has )?expired",
    r"账户(?:余额|额度)?(?:不足|欠费)|账号欠费|充值|已欠费|套餐(?:已)?(?:到期|用完|不支持)|未开通",
)
KEY = words(
    r"\b(?:invalid|incorrect|bad|wrong|missing|no|unknown|revoked)[_ ](?:[\w-]{1,20}[_ ])?(?:api[_ -]?key|"
    r"access[_ -]?key|credentials?|auth(?:entication)? token|access token|bearer token|token)\b(?! count)",
    r"\bapi[_ -]?key\b.{0,40}\b(?:invalid|missing|required|not (?:valid|found|set|provided|configured)|expired|"
    r"revoked|disabled)",
    r"\b(?:token|credentials?|session|signature|jwt|certificate of the client|login|password)\b.{0,20}\b(?:has |"
    r"is |have )?(?:expired|revoked)",
    r"\bexpired[_ ]?(?:token|credentials?|session|jwt)",
    r"\binvalid[_ ](?:grant|client|jwt|signature)\b|\bauthentication[_ ]?(?:failed|error|required|failure)",
    r"\bfailed to authenticate|\bunauthenticated\b",
    r"\b(?:not|please) (?:logged|log) in\b|\blogin required|\bmust (?:be authenticated|log in|sign in)",
    r"\bcould not read (?:username|password)",
    r"\bunauthori[sz]ed\b|\bpassword authentication failed|\baccess denied for user|\bbad credentials",
    r"\b(?:incorrect|invalid|wrong) (?:username|password|login)",
    r"\brequires authentication|\bno(?:t)? auth",
    r"(?:密钥|秘钥|令牌|token|凭证|凭据|登录|会话|签名)[^。]{0,10}(?:无效|错误|过期|失效|缺失|不正确|已吊销|验证失败|校验失败)|"
    r"未登录|请先登录|未认证|认证失败|鉴权失败|身份验证失败|未授权",
    r"(?:密码|用户名|口令)(?:或密码)?(?:错误|不正确)",
)
RIGHTS = words(
    r"\bpermission[_ ]?denied|\baccess[_ ]?(?:is )?denied|\bforbidden\b|\beacces\b|\beperm\b",
    r"\boperation not permitted|\bpermissionerror",
    r"\b(?:insufficient|missing|lacks?|without|not enough|no|required)\b.{0,20}\b(?:permissions?|privileges?|"
    r"scopes?|rights)\b",
    r"\binsufficient[_ ]scope",
    r"\bnot (?:authori[sz]ed|permitted|allowed) to\b|\bare not allowed\b",
    r"\byou (?:do not|don't) have (?:access|permission|the right)",
    r"\bread-?only (?:file system|filesystem|transaction|database|mode|replica|user)|\berofs\b",
    r"\bprotected branch|\bpermission to .{1,80} denied",
    r"\bmust be (?:owner|superuser|admin)|\badministrators? only|\brequires? admin",
    r"\bneeds? (?:approval|authori[sz]ation)\b|\bdenied by policy|\bblocked by (?:policy|administrator|admin)",
    r"权限不足|无权限|没有权限|无权(?:访问|操作|限)?|权限被拒绝|拒绝访问|禁止访问|访问被拒绝|访问被禁止|越权|"
    r"只读文件系统|需要(?:管理员|授权|审批)",
)
POLICY = words(
    r"\bcontent[_ ](?:policy|filter|management policy|moderation)|\bresponsible ?ai ?policy",
    r"\bsafety (?:system|filter|setting)|\bflagged (?:as|by)",
    r"\bcontent.{0,30}(?:violat|blocked|prohibited)|\busage polic(?:y|ies)|\bprohibited content",
    r"\bblocked (?:by|due to) safety",
    r"内容(?:审核|安全|违规|不合规|过滤)|敏感(?:词|内容|信息)|违规内容|不当内容",
)
CONTEXT = words(
    r"\bcontext[_ ]?(?:length|window|size)\b.{0,40}(?:exceed|limit|too|maximum|larger)|\bcontext_length_exceeded",
    r"\bmaximum context length",
    r"\b(?:prompt|input|request|message) is too long|\btoo many (?:input )?tokens\b",
    r"\btokens?\b.{0,30}\bexceeds?\b.{0,30}\b(?:limit|maximum|max)",
    r"\bstring_above_max_length|\binput length.{0,40}exceed|上下文(?:长度)?(?:超出|超过|过长|超限)|"
    r"输入(?:内容)?(?:过长|超长|超出)",
    r"token\s?数(?:量)?(?:超出|超过|超限)",
)

RULES = (
    Rule(
        id="billing",
        source="OpenAI error code insufficient_quota; Anthropic billing_error; RFC 9110 §15.5.3 (402)",
        words=BILLING,
        statuses=statuses(400, 401, 402, 403, 429),
        error_type=ErrorType.PERMISSION_DENIED,
        remedy=Remedy.ASK_PERSON,
        severity=FailureSeverity.HIGH,
        root_cause="The account behind the tool is used up or does not include this; waiting does not help.",
        action="Report to a person, who can pay, raise the limit or give another key.",
        alternative="Go on with another source or tool.",
    ),
    Rule(
        id="quota-spent",
        source="gRPC RESOURCE_EXHAUSTED; RFC 6585 §4; Google API dailyLimitExceeded, quotaExceeded",
        words=DAILY,
        statuses=statuses(400, 403, 429, 503),
        error_type=ErrorType.EXTERNAL_SERVICE_ERROR,
        remedy=Remedy.RETRY_LATER,
        severity=FailureSeverity.HIGH,
        delay_s=3_600,
        root_cause="The quota of a longer period is spent; it does not come back within minutes.",
        action="Leave this source for an hour at least, until its quota is renewed.",
        alternative="Use another source or results that are there already; a person can have the quota raised.",
    ),
    Rule(
        id="rate-limit",
        source="RFC 6585 §4 (429); RFC 9110 §10.2.3 (Retry-After); GitHub REST rate limits; seed 003 v1.1, scene 2",
        words=RATE,
        statuses=statuses(400, 403, 420, 429, 503),
        error_type=ErrorType.EXTERNAL_SERVICE_ERROR,
        remedy=Remedy.RETRY_LATER,
        delay_s=60,
        root_cause="Too many requests were made in a short time.",
        action="Wait, then call again; make further calls more slowly.",
        alternative="Meanwhile use another tool, or results that are there already.",
    ),
    Rule(
        id="status-429",
        source="RFC 6585 §4; RFC 9110 §10.2.3 (Retry-After)",
        statuses=statuses(429, 420),
        error_type=ErrorType.EXTERNAL_SERVICE_ERROR,
        remedy=Remedy.RETRY_LATER,
        delay_s=60,
        root_cause="Too many requests were made in a short time.",
        action="Wait, then call again; make further calls more slowly.",
        alternative="Meanwhile use another tool, or results that are there already.",
    ),
    Rule(
        id="context-too-long",
        source="OpenAI error code context_length_exceeded; Anthropic invalid_request_error (prompt is too long)",
        words=CONTEXT,
        statuses=statuses(400, 413, 422, 500),
        error_type=ErrorType.PARAMETER_ERROR,
        remedy=Remedy.FIX_AND_RETRY,
        changes=(Change.HALVE_SIZE,),
        root_cause="What was sent is longer than the model behind the tool takes.",
        action="Send less: shorten or split the text.",
    ),
    Rule(
        id="content-policy",
        source="OpenAI error code content_policy_violation; Azure OpenAI content_filter",
        words=POLICY,
        statuses=statuses(400, 403, 422, 451),
        error_type=ErrorType.PARAMETER_ERROR,
        remedy=Remedy.FIX_AND_RETRY,
        root_cause="The service refuses the content that was sent.",
        action="Say it in other words without what is objected to; do not try to get round the filter.",
        alternative="Skip this part, and say that it was left out.",
    ),
    Rule(
        id="page-refused",
        source="RFC 9110 §15.5.2, §15.5.4; seed 003 v1.1, scene 3",
        words=words(
            RIGHTS.pattern, r"\bunauthori[sz]ed\b|\blog ?in (?:required|to)|\bsign in to|\bpaywall|请先登录|未授权"
        ),
        unless=words(r"\bapi[_ -]?key|\btoken\b|密钥|秘钥|令牌"),
        statuses=statuses(401, 403),
        is_reading_page=True,
        error_type=ErrorType.PERMISSION_DENIED,
        remedy=Remedy.SKIP,
        severity=FailureSeverity.LOW,
        root_cause="The page may not be read from here.",
        action="Skip this URL.",
        alternative="Record the URL as not accessible and go on with the other sources.",
    ),
    Rule(
        id="not-authenticated",
        source="RFC 9110 §15.5.2 (401); RFC 6750 §3.1 (invalid_token); gRPC UNAUTHENTICATED; SQLSTATE class 28",
        words=KEY,
        statuses=statuses(400, 401, 403, 419, 440),
        error_type=ErrorType.PERMISSION_DENIED,
        remedy=Remedy.ASK_PERSON,
        severity=FailureSeverity.HIGH,
        root_cause="The key, token or login that the tool uses is missing, wrong or expired.",
        action="Report to a person, who can renew the tool's key or login.",
        alternative="Go on with another source or tool.",
    ),
    Rule(
        id="no-rights",
        source="RFC 9110 §15.5.4 (403); POSIX EACCES, EPERM, EROFS; gRPC PERMISSION_DENIED; SQLSTATE 42501, 25006",
        words=RIGHTS,
        statuses=statuses(400, 401, 403),
        is_reading_page=False,
        error_type=ErrorType.PERMISSION_DENIED,
        remedy=Remedy.ASK_PERSON,
        severity=FailureSeverity.HIGH,
        root_cause="The tool is not allowed to do this.",
        action="Report to a person and ask for the right, or for another way.",
        alternative="Go on with what is allowed.",
    ),
)
