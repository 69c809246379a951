"""Rules for statuses of HTTP. A status weighs before most of the text that comes with it."""

from reflection_app.loops.diagnosis.diagnoses import ErrorType, FailureSeverity, Remedy
from reflection_app.loops.diagnosis.rule import FIT_THE_SCHEMA, Change, Rule, statuses

PAGE_GONE = "Record the URL as not accessible and go on with the other sources."
LOOK_UP = "Look the name or number up with a tool that lists or searches; do not guess another one."


def _fix(
    number: int, source: str, cause: str, action: str, *, changes: tuple[Change, ...] = (), alternative: str = ""
) -> Rule:
    return Rule(
        id=f"status-{number}",
        source=source,
        statuses=statuses(number),
        error_type=ErrorType.PARAMETER_ERROR,
        remedy=Remedy.FIX_AND_RETRY,
        root_cause=cause,
        action=action,
        changes=changes,
        alternative=alternative,
    )


def _later(
    numbers: tuple[int, ...],
    source: str,
    cause: str,
    *,
    delay_s: float,
    changes: tuple[Change, ...] = (),
    may_have_worked: bool = True,
) -> Rule:
    return Rule(
        id=f"status-{numbers[0]}",
        source=source,
        statuses=statuses(*numbers),
        error_type=ErrorType.EXTERNAL_SERVICE_ERROR,
        remedy=Remedy.RETRY_LATER,
        delay_s=delay_s,
        root_cause=cause,
        action="Wait, then ask for less." if changes else "Wait, then call again.",
        changes=changes,
        alternative="Skip this source or use another one.",
        may_have_worked=may_have_worked,
    )


def _person(number: int, source: str, cause: str, action: str) -> Rule:
    return Rule(
        id=f"status-{number}",
        source=source,
        statuses=statuses(number),
        error_type=ErrorType.PERMISSION_DENIED,
        remedy=Remedy.ASK_PERSON,
        severity=FailureSeverity.HIGH,
        root_cause=cause,
        action=action,
        alternative="Go on with another source or tool.",
    )


def _skip(number: int, source: str, cause: str, error_type: ErrorType, *, is_reading_page: bool | None = True) -> Rule:
    return Rule(
        id=f"page-{number}" if is_reading_page else f"status-{number}",
        source=source,
        statuses=statuses(number),
        is_reading_page=is_reading_page,
        error_type=error_type,
        remedy=Remedy.SKIP,
        severity=FailureSeverity.LOW,
        root_cause=cause,
        action="Skip this URL." if is_reading_page else "Skip this source.",
        alternative=PAGE_GONE,
    )


def _other_tool(number: int, source: str, cause: str) -> Rule:
    return Rule(
        id=f"status-{number}",
        source=source,
        statuses=statuses(number),
        error_type=ErrorType.WRONG_TOOL,
        remedy=Remedy.SWITCH_TOOL,
        root_cause=cause,
        action="Use a tool that can do this.",
    )


