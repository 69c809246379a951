"""Two attempts side by side: what the later one changed, and whether it takes the place of the earlier one."""

from reflection_app.loops.referee.answers import Answer, Answers, Ending
from reflection_app.loops.referee.plain_values import Unreadable, read_value
from reflection_app.loops.referee.restated import Pair, are_restated


def changes_nothing(old: Answers, new: Answers) -> bool:
    """Whether both answer the same on every input; a rewrite that does stands by what was answered before."""
    return all(a.is_same_as(b) for a, b in zip(old.all_answers(), new.all_answers(), strict=True))


def only_restates(old: Answers, new: Answers) -> bool:
    """Whether the new answers are the old ones in another form."""
    changed = [(a, b) for a, b in zip(old.all_answers(), new.all_answers(), strict=True) if not a.is_same_as(b)]
    try:
        return are_restated([_values(a, b) for a, b in changed])
    except Unreadable:
        return False


def _values(old: Answer, new: Answer) -> Pair:
    """What the two answered; an answer that agrees with its test is what the other one's test report expected."""
    if Ending.NO_ANSWER in {old.ending, new.ending}:
        raise Unreadable("one of them did not answer")
    return read_value(old.value or new.expected), read_value(new.value or old.expected)


def takes_the_place(new: Answers, old: Answers) -> bool:
    """Whether `new` is kept instead of `old`: it holds more of the task's own examples, or `old` never answered.

    Tests that a model wrote have no say here. On recorded runs a rewrite with most of them behind it was right no more
    often than the first answer, which most of them were against.
    """
    if new.examples_held != old.examples_held:
        return new.examples_held > old.examples_held
    return not old.is_answering and new.is_answering


def outvoted(kept: Answers, others: list[Answers]) -> int:
    """How many failed tests the other attempts answer just as the kept one does; none where there are no others."""
    return sum(
        answer.ending is Ending.DIFFERS and all(answer.is_same_as(other.tests[key]) for other in others)
        for key, answer in kept.tests.items()
        if others
    )
