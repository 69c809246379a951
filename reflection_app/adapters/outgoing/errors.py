"""Why a request came to nothing."""


class OutgoingError(Exception):
    """No usable answer came."""


class AddressRefused(OutgoingError):
    """The address is none that requests are sent to; nothing was sent to it."""


class Unreachable(OutgoingError):
    """The name is unknown, nobody listens there, or what came back is no HTTP."""


class TimedOut(OutgoingError):
    """The time was up before the answer was complete."""


class TooLarge(OutgoingError):
    """The answer is longer than what is read of one."""


def text_of(error: Exception) -> str:
    """What the error says, or its name where it says nothing."""
    return str(error) or type(error).__name__
