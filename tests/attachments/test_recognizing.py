"""What a file is, by its bytes alone."""

from time import thread_time

import pytest

from reflection_app.attachments.keeping import cleaned_name
from reflection_app.core.recognizing import MOST_PIXELS, UNKNOWN, Recognized, recognize
from tests.attachments import samples


@pytest.mark.parametrize(
    ("content", "media_type", "size"),
    [
        (samples.png(3, 2), "image/png", (3, 2)),
        (samples.jpeg(5, 4), "image/jpeg", (5, 4)),
        (samples.gif(7, 6), "image/gif", (7, 6)),
        (samples.webp(9, 8), "image/webp", (9, 8)),
        (samples.avif(11, 10), "image/avif", (11, 10)),
    ],
)
def test_pictures_are_known_with_their_sizes(content: bytes, media_type: str, size: tuple[int, int]) -> None:
    assert recognize(content) == Recognized(media_type, width=size[0], height=size[1])


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (samples.wav(), "audio/wav"),
        (samples.mp3(), "audio/mpeg"),
        (b"ID3\x04\0\0\0\0\0\x0a" + b"\0" * 10 + samples.mp3(), "audio/mpeg"),
        (samples.ogg(), "audio/ogg"),
        (samples.m4a(), "audio/mp4"),
        (samples.webm(), "audio/webm"),
    ],
)
def test_sounds_are_known(content: bytes, media_type: str) -> None:
    assert recognize(content).media_type == media_type


def test_a_pdf_is_known_with_its_pages() -> None:
    assert recognize(samples.pdf(3)) == Recognized("application/pdf", pages=3)
    assert recognize(b"%PDF-1.7\n\xe2\xe3 all in streams").pages is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        samples.png()[:20],
        b"\xff\xd8\xff\xd9",
        b"RIFF\0\0\0\0WEBP",
        b"\xff\xfe<\0h\0t\0m\0l\0",
        b"\xff\xfb\x90\x00 and no second frame",
        samples.gif(0, 6),
        samples.avif(2**31, 10),
        samples.png()[:16] + b"\xff" * 8 + samples.png()[24:],
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<html>%PDF-1.4",
        b"PK\x03\x04",
        samples.m4a(b"vide"),
        samples.webm(b"V_VP9 A_OPUS"),
    ],
)
def test_what_is_cut_off_or_may_hold_a_script_or_a_film_is_none_of_them(content: bytes) -> None:
    assert recognize(content) == Recognized(UNKNOWN)


def test_what_is_two_things_at_once_is_what_it_begins_as() -> None:
    assert recognize(samples.gif() + b"/*<script>alert(1)</script>*/").media_type == "image/gif"
    assert recognize(samples.png() + samples.pdf()).media_type == "image/png"
    assert recognize(samples.jpeg() + b"PK\x03\x04").media_type == "image/jpeg"


def test_a_bomb_is_known_by_its_header() -> None:
    found = recognize(samples.bomb())
    assert (found.width or 0) * (found.height or 0) > MOST_PIXELS


@pytest.mark.parametrize(
    "whole", [samples.png(), samples.jpeg(), samples.webp(), samples.avif(), samples.mp3(), samples.m4a()]
)
def test_wherever_a_file_ends_it_is_read_without_a_failure(whole: bytes) -> None:
    for end in range(min(len(whole), 200)):
        recognize(whole[:end])


def test_a_name_of_megabytes_is_cleaned_at_once() -> None:
    begun = thread_time()
    assert cleaned_name("a" * 8_000_000 + "/ b.png", media_type="image/png") == "b.png"
    assert thread_time() - begun < 0.1
