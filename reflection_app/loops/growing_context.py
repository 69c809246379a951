"""The conversation of a loop that works on in one context, kept within what the budget leaves for a prompt."""

from collections.abc import Sequence

from reflection_app.loops.messages import Message

# About what a token takes in UTF-8; exact counts differ by model and are not needed for a bound.
BYTES_PER_TOKEN = 4
# What a prompt may take at most, whatever the budget: beyond that, models with small contexts refuse it.
MOST_CONTEXT_TOKENS = 24_000
KEPT_OF_AN_ATTEMPT = 300
CUT = "[The rest of this attempt was cut to save room.]"


def tokens_of(messages: Sequence[Message]) -> int:
    """About how many tokens the messages take."""
    return sum(len(message.content.encode(errors="surrogatepass")) for message in messages) // BYTES_PER_TOKEN


def within(budget_tokens: int, *, task: Sequence[Message], turns: Sequence[Message]) -> tuple[Message, ...]:
    """The task and the turns after it, in about half of `budget_tokens`, so that an answer fits into the rest.

    The oldest attempts are cut first, then the oldest turns are left out. The task and the last turn always stay whole.
    """
    room = min(budget_tokens // 2, MOST_CONTEXT_TOKENS)
    kept = list(turns)
    for place in range(len(kept) - 1):
        if tokens_of([*task, *kept]) <= room:
            break
        kept[place] = _shortened(kept[place])
    while len(kept) > 1 and tokens_of([*task, *kept]) > room:
        # An attempt goes together with what was said of it, so that the roles still take turns.
        del kept[: 2 if len(kept) > 2 else 1]
    return (*task, *kept)


def _shortened(message: Message) -> Message:
    if message.role != "assistant" or len(message.content) <= KEPT_OF_AN_ATTEMPT:
        return message
    return message.model_copy(update={"content": f"{message.content[:KEPT_OF_AN_ATTEMPT]}\n{CUT}"})
