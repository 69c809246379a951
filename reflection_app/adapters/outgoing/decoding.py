"""The body of an answer, unpacked and counted piece by piece: a small body can unpack to a huge one."""

import zlib
from collections.abc import AsyncIterator, Callable, Iterator

import httpx2

from reflection_app.adapters.outgoing.errors import OutgoingError, TooLarge, Unreachable, text_of

ACCEPTED = "gzip"
PIECE_BYTES = 64 * 1024
_GZIP = 31  # zlib's number for its gzip format


class Budget:
    """How many bytes may still come, over all answers that share it. Raises TooLarge where they are used up."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.left = most_bytes

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise TooLarge(f"The answer is longer than {self.most_bytes:,} bytes.")


class CountedStream(httpx2.AsyncByteStream):
    """The unpacked body of `answer`; it never holds more than a piece of it. `on_error` hears of our errors first."""

    def __init__(self, answer: httpx2.Response, *, budget: Budget, on_error: Callable[[OutgoingError], None]) -> None:
        assert isinstance(answer.stream, httpx2.AsyncByteStream)
        self._packed = answer.stream
        self._budget, self._on_error = budget, on_error
        encoding = answer.headers.get("content-encoding", "").strip().lower()
        if encoding not in {"", "identity", "gzip", "x-gzip"}:
            raise Unreachable(f"The answer is encoded as {encoding[:40]!r}, which was not asked for.")
        self._is_gzip = encoding.endswith("gzip")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        unpack = zlib.decompressobj(_GZIP) if self._is_gzip else None
        try:
            async for packed in self._packed:
                for piece in [packed] if unpack is None else _unpacked(unpack, packed):
                    self._budget.take(len(piece))
                    yield piece
        except httpx2.HTTPError as error:
            broken = Unreachable(f"The answer broke off: {text_of(error)}")
            self._on_error(broken)
            raise broken from None
        except OutgoingError as error:
            self._on_error(error)
            raise

    async def aclose(self) -> None:
        await self._packed.aclose()


def _unpacked(unpack: "zlib._Decompress", packed: bytes) -> Iterator[bytes]:
    while packed and not unpack.eof:
        try:
            piece = unpack.decompress(packed, PIECE_BYTES)
        except zlib.error:
            raise Unreachable("The answer says that it is gzip, and is not.") from None
        packed = unpack.unconsumed_tail
        yield piece
