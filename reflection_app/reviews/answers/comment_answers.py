"""Comments as REST tells them."""

from uuid import UUID

from pydantic import AwareDatetime, Field

from reflection_app.api.answer import Answer, PageAnswer
from reflection_app.reviews.models.comment import About, Comment


class CommentAnswer(Answer):
    """Something that a person or a pipeline said about a review, a run or an entry of the notebook."""

    id: UUID
    about: About
    about_id: UUID
    author: str
    text: str = Field(description="Markdown; empty once it was taken back")
    created_at: AwareDatetime
    edited_at: AwareDatetime | None
    taken_back_at: AwareDatetime | None


class CommentPage(PageAnswer):
    results: list[CommentAnswer]


def comment_answer(comment: Comment) -> CommentAnswer:
    return CommentAnswer(
        id=comment.pk,
        about=About(comment.about),
        about_id=comment.about_id,
        author=comment.author_label,
        text=comment.text,
        created_at=comment.created_at,
        edited_at=comment.edited_at,
        taken_back_at=comment.deleted_at,
    )
