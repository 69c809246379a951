"""Call tools and act on diagnoses: a failed call is repeated as its diagnosis says.

No call is repeated blindly. A retry uses the parameters of the diagnosis, or new ones that the actor chooses with the
diagnosis shown. The same call is repeated only after a delay, or after a reviewer granted what was missing. A call that
failed twice in a row is not made a third time unless a reviewer allows it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from reflection_app.loops.attempt_effects import AskPerson, Wait
from reflection_app.loops.completeness.calls_made import CallsMade
from reflection_app.loops.diagnosis.diagnoses import (
    LONGEST_DELAY_S,
    ErrorType,
    FailedCall,
    FixOutcome,
    Remedy,
    Source,
)
from reflection_app.loops.diagnosis.diagnosing import diagnose, fix_in_words, given_up, permission_for
from reflection_app.loops.diagnosis.fallback_tools import is_reading
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.effects import RecordFixOutcome
from reflection_app.loops.permission_asking import NotPermitted
from reflection_app.loops.progress import Progress
from reflection_app.loops.questions import Choice
from reflection_app.loops.tool_calls import ToolCall, ToolSpec
from reflection_app.loops.tool_tries import MOST_RETRIES, Try, ask_for_call, failed_before, fits, try_call
from reflection_app.loops.verdicts import LONGEST_TEXT

NO_PERMISSION = ErrorType.PERMISSION_DENIED


class Skipped(EffectFailed):
    """The work goes on without this call, because of its diagnosis or a reviewer's decision."""


class Refused(Skipped):
    """The call must not be made: it was made before, or a reviewer refused it."""


class GivenUp(EffectFailed):
    """A reviewer ended the work that needs this call."""


async def call_with_diagnosis(
    run: Progress,
    *,
    task: str,
    tools: tuple[ToolSpec, ...],
    base: str,
    attempt: int,
    first: ToolCall | None = None,
    fallbacks: tuple[ToolSpec, ...] = (),
    most_retries: int = MOST_RETRIES,
    made: CallsMade | None = None,
    refusal: Callable[[ToolCall], str] | None = None,
    purpose: str = "",
) -> list[Try]:
    """Make a call with retries and return all tries. Every failed try has its diagnosis.

    `first` is the call to start with; without it the actor chooses one of `tools` for `task`. `fallbacks` are further
    tools that a diagnosis may switch to. `base` prefixes the keys of all effects: `{base}/call`, `{base}/call-2`, …
    Executed calls are added to `made`. A call for which `refusal` returns a reason is not made. `purpose` is shown to
    the reviewer if the call needs one.

    Raise Refused for such a call. Raise Skipped, NothingNew or NoUsableAnswer if no further call makes sense: the step
    failed, and the work can continue. Raise GivenUp if a reviewer ends the work, and LimitReached, EffectTimedOut or
    EffectFailed like every effect.
    """
    calls = Calls(
        run,
        task=task,
        tools=tools,
        fallbacks=fallbacks,
        key=lambda what, number: f"{base}/{what}-{number}" if number > 1 else f"{base}/{what}",
        attempt=lambda _: attempt,
        made=made,
        refusal=refusal,
        purpose=purpose,
    )
    for number in range(1, most_retries + 2):
        call = first if number == 1 and first is not None else await calls.next_call(number)
        tried = await calls.make(call, number)
        if (await calls.close(tried, number, is_last=number > most_retries)).result.ok:
            break
    return calls.tries