RULES = (
    _skip(401, "RFC 9110 §15.5.2", "The page wants a login.", ErrorType.PERMISSION_DENIED),
    _skip(403, "RFC 9110 §15.5.4; seed 003 v1.1, scene 3", "The page may not be read.", ErrorType.PERMISSION_DENIED),
    _skip(404, "RFC 9110 §15.5.5", "There is no page at this URL.", ErrorType.PARAMETER_ERROR),
    _skip(410, "RFC 9110 §15.5.11", "The page is gone for good.", ErrorType.PARAMETER_ERROR),
    _skip(
        451,
        "RFC 7725 §3",
        "The source may not be shown here for legal reasons.",
        ErrorType.PERMISSION_DENIED,
        is_reading_page=None,
    ),
    _fix(
        400,
        "RFC 9110 §15.5.1",
        "The service cannot make sense of the request as it was sent.",
        "Correct the parameters that are named, after the tool's schema.",
        changes=FIT_THE_SCHEMA,
    ),
    _person(
        401,
        "RFC 9110 §15.5.2",
        "The key or login that the tool uses is missing, wrong or expired.",
        "Report to a person, who can renew the tool's key or login.",
    ),
    _person(
        402,
        "RFC 9110 §15.5.3 (reserved for payment, and used so)",
        "The service wants to be paid; waiting does not help.",
        "Report to a person, who can pay, raise the limit or give another key.",
    ),
    _person(
        403,
        "RFC 9110 §15.5.4",
        "The service understood the call and refuses it: the right to do this is missing.",
        "Report to a person and ask for the right, or for another way.",
    ),
    _fix(404, "RFC 9110 §15.5.5", "What the parameters name is not there.", LOOK_UP),
    _other_tool(405, "RFC 9110 §15.5.6", "What is addressed does not allow this operation."),
    _fix(406, "RFC 9110 §15.5.7", "The service has nothing of the form that was asked for.", "Ask for another format."),
    _person(
        407,
        "RFC 9110 §15.5.8",
        "A proxy on the way wants a login.",
        "Report to a person, who can give the proxy's login.",
    ),
    _later(
        (408,), "RFC 9110 §15.5.9", "The request was not complete in time.", delay_s=5, changes=(Change.HALVE_SIZE,)
    ),
    _fix(
        409,
        "RFC 9110 §15.5.10",
        "The call conflicts with the present state: it exists already, or was changed meanwhile.",
        "Read the present state, then send what fits it; where it is there already, use or update that.",
    ),
    _fix(410, "RFC 9110 §15.5.11", "What the parameters name is gone for good.", LOOK_UP),
    _fix(411, "RFC 9110 §15.5.12", "The service wants a length of the content.", "Send the content in one piece."),
    _fix(
        412,
        "RFC 9110 §15.5.13",
        "A condition of the call does not hold: what it names was changed meanwhile.",
        "Read the present version and send the call with that.",
    ),
    _fix(
        413,
        "RFC 9110 §15.5.14",
        "More was sent than the service takes.",
        "Send less, or in parts.",
        changes=(Change.HALVE_SIZE,),
    ),
    _fix(414, "RFC 9110 §15.5.15", "The address became too long.", "Shorten the query or send it in parts."),
    _fix(415, "RFC 9110 §15.5.16", "The service does not read this format.", "Send it in a format that it names."),
    _fix(
        416,
        "RFC 9110 §15.5.17",
        "The part that was asked for lies beyond the end.",
        "Ask for a part that is there, from the beginning.",
    ),
    _other_tool(417, "RFC 9110 §15.5.18", "The service cannot meet what the tool expects of it."),
    _later((421,), "RFC 9110 §15.5.20", "The request came to the wrong server.", delay_s=5, may_have_worked=False),
    _fix(
        422,
        "RFC 9110 §15.5.21",
        "The request can be read, but its values are not valid.",
        "Correct the parameters that are named, after the tool's schema.",
        changes=FIT_THE_SCHEMA,
    ),
    _later((423,), "RFC 4918 §11.3", "Somebody else holds it locked.", delay_s=30, may_have_worked=False),
    _fix(424, "RFC 4918 §11.4", "A step that this one depends on failed.", "Do the earlier step first, then this one."),
    _later((425,), "RFC 8470 §5.2", "The service did not want to take the call so early.", delay_s=2),
    _other_tool(426, "RFC 9110 §15.5.22", "The service wants another protocol than this tool speaks."),
    _fix(
        428,
        "RFC 6585 §3",
        "The service wants to know which version is changed.",
        "Read the present version and name it in the call.",
    ),
    _fix(431, "RFC 6585 §5", "The headers are too large.", "Shorten the parameters that go into headers."),
    _later((500,), "RFC 9110 §15.6.1", "The service broke on this request.", delay_s=10),
    _other_tool(501, "RFC 9110 §15.6.2", "The service cannot do this at all."),
    _later(
        (502, 520, 521, 523, 525, 526, 530),
        "RFC 9110 §15.6.3; Cloudflare 52x",
        "What stands before the service got no good answer from it.",
        delay_s=10,
    ),
    _later(
        (503, 529),
        "RFC 9110 §15.6.4; Anthropic overloaded_error (529)",
        "The service is overloaded or down for maintenance.",
        delay_s=30,
        may_have_worked=False,
    ),
    _later(
        (504, 522, 524, 598, 599),
        "RFC 9110 §15.6.5; Cloudflare 522, 524",
        "What stands before the service got no answer from it in time.",
        delay_s=5,
        changes=(Change.HALVE_SIZE,),
    ),
    _other_tool(505, "RFC 9110 §15.6.6", "The service does not speak this version of HTTP."),
    _person(507, "RFC 4918 §11.5", "The service has no room left.", "Report to a person, who can make room."),
    _later((508,), "RFC 5842 §7.2", "The service went round in circles.", delay_s=30),
    _person(511, "RFC 6585 §6", "The network wants a login.", "Report to a person, who can log in to the network."),
)

# Numbers that nobody has given a meaning are read as the first of their class (RFC 9110 §15).
CLASSES = (
    Rule(
        id="status-4xx",
        source="RFC 9110 §15.5",
        statuses=frozenset(range(400, 500)),
        error_type=ErrorType.PARAMETER_ERROR,
        remedy=Remedy.FIX_AND_RETRY,
        changes=FIT_THE_SCHEMA,
        root_cause="The service finds the fault in the request.",
        action="Correct the parameters, after what the service says and the tool's schema.",
    ),
    Rule(
        id="status-3xx",
        source="RFC 9110 §15.4",
        statuses=frozenset(range(300, 400)),
        error_type=ErrorType.PARAMETER_ERROR,
        remedy=Remedy.FIX_AND_RETRY,
        root_cause="What was asked for lies at another address.",
        action="Call with the address that the service names.",
    ),
    Rule(
        id="status-5xx",
        source="RFC 9110 §15.6",
        statuses=frozenset(range(500, 600)),
        error_type=ErrorType.EXTERNAL_SERVICE_ERROR,
        remedy=Remedy.RETRY_LATER,
        delay_s=10,
        may_have_worked=True,
        root_cause="The service failed on its own side.",
        action="Wait, then call again.",
        alternative="Skip this source or use another one.",
    ),
)
