"""Pages of a project's files as pictures for a model that sees: rendered once, in the sandbox, and kept.

A picture is named by the bytes of its file. So the same page of the same file is the same picture, however often it is
asked for, and a name that leads to no file of the project leads to nothing.
"""

from collections.abc import Iterable
from uuid import UUID

from desk_sandbox import working_clock
from reflection_app.adapters.files import FileNotOpened, render_page
from reflection_app.adapters.llm.pictures import MOST_BYTES, size_of
from reflection_app.attachments.models import Attachment, RenderedPage
from reflection_app.core.connections import released
from reflection_app.loops.completeness.looked import PageRendered, PagesRendered
from reflection_app.loops.values import Picture

# A page that takes more bytes than a call may send is made smaller, and that no more often than this.
MOST_HALVINGS = 3
NO_FILE = "The file is not there any more."
NO_TIME = "There was no time left to make a picture of it."
TOO_LARGE = "Its picture takes too many bytes, however small it is made."
LONGEST_ERROR = 600
EACH_S = 20.0


class NotRendered(Exception):
    """There is no picture of the page, and the message says why."""


def render_pages(project_id: UUID, pictures: Iterable[Picture], *, timeout_s: float) -> PagesRendered:
    """Each page's size, or why there is no picture of it; one that was rendered before is not rendered again."""
    until = working_clock() + timeout_s
    found = []
    for picture in pictures:
        try:
            page = _page(project_id, picture, left_s=until - working_clock())
        except NotRendered as error:
            found.append(PageRendered(picture=picture, error=str(error)[:LONGEST_ERROR]))
        else:
            size = len(page.content)
            found.append(
                PageRendered(
                    picture=picture,
                    attachment=page.attachment_id,
                    width=page.width,
                    height=page.height,
                    size=size,
                )
            )
    return PagesRendered(pages=tuple(found))


def bytes_of_pages(project_id: UUID, pictures: Iterable[Picture], *, timeout_s: float) -> dict[Picture, bytes]:
    """The PNG of each page. Raises NotRendered where one cannot be had: a model is never asked with some left out."""
    until = working_clock() + timeout_s
    return {one: bytes(_page(project_id, one, left_s=until - working_clock()).content) for one in pictures}


def _page(project_id: UUID, picture: Picture, *, left_s: float) -> RenderedPage:
    file = Attachment.objects.filter(project=project_id, sha256=picture.sha256).first()
    if file is None:
        raise NotRendered(NO_FILE)
    named = {"attachment": file, "page": picture.page, "max_side_px": picture.max_side_px}
    kept = RenderedPage.objects.filter(**named).first()
    if kept is not None:
        return kept
    with released():  # this thread waits for the sandbox, and maybe for its turn at one
        content = _rendered(bytes(file.content), picture=picture, left_s=left_s)
    width, height = size_of(content)
    row = RenderedPage(project_id=project_id, **named, width=width, height=height, content=content)
    # Another run may have rendered the same page meanwhile; either is as good.
    RenderedPage.objects.bulk_create([row], ignore_conflicts=True)
    return row


def _rendered(content: bytes, *, picture: Picture, left_s: float) -> bytes:
    until = working_clock() + left_s
    side = picture.max_side_px
    for _ in range(MOST_HALVINGS + 1):
        left_s = until - working_clock()
        if left_s <= 0:
            raise NotRendered(NO_TIME)
        try:
            rendered = render_page(content, page=picture.page, max_side_px=side, timeout_s=min(left_s, EACH_S))
        except FileNotOpened as error:
            raise NotRendered(str(error)) from None
        if len(rendered) <= MOST_BYTES:
            return rendered
        side //= 2
    raise NotRendered(TOO_LARGE)
