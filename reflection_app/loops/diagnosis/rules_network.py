"""Rules for connections that do not come about or break: time, names, TLS, and what libraries call it."""

from reflection_app.loops.diagnosis.diagnoses import ErrorType, FailureSeverity, Remedy
from reflection_app.loops.diagnosis.rule import Change, Rule, words

SKIP = "Skip this source or use another one."


def _later(
    name: str,
    source: str,
    *patterns: str,
    cause: str,
    delay_s: float,
    changes: tuple[Change, ...] = (),
    alternative: str = SKIP,
    may_have_worked: bool = False,
) -> Rule:
    return Rule(
        id=name,
        source=source,
        words=words(*patterns),
        error_type=ErrorType.EXTERNAL_SERVICE_ERROR,
        remedy=Remedy.RETRY_LATER,
        delay_s=delay_s,
        changes=changes,
        root_cause=cause,
        action="Wait, then ask for less." if changes else "Wait, then call again.",
        alternative=alternative,
        may_have_worked=may_have_worked,
    )


RULES = (
    Rule(
        id="tls",
        source="RFC 8446 §6 (alerts); OpenSSL verify errors; curl exit 35, 51, 60",
        words=words(
            r"\bcertificate.{0,40}(?:verif|expired|not (?:yet )?valid|unknown|self[- ]signed|revoked|required|"
            r"invalid|mismatch)",
            r"\bcertificate_verify_failed|\bself[- ]signed certificate",
            r"\bunable to (?:verify|get) .{0,30}(?:certificate|issuer)|\bhostname mismatch",
            r"\b(?:ssl|tls)\b.{0,30}(?:handshake|alert|error|failure|failed)",
            r"\b(?:handshake_failure|protocol_version|unknown_ca|bad_certificate)\b",
            r"\bwrong version number|\bsslerror|\bcert_has_expired|\bdepth_zero_self_signed|\berr_tls_",
            r"证书(?:.{0,6})(?:错误|无效|过期|不受信任|验证失败|校验失败)|tls握手失败",
        ),
        error_type=ErrorType.EXTERNAL_SERVICE_ERROR,
        remedy=Remedy.SKIP,
        root_cause="No secure connection can be made: the service's certificate or its TLS is not acceptable.",
        action="Skip this source; its certificate has to be mended first.",
        alternative="Use another source; tell a person where it is a service of ours. Never call it without the check.",
        severity=FailureSeverity.HIGH,
    ),
    _later(
        "timeout",
        "POSIX ETIMEDOUT; curl exit 28; gRPC DEADLINE_EXCEEDED; Python TimeoutError; SQLSTATE 57014; seed 003, scene 1",
        r"\btime[- ]?d?[- ]?out\b|\b\w{0,40}timeout(?:error|exception|expired|ed)?\b|\betimedout",
        r"\besockettimedout|\bdeadline[_ ]exceeded|\bno response\b",
        r"\b(?:did not|didn't) respond|\btook too long|\bcancell?ing statement due to",
        r"\bnot (?:respond|answer)ing|\bpolling .{0,20}expired",
        r"超时|无响应|没有响应|未响应|响应时间过长|长时间未",
        cause="No answer came in time: the service is slow or out of reach, or too much was asked for.",
        delay_s=5,
        changes=(Change.HALVE_SIZE,),
        alternative="Simplify the query, or skip this source.",
        may_have_worked=True,
    ),
    _later(
        "dns",
        "POSIX getaddrinfo EAI_NONAME, EAI_AGAIN; Node ENOTFOUND; curl exit 6",
        r"\benotfound\b|\beai_\w{2,10}|\bgetaddrinfo|\bname or service not known|\bnodename nor servname",
        r"\btemporary failure in name resolution",
        r"\b(?:could not|couldn't|cannot|can't|failed to|unable to) resolve\b.{0,30}(?:host|name|address|domain|"
        r"$)",
        r"\bno such host|\bnxdomain|name_not_resolved",
        r"\bdns\b.{0,30}(?:fail|error|resol|lookup)|\bthe name .{1,255} (?:is not known|has no address)",
        r"\bunknown host|域名(?:.{0,6})(?:解析|不存在|无法)|无法解析(?:主机|域名|地址)?|dns\s?解析",
        cause="The service's name cannot be looked up: it is wrong, or the network is out of order.",
        delay_s=10,
        alternative="Look whether the host is written rightly; else use another source.",
    ),
    _later(
        "connection-refused",
        "POSIX ECONNREFUSED, EHOSTUNREACH, ENETUNREACH; curl exit 7; gRPC UNAVAILABLE; SQLSTATE class 08",
        r"\beconnrefused|\bconnection (?:was )?refused|\bactively refused|\behostunreach|\benetunreach",
        r"\bno route to host|\bnetwork is unreachable|\bhost is (?:down|unreachable)",
        r"\b(?:could not|couldn't|cannot|can't|failed to|unable to) (?:connect|establish|reach)",
        r"\bconnection_?(?:error|failed)\b|\bcannot be reached|\bconnect failed|\bfetch failed|\bnetwork ?error",
        r"\bmax retries exceeded|\bconnection attempts? failed|\bis the server running|\bapiconnectionerror",
        r"\bserver (?:is )?not (?:running|reachable)|连接被?拒绝|无法连接|连接失败|网络(?:错误|异常|不可达|"
        r"不通|故障)|主机不可达",
        cause="The service takes no connection: it is down, or the network is out of order.",
        delay_s=10,
    ),
    _later(
        "connection-broken",
        "POSIX ECONNRESET, EPIPE; curl exit 52, 56; Python ConnectionResetError, IncompleteRead",
        r"\beconnreset|\bepipe\b|\beconnaborted|\bbroken pipe|\bsocket hang ?up",
        r"\bconnection (?:was |has been )?(?:reset|closed|aborted|lost|broken|terminated|dropped)",
        r"\b(?:remote end|server|peer|host) (?:has )?(?:unexpectedly )?(?:closed|disconnected|hung up|broke)",
        r"\bserver ?disconnected|\bincomplete ?read|\bempty reply from server|\bunexpected eof (?:while|from|on)",
        r"\bpremature close|\bchunked ?encoding ?error|\bremoteprotocolerror",
        r"\bstream (?:was )?(?:closed|reset)|\bterminating connection|连接(?:已)?(?:被)?(?:重置|中断|关闭|断开)",
        cause="The connection broke off before the answer was complete.",
        delay_s=5,
        may_have_worked=True,
    ),
    _later(
        "service-down",
        "RFC 9110 §15.6; gRPC UNAVAILABLE, INTERNAL; Anthropic overloaded_error; OpenAI server_error",
        r"\b(?:service|server|system|site|api|model|backend|database)s?\b.{0,24}\b(?:unavailable|overloaded|"
        r"down|busy|under maintenance|not available|not ready)\b",
        r"\btemporarily (?:unavailable|out of)|\bserviceunavailable",
        r"\bunavailable: |\bcode = (?:unavailable|internal|aborted)\b",
        r"\boverloaded(?:_error)?\b|\binternal (?:server )?error\b|\bserver_?error\b|\bbad gateway",
        r"\bgateway (?:error|failure)|\bupstream\b.{0,40}(?:error|fail|unavailable|connect|reset)",
        r"\bunexpected server|\bapi_error\b",
        r"\btry again (?:later|in a (?:few|moment))|\bplease (?:try again|retry)\b|\bmaintenance\b|\btransient\b",
        r"\btemporary (?:failure|error|problem)|\beagain\b|\bresource temporarily",
        r"\btoo many connections|\bconnection pool|\bmodel is (?:currently )?loading|\bstarting up\b",
        r"\bcircuit ?breaker|\bserver (?:is )?at capacity|\bengine_overloaded",
        r"服务(?:器)?(?:暂时|当前|暂)?(?:不可用|繁忙|异常|过载|维护|未就绪|内部错误|错误|出错|无法使用)|"
        r"系统(?:繁忙|异常|维护|错误|内部错误)|内部(?:服务器)?错误",
        r"网关(?:错误|异常)|稍后(?:再|重)?试|维护中|过载",
        cause="The service is overloaded, in maintenance or broken on its own side.",
        delay_s=30,
        may_have_worked=True,
    ),
    _later(
        "locked",
        "SQLSTATE 40P01, 40001, 55P03; SQLite SQLITE_BUSY; git index.lock; POSIX EBUSY, EAGAIN",
        r"\bdeadlock",
        r"\b(?:database|table|file|resource|index|repository|state) is (?:currently )?(?:locked|busy|in use)",
        r"\block (?:wait|timeout|not available|request)|\bindex\.lock|\bebusy\b|\bcould not serialize",
        r"\bserialization failure",
        r"\banother (?:\w{1,20} )?process\b|\bcould not (?:obtain|acquire|get) .{0,20}lock",
        r"\balready (?:running|in progress|locked)|\bresource busy|\bconcurrent (?:update|modification)|死锁",
        r"(?:被|已)?锁定|被占用|正在(?:使用|运行|处理)",
        cause="Another work holds what this call needs.",
        delay_s=10,
        alternative="Where it stays so, look what holds it and ask a person before removing a lock.",
    ),
    Rule(
        id="answer-unreadable",
        source="RFC 8259; Python json.JSONDecodeError; JavaScript SyntaxError of JSON.parse",
        words=words(
            r"\bexpecting value: line|\bunexpected token '?<|\bunexpected end of (?:json|input)",
            r"\bis not valid json|\binvalid json (?:response|answer|returned|received)",
            r"\b(?:response|answer|reply|body)\b.{0,40}\b(?:not (?:valid )?json|could not be (?:parsed|decoded)|"
            r"malformed|truncated|empty)",
            r"\bempty response",
            r"\bfailed to (?:parse|decode) (?:the )?(?:response|answer|server)|响应(?:.{0,8})(?:为空|解析失败|"
            r"无法解析|格式错误)",
            r"返回(?:数据)?(?:.{0,4})(?:为空|解析失败|无法解析)",
        ),
        unless=words(r"\b(?:arguments?|parameters?|request body|input|your json|your request)\b|参数|请求(?:体|数据)"),
        error_type=ErrorType.EXTERNAL_SERVICE_ERROR,
        remedy=Remedy.RETRY_LATER,
        delay_s=5,
        may_have_worked=True,
        root_cause="The service answered with something other than what the tool can read.",
        action="Wait, then call again.",
        alternative=SKIP,
    ),
)
