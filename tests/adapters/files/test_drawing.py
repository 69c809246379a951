"""Pages of PDF and pictures are drawn anew as PNG; what cannot be drawn says why."""

import io

import pytest
from PIL import Image

from reflection_app.adapters.files import FileNotOpened, render_page
from reflection_app.loops.completeness.files import FaultCode, WhyNot
from tests.adapters.files import broken, whole


def opened(content: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(content))
    assert picture.format == "PNG"
    picture.load()
    return picture


def test_each_page_of_a_pdf_is_drawn() -> None:
    pages = [render_page(whole.pdf(2), page=number, max_side_px=800) for number in (1, 2)]
    assert [opened(one).size for one in pages] == [(600, 800), (600, 800)]
    assert pages[0] != pages[1]
    assert opened(pages[0]).convert("L").getextrema() == (0, 255), "something is drawn on it"


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "AVIF", "TIFF", "BMP"])
def test_pictures_are_made_small_and_never_larger(form: str) -> None:
    content = whole.picture(form, size=(200, 100))
    assert opened(render_page(content, max_side_px=50)).size == (50, 25)
    assert opened(render_page(content, max_side_px=4_000)).size == (200, 100)


def test_a_picture_that_lies_on_its_side_is_set_upright() -> None:
    made = Image.new("RGB", (40, 20))
    exif = Image.Exif()
    exif[0x0112] = 6
    content = whole.written(lambda file: made.save(file, "JPEG", exif=exif))
    assert opened(render_page(content)).size == (20, 40)


@pytest.mark.parametrize(
    ("content", "page", "code", "why_not"),
    [
        (whole.pdf(1), 2, FaultCode.TOO_FEW_PAGES, None),
        (whole.pdf(1), 0, FaultCode.TOO_FEW_PAGES, None),
        (whole.pdf(password="secret"), 1, FaultCode.ENCRYPTED, None),
        (broken.cut(whole.picture()), 1, FaultCode.TRUNCATED, None),
        (broken.png_of(60_000, 60_000), 1, FaultCode.UNFOLDS, None),
        (whole.document(), 1, None, WhyNot.NO_READER),
        (b"plain words", 1, None, WhyNot.NO_READER),
        (b"", 1, None, WhyNot.NO_READER),
    ],
)
def test_what_cannot_be_drawn_says_why(
    content: bytes, page: int, code: FaultCode | None, why_not: WhyNot | None
) -> None:
    with pytest.raises(FileNotOpened) as caught:
        render_page(content, page=page)
    assert (caught.value.code, caught.value.why_not) == (code, why_not)
