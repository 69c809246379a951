"""How a model call can fail. Every message is redacted before it gets here and can be shown to people."""


class ModelError(Exception):
    """The model call failed, after `tries` requests."""

    def __init__(self, message: str, *, tries: int = 1) -> None:
        super().__init__(message)
        self.tries = tries


class ModelUnavailable(ModelError):
    """The model could not be reached or was overloaded, also after retries; the same call may work later."""

    def __init__(self, message: str, *, tries: int = 1, retry_after_s: float | None = None) -> None:
        super().__init__(message, tries=tries)
        self.retry_after_s = retry_after_s


class ModelTimedOut(ModelError):
    """The call's deadline came before an answer."""


class ModelRefused(ModelError):
    """The provider turned the call down for good: the key, the name, the length or the content; a retry cannot help."""


class TextRefused(ModelRefused):
    """The provider does not take this text: it is too long, or of a kind that it does not read."""


class NoModelConfigured(ModelError):
    """No model is configured for this role."""


class ScriptExhausted(ModelError):
    """The scripted model has no answer for this step."""


class ScriptInvalid(ModelError):
    """The scripted model's script is missing, misnamed or malformed."""
