"""One request and its answer, redirects followed by hand: each is checked like the first."""

import re
from dataclasses import dataclass, field

import httpx2

from reflection_app.adapters.outgoing.client import run_with_client
from reflection_app.adapters.outgoing.errors import AddressRefused, Unreachable
from reflection_app.adapters.outgoing.urls import origin_of, read_url

MOST_REDIRECTS = 5
REDIRECTS = {301, 302, 303, 307, 308}
# All that another origin gets to see of the headers; whatever else was set was meant for the first.
FOR_EVERYONE = {"accept", "content-type", "user-agent"}
USER_AGENT = "reflection-desk"
_CHARSET = re.compile(r"charset=\"?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)


@dataclass(frozen=True)
class OutgoingRequest:
    method: str
    url: str
    # Not in the repr: they may hold secrets.
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class OutgoingAnswer:
    status: int
    headers: httpx2.Headers
    body: bytes

    @property
    def media_type(self) -> str:
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The body as text; what its charset cannot read is shown as the replacement character."""
        named = _CHARSET.search(self.headers.get("content-type", ""))
        try:
            return self.body.decode(named[1] if named else "utf-8", errors="replace")
        except (LookupError, ValueError):
            return self.body.decode("utf-8", errors="replace")


def send(request: OutgoingRequest, *, deadline_s: float, most_bytes: int) -> OutgoingAnswer:
    """The answer, whatever its status. Raises an OutgoingError.

    `deadline_s` holds for all of it together: looking up, connecting, every redirect, and the whole body.
    """
    origin_of(request.url)

    async def exchange(client: httpx2.AsyncClient) -> OutgoingAnswer:
        return await _follow(client, request)

    return run_with_client(exchange, deadline_s=deadline_s, most_bytes=most_bytes)


async def _follow(client: httpx2.AsyncClient, request: OutgoingRequest) -> OutgoingAnswer:
    for _ in range(MOST_REDIRECTS + 1):
        async with client.stream(
            request.method,
            read_url(request.url),
            headers={"User-Agent": USER_AGENT, **request.headers},
            content=request.body or None,
        ) as answer:
            place = answer.headers.get("location")
            if answer.status_code not in REDIRECTS or not place:
                return OutgoingAnswer(answer.status_code, answer.headers, await answer.aread())
            request = redirected(request, status=answer.status_code, place=place)
    raise Unreachable(f"More than {MOST_REDIRECTS} redirects.")


def redirected(request: OutgoingRequest, *, status: int, place: str) -> OutgoingRequest:
    """The request that follows a redirect, by RFC 9110, section 15.4. Raises AddressRefused."""
    try:
        joined = str(httpx2.URL(request.url).join(place).copy_with(fragment=None))
    except (httpx2.InvalidURL, ValueError):
        raise AddressRefused("The server redirects to what is no address.") from None
    url = read_url(joined)
    if request.url.lower().startswith("https:") and url.scheme != "https":
        raise AddressRefused("The server redirects from https to http.")
    method, body, headers = request.method, request.body, request.headers
    if (status == 303 and method != "HEAD") or (status in {301, 302} and method == "POST"):
        method, body = "GET", b""
        headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
    if origin_of(url) != origin_of(request.url):
        headers = {name: value for name, value in headers.items() if name.lower() in FOR_EVERYONE}
    return OutgoingRequest(method=method, url=joined, headers=headers, body=body)
