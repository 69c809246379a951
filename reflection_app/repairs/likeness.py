"""How like supplements are to what they quote and to tools, by the embedding model on this machine.

Cosines of the model lie close together, and higher for some texts than for any others. So each is told in standard
deviations above the mean of how like both texts are to everyday ones in their language.
"""

import logging
import math
import re
import time
import tomllib
from importlib.resources import files
from typing import Any

from reflection_app.adapters.llm import ModelError, ModelTimedOut, embed, screening_model
from reflection_app.loops.completeness.checks import Likeness
from reflection_app.loops.effect import Performed, Spent
from reflection_app.loops.effects import CompareSupplements

log = logging.getLogger(__name__)

# It is a help beside the words, and no run waits long for it.
EMBED_WITHIN_S = 10.0
LONGEST_TEXT = 600
# Of 384 numbers each.
MOST_KEPT = 1_000
_kept: dict[tuple[str, str], tuple[float, ...]] = {}
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")

_USUAL = {
    name: tuple(texts)
    for name, texts in tomllib.loads((files(__package__) / "usual_texts.toml").read_text(encoding="utf-8")).items()
}
OPERATIONS, CHINESE_OPERATIONS = _USUAL["operations"], _USUAL["chinese_operations"]
TOOLS, CHINESE_TOOLS = _USUAL["tools"], _USUAL["chinese_tools"]


def compare_supplements(effect: CompareSupplements) -> Performed[Any]:
    """The likenesses of all operations, or none where no model can tell them now; it never raises."""
    began = time.monotonic()
    model = screening_model()
    value = Likeness()
    if model is not None:
        try:
            until = began + EMBED_WITHIN_S
            value = Likeness(
                to_quote=tuple(
                    likeness(one, quote, model=model, until=until, ground=(OPERATIONS, CHINESE_OPERATIONS))
                    for one, quote in zip(effect.operations, effect.quotes, strict=True)
                ),
                to_tools=tuple(
                    tuple(
                        likeness(one, tool, model=model, until=until, ground=(TOOLS, CHINESE_TOOLS))
                        for tool in effect.tools
                    )
                    for one in effect.operations
                ),
            )
        except ModelError as error:
            log.warning("supplements are compared by their words: %s", error)
    return Performed(value=value, spent=Spent(duration_s=time.monotonic() - began))


def likeness(operation: str, other: str, *, model: str, until: float, ground: tuple[tuple[str, ...], ...]) -> float:
    """How much more alike the two are than each is to the ground of the other's kind; 0 for nothing.

    Raises as `embed` does.
    """
    if not operation.strip() or not other.strip():
        return 0.0
    one, two = (_vector(text[:LONGEST_TEXT], model=model, until=until) for text in (operation, other))
    cosine = math.sumprod(one, two)
    above = []
    for vector, among in ((one, ground[bool(_HAN.search(other))]), (two, _operations(operation))):
        usual = [math.sumprod(vector, _vector(text, model=model, until=until)) for text in among]
        mean = math.fsum(usual) / len(usual)
        spread = math.sqrt(math.fsum((each - mean) ** 2 for each in usual) / len(usual))
        above.append((cosine - mean) / spread)
    return round(sum(above) / 2, 3)


def _operations(like: str) -> tuple[str, ...]:
    return CHINESE_OPERATIONS if _HAN.search(like) else OPERATIONS


def _vector(text: str, *, model: str, until: float) -> tuple[float, ...]:
    """The text's vector; the tools of a project and the ground come with every check, so the newest are kept."""
    kept = _kept.get((model, text))
    if kept is None:
        left_s = until - time.monotonic()
        if left_s <= 0:
            raise ModelTimedOut("what is left of the supplements was not compared in time")
        [vector] = embed([text], model=model, as_query=False, timeout_s=left_s)
        if len(_kept) >= MOST_KEPT:
            _kept.pop(next(iter(_kept)), None)
        kept = _kept[model, text] = tuple(vector)
    return kept
