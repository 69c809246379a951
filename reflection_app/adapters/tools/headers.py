"""Headers of tools: which may be set, and how they name secrets in place of holding them."""

import re
from collections.abc import Iterable, Iterator, Mapping

MOST_HEADERS = 20
LONGEST_HEADER = 2000
SECRET_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
REFERENCE = re.compile(r"\{secret:([^{}]*)\}")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\x20-\x7e]*")
# Those that say how the message itself is read, and those that the desk sets.
OURS = {
    "accept-encoding", "connection", "content-encoding", "content-length", "cookie", "expect", "host",
    "idempotency-key", "keep-alive", "mcp-session-id", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
}  # fmt: skip
# What stands in these is a secret, so it must come from one.
SECRET = {"authorization", "x-api-key", "api-key", "x-auth-token"}


def header_problems(headers: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the headers, a sentence each."""
    if len(headers) > MOST_HEADERS:
        yield f"at most {MOST_HEADERS} headers"
    for name, value in headers.items():
        if problem := _problem(name, value):
            yield f"{name[:100]}: {problem}"
    if len({name.lower() for name in headers}) < len(headers):
        yield "a header is given twice"


def _problem(name: str, value: str) -> str:
    if not _TOKEN.fullmatch(name):
        return "this is no name of a header"
    if name.lower() in OURS:
        return "this header is set by the desk or not at all"
    if len(value) > LONGEST_HEADER or not _VALUE.fullmatch(value):
        return f"a value has at most {LONGEST_HEADER} printable ASCII characters"
    if "{secret:" in REFERENCE.sub("", value) or any(
        not SECRET_NAME.fullmatch(one) for one in REFERENCE.findall(value)
    ):
        return "write a secret as {secret:NAME}, with the name of one"
    if name.lower() in SECRET and not REFERENCE.search(value):
        return "put the value into a secret and write {secret:NAME} here; headers are shown to every member"
    return ""


def secrets_named(headers: Iterable[str]) -> set[str]:
    """The names of the secrets that these values refer to."""
    return {name for value in headers for name in REFERENCE.findall(value)}