@dataclass
class Calls:
    """State of one call and its retries.

    `key` returns the effect key for a purpose and try number, `attempt` the run's attempt that a try belongs to.
    `tools` are those that the actor may currently choose from.
    """

    run: Progress
    task: str
    tools: tuple[ToolSpec, ...]
    key: Callable[[str, int], str]
    attempt: Callable[[int], int]
    fallbacks: tuple[ToolSpec, ...] = ()
    # An external agent waits on its own, and the duration is unknown.
    is_agents: bool = False
    made: CallsMade | None = None
    refusal: Callable[[ToolCall], str] | None = None
    purpose: str = ""
    tries: list[Try] = field(default_factory=list)
    known_tools: dict[str, ToolSpec] = field(init=False)
    _failed_fixes: list[str] = field(default_factory=list)
    _waited_s: float = 0.0
    _may_repeat: bool = False

    def __post_init__(self) -> None:
        self.known_tools = {tool.name: tool for tool in (*self.fallbacks, *self.tools)}

    async def make(self, call: ToolCall, number: int) -> Try:
        """Make the call and return the try. Raise Refused if it must not be made.

        A repetition of one of these tries is not checked against `refusal` again.
        """
        earlier = next((tried for tried in self.tries if tried.call == call), None)
        if earlier is None and self.refusal is not None and (why := self.refusal(call)):
            raise Refused(why)
        # If this very call got no reply, it may have been executed, so it is repeated under the key of its first try. A
        # call that was answered, even with an error, gets a new key: services that store replies by key would repeat
        # the error.
        unheard = [place for place, tried in enumerate(self.tries, 1) if tried.call == call and tried.is_unheard]
        try:
            tried = await try_call(
                self.run,
                call,
                tools=self.tools,
                key=self.key("call", number),
                attempt=self.attempt(number),
                repeats=self.key("call", unheard[0]) if unheard and self.tries[-1].is_unheard else "",
                # A repeated failed call keeps its ground. Another tool or other arguments need a new one.
                ground=earlier.ground if earlier is not None else None,
                purpose=self.purpose,
            )
        except NotPermitted as why:
            raise Refused(str(why)) from None
        if self.made is not None and (tried.result.ok or tried.is_unheard):
            self.made.calls.append(call)
        return tried

    async def close(self, tried: Try, number: int, *, is_last: bool) -> Try:
        """Record the outcome of the last fix, diagnose a failed try, and return the try.

        The last try is diagnosed only by remembered fixes and rules, unless it repeats the one before.
        """
        if self.tries and (before := self.tries[-1].diagnosis) is not None:
            place = self.key("call", number - 1)
            outcome = FixOutcome(
                place=place,
                worked=tried.result.ok,
                tool=tried.call.tool,
                params=tried.call.arguments,
                fix=fix_in_words(before, self.tries[-1].call, tried.call),
                delay_s=None if self.is_agents else self._waited_s,
            )
            await self.run.perform(RecordFixOutcome(key=f"{place}/fix-outcome", outcome=outcome))
            if before.fix_pair and not tried.result.ok:
                self._failed_fixes.append(before.fix_pair)
        if not tried.result.ok:
            is_repeated = bool(self.tries) and self.tries[-1].call == tried.call
            diagnosis = await diagnose(
                self.run,
                FailedCall.of(
                    tried.call, tried.result, tools=tuple(self.known_tools.values()), is_repeated=is_repeated
                ),
                place=self.key("call", number),
                attempt=self.attempt(number),
                without=self._failed_fixes,
                asks_model=is_repeated or not is_last,
            )
            advice = diagnosis.action.action[:LONGEST_TEXT] if diagnosis.source is not Source.NONE else ""
            issues = tuple(issue.model_copy(update={"suggested_fix": advice}) for issue in tried.issues)
            tried = replace(tried, diagnosis=diagnosis, issues=issues)
        self.tries.append(tried)
        return tried

    async def next_call(self, number: int) -> ToolCall:
        """Return the call for try `number`, after the waiting or review that the diagnosis demands.

        Raise Skipped or GivenUp if there is none, and NothingNew if the actor proposes no new one.
        """
        if self.tries:
            await self.get_ready(number)
            tried = self.tries[-1]
            action = tried.known_diagnosis.action
            tool = action.fallback_tool if action.remedy is Remedy.SWITCH_TOOL else tried.call.tool
            if tool is not None and action.modified_params is not None:
                call, spec = ToolCall(tool=tool, arguments=action.modified_params), self.known_tools.get(tool)
                if spec is not None and fits(call, spec) and not failed_before(call, self.tries):
                    return call
            if self.may_repeat(tried.call):
                return tried.call
        return await ask_for_call(
            self.run, key=self.key("arguments", number), task=self.task, tools=self.tools, tries=self.tries
        )

    async def get_ready(self, number: int) -> None:
        """Request a review and wait, as the last diagnosis demands. Raise Skipped or GivenUp."""
        tried, place = self.tries[-1], self.key("call", number - 1)
        diagnosis = tried.known_diagnosis
        action, self._waited_s, self._may_repeat = diagnosis.action, 0.0, False
        asks_too_long = (tried.result.retry_after_s or 0.0) > LONGEST_DELAY_S
        if action.remedy is Remedy.SKIP or (action.remedy is Remedy.RETRY_LATER and asks_too_long):
            raise Skipped(given_up(tried))
        self.run.check_limits()
        if action.remedy is Remedy.ASK_PERSON and not (self.is_agents and diagnosis.error_type is not NO_PERMISSION):
            if not tried.was_called:
                # The call was never made, so no permission would help.
                raise Skipped(given_up(tried))
            question, attempt = permission_for(tried), self.attempt(number - 1)
            answer = await self.run.ask_person(AskPerson(key=f"{place}/permission", question=question, attempt=attempt))
            if answer.choice is Choice.GIVE_UP:
                raise GivenUp(f"{answer.by or 'A person'} gave it up. {given_up(tried)}")
            if answer.choice is Choice.SKIP:
                raise Skipped(f"{answer.by or 'A person'} decided to go on without it. {given_up(tried)}")
            self._may_repeat = True
        elif action.remedy is Remedy.SWITCH_TOOL:
            # A remembered tool that changes something is not applied directly. The actor may choose it among the
            # others.
            fallback = self.known_tools.get(action.fallback_tool or "")
            is_remembered = diagnosis.source is Source.FIX_PAIR
            if fallback is not None and is_remembered and not is_reading(fallback.name):
                fallback = None
            others = tuple(tool for tool in self.known_tools.values() if tool.name != tried.call.tool)
            self.tools = (fallback,) if fallback is not None else others
            if not self.tools:
                raise Skipped(given_up(tried))
        elif action.remedy is Remedy.RETRY_LATER:
            self._may_repeat = len(self.tries) < 2 or tried.call != self.tries[-2].call
        if action.retry_delay_seconds and not self.is_agents:
            wait = Wait(
                key=f"{place}/wait",
                delay_s=action.retry_delay_seconds,
                why=f"to call {tried.call.tool} again",
                attempt=self.attempt(number),
            )
            if not await self.run.wait(wait):
                raise Skipped(f"{given_up(tried)} The run has waited as long as it may.")
            self._waited_s = action.retry_delay_seconds

    def may_repeat(self, call: ToolCall) -> bool:
        """Return True if the call that failed last may be made again unchanged."""
        return self._may_repeat and self.tries[-1].was_called and call == self.tries[-1].call
