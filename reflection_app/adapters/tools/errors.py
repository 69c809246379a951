"""Why a tool could not be called. Each becomes a failed result in runs/tool_calling.py."""


class Misconfigured(Exception):
    """The tool's registration does not hold together; no arguments would help. Nothing was sent."""


class UnusableArguments(Exception):
    """The arguments cannot be put into the call. Nothing was sent."""
