"""Rules for what our own callers of tools say: they know where a call was stopped, and say it in one word."""

from reflection_app.loops.diagnosis.diagnoses import ErrorType, FailureSeverity, Remedy
from reflection_app.loops.diagnosis.rule import FIT_THE_SCHEMA, Change, Rule, failures, words
from reflection_app.loops.tool_calls import ToolFailure

OWN = "runs/tool_calling.py, ToolFailure"

FIRST = (
    Rule(
        id="own-unknown-tool",
        source=OWN,
        failures=failures(ToolFailure.UNKNOWN_TOOL),
        error_type=ErrorType.WRONG_TOOL,
        remedy=Remedy.SWITCH_TOOL,
        root_cause="No tool of this name can be called here.",
        action="Call one of the tools that there are.",
    ),
    Rule(
        id="own-invalid-arguments",
        source=f"{OWN}; JSON Schema 2020-12",
        failures=failures(ToolFailure.INVALID_ARGUMENTS),
        error_type=ErrorType.PARAMETER_ERROR,
        remedy=Remedy.FIX_AND_RETRY,
        changes=FIT_THE_SCHEMA,
        root_cause="The parameters do not fit the tool's schema.",
        action="Correct the parameters that are named, after the tool's schema.",
    ),
    Rule(
        id="own-address-refused",
        source=f"{OWN}; adapters/outgoing/urls.py",
        failures=failures(ToolFailure.ADDRESS_REFUSED),
        error_type=ErrorType.PERMISSION_DENIED,
        remedy=Remedy.ASK_PERSON,
        severity=FailureSeverity.HIGH,
        root_cause="The address may not be called from here: it is no public address, or leaves the allowed origin.",
        action="Report to a person, who can correct the tool's address or allow it.",
        alternative="Go on with another source.",
    ),
    Rule(
        id="own-misconfigured",
        source=OWN,
        failures=failures(ToolFailure.MISCONFIGURED),
        error_type=ErrorType.PERMISSION_DENIED,
        remedy=Remedy.ASK_PERSON,
        severity=FailureSeverity.HIGH,
        root_cause="The tool's registration, schema or secret cannot be used; no parameters would help.",
        action="Report to a person, who has to correct the tool's registration.",
        alternative="Go on with another tool.",
    ),
    Rule(
        id="own-pattern-too-slow",
        source="adapters/tools/builtin.py",
        failures=failures(ToolFailure.TIMED_OUT),
        words=words(r"pattern takes too long", r"use a simpler"),
        error_type=ErrorType.PARAMETER_ERROR,
        remedy=Remedy.FIX_AND_RETRY,
        root_cause="The search pattern takes too long on these files.",
        action="Search with a simpler pattern, or in fewer files.",
    ),
    Rule(
        id="own-timed-out",
        source=f"{OWN}; seed 003 v1.1, scene 1",
        failures=failures(ToolFailure.TIMED_OUT),
        error_type=ErrorType.EXTERNAL_SERVICE_ERROR,
        remedy=Remedy.RETRY_LATER,
        delay_s=5,
        changes=(Change.HALVE_SIZE,),
        may_have_worked=True,
        root_cause="No complete answer came in time: the service is slow or out of reach, or too much was asked for.",
        action="Wait, then ask for less.",
        alternative="Simplify the query, or skip this source.",
    ),
    Rule(
        id="own-too-large",
        source=f"{OWN}; adapters/outgoing/client.py",
        failures=failures(ToolFailure.TOO_LARGE),
        error_type=ErrorType.PARAMETER_ERROR,
        remedy=Remedy.FIX_AND_RETRY,
        changes=(Change.HALVE_SIZE,),
        root_cause="The answer is larger than what is taken in.",
        action="Ask for less: a smaller limit, a narrower query, one page or one part.",
    ),
)

# After all rules about texts and statuses: what is left then is told by the word alone.
LAST = (
    Rule(
        id="own-unreachable",
        source=f"{OWN}; adapters/outgoing/client.py",
        failures=failures(ToolFailure.UNREACHABLE),
        error_type=ErrorType.EXTERNAL_SERVICE_ERROR,
        remedy=Remedy.RETRY_LATER,
        delay_s=10,
        may_have_worked=True,
        root_cause="The service cannot be reached, or broke the connection off.",
        action="Wait, then call again.",
        alternative="Skip this source or use another one.",
    ),
)
