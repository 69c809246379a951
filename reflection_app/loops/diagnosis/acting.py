"""Acting on diagnoses: a tool is called, and what fails is called again the way that its diagnosis says.

No call is repeated blindly. What failed is called with the parameters of its diagnosis, or with those that the actor
finds with the diagnosis in view; the same call is made again after a delay or once a person has granted what was
missing. A call that failed twice in a row is not made a third time, unless a person says so.
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
    """The work goes on without this call, by its diagnosis or by a person's word."""


class Refused(Skipped):
    """The call must not be made: it was made before, or a reviewer refused it."""


class GivenUp(EffectFailed):
    """A person ended the work that needs this call."""


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
    """All tries of one call, the last of which worked or was one too many. Every failed one has its diagnosis.

    `first` is the call to begin with; without it the actor chooses one of `tools` for `task`. `fallbacks` are tools
    that a diagnosis may switch to besides. `base` begins the keys of all effects: `{base}/call`, `{base}/call-2`, …
    Calls that were carried out are added to `made`. A call for which `refusal` has a reason is not made. `purpose` is
    shown to the reviewer if the call needs one.

    Raises Refused there. Raises Skipped, NothingNew and NoUsableAnswer where no further call makes sense (the step
    failed, and the work can go on), GivenUp where a person ends all of it, and as every effect does LimitReached,
    EffectTimedOut, EffectFailed.
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
    """One call on its way to working: its tries so far, and what is to be done next.

    `key` names what belongs to a try by its number, `attempt` the attempt of the run that the try is part of.
    `tools` are those that the actor may choose among at present.
    """

    run: Progress
    task: str
    tools: tuple[ToolSpec, ...]
    key: Callable[[str, int], str]
    attempt: Callable[[int], int]
    fallbacks: tuple[ToolSpec, ...] = ()
    # An outside agent waits for itself, and nobody knows how long it did.
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
        """What became of the call. Raises Refused, but not for a call of these tries that is repeated."""
        earlier = next((tried for tried in self.tries if tried.call == call), None)
        if earlier is None and self.refusal is not None and (why := self.refusal(call)):
            raise Refused(why)
        # Where no answer came back to this very call, nobody knows if it was carried out: it is repeated under the key
        # of its first try. What was answered, if only by an error, is asked anew: services that keep answers by key
        # would repeat the error.
        unheard = [place for place, tried in enumerate(self.tries, 1) if tried.call == call and tried.is_unheard]
        try:
            tried = await try_call(
                self.run,
                call,
                tools=self.tools,
                key=self.key("call", number),
                attempt=self.attempt(number),
                repeats=self.key("call", unheard[0]) if unheard and self.tries[-1].is_unheard else "",
                # The same call again, which failed: another tool or other arguments need a ground of their own.
                ground=earlier.ground if earlier is not None else None,
                purpose=self.purpose,
            )
        except NotPermitted as why:
            raise Refused(str(why)) from None
        if self.made is not None and (tried.result.ok or tried.is_unheard):
            self.made.calls.append(call)
        return tried

    async def close(self, tried: Try, number: int, *, is_last: bool) -> Try:
        """The try, kept with its diagnosis where it failed; it also shows how what was done about the one before went.

        Where it is the last, only remembered fixes and rules diagnose it, unless it repeats the one before.
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
        """The call to make as try `number`, after all that its diagnosis wants done before.

        Raises Skipped and GivenUp where there is none, NothingNew where the actor has none that is new.
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
        """Asks the person and waits, as the diagnosis of the last try says. Raises Skipped or GivenUp."""
        tried, place = self.tries[-1], self.key("call", number - 1)
        diagnosis = tried.known_diagnosis
        action, self._waited_s, self._may_repeat = diagnosis.action, 0.0, False
        asks_too_long = (tried.result.retry_after_s or 0.0) > LONGEST_DELAY_S
        if action.remedy is Remedy.SKIP or (action.remedy is Remedy.RETRY_LATER and asks_too_long):
            raise Skipped(given_up(tried))
        self.run.check_limits()
        if action.remedy is Remedy.ASK_PERSON and not (self.is_agents and diagnosis.error_type is not NO_PERMISSION):
            if not tried.was_called:
                # No permission would help.
                raise Skipped(given_up(tried))
            question, attempt = permission_for(tried), self.attempt(number - 1)
            answer = await self.run.ask_person(AskPerson(key=f"{place}/permission", question=question, attempt=attempt))
            if answer.choice is Choice.GIVE_UP:
                raise GivenUp(f"{answer.by or 'A person'} gave it up. {given_up(tried)}")
            if answer.choice is Choice.SKIP:
                raise Skipped(f"{answer.by or 'A person'} decided to go on without it. {given_up(tried)}")
            self._may_repeat = True
        elif action.remedy is Remedy.SWITCH_TOOL:
            # A remembered tool that changes something is one of the others: the actor chooses it or not.
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
        """Whether the very call that failed last may be made again."""
        return self._may_repeat and self.tries[-1].was_called and call == self.tries[-1].call
