"""Cells of exported tables that a spreadsheet would run as formulas."""

import pytest

from reflection_app.core.streamed import csv_lines

CELLS = ["=1", "+1", "-1", "@x", "\tx", "\rx", "＝1", "＋1", "－1", "＠x", "﹦1"]
HIDDEN = ["\u200b=1", "\ufeff＝1", "\u2060 @x", "  =1", "\u3000=1"]


@pytest.mark.parametrize("text", CELLS + HIDDEN)
def test_a_cell_whose_first_visible_character_begins_a_formula_is_quoted(text: str) -> None:
    quoted = csv_lines([[text]])
    assert quoted.strip('"').startswith("'")
    assert text.strip() in quoted


@pytest.mark.parametrize("value", ["a=1", "1 + 1", "", "é", "中＝文", "\u200bhello", -1, -0.5, True, None])
def test_other_cells_stay_as_they_are(value: object) -> None:
    assert not csv_lines([[value]]).strip('"').startswith("'")
