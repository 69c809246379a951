import pytest

from reflection_app.loops.completeness.checks import LONGEST_KEY, content_of, operation_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Save the pictures to a file.", "save picture to file"),
        ("  Please send the user a MESSAGE!", "Send user message"),
        ("保存生成的图片到文件", "请保存生成图片到文件。"),
        ("发送通知", "发送通知！"),
        ("ＳＡＶＥ　ｉｔ to disk", "save to disk"),
        ("上传 report.pdf 到服务器", "上传report.pdf到服务器"),
    ],
)
def test_operations_that_say_the_same_have_the_same_key(one: str, other: str) -> None:
    assert operation_key(one) == operation_key(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Book a flight from Rome to Paris", "Book a flight from Paris to Rome"),
        ("Send the mail", "Do not send the mail"),
        ("Draw picture 1", "Draw picture 2"),
        ("预订从上海到北京的机票", "预订从北京到上海的机票"),
        ("保存图片", "不保存图片"),
        ("保存图片", "删除图片"),
    ],
)
def test_operations_that_differ_have_different_keys(one: str, other: str) -> None:
    assert operation_key(one) != operation_key(other)


def test_a_key_is_bounded_and_long_texts_keep_apart() -> None:
    long = "写" * 2_000
    assert len(operation_key(long)) <= LONGEST_KEY
    assert operation_key(f"{long}一") != operation_key(f"{long}二")
    assert operation_key("the") == "the", "a word that says nothing is still more than nothing"
    assert operation_key("?! … ——") == ""


def test_what_texts_are_about_is_told_by_words_and_by_pairs_of_signs() -> None:
    assert content_of("发送搜索结果通知") & content_of("通知用户")
    assert content_of("Save the pictures") & content_of("a picture was drawn")
    assert not content_of("订购一台咖啡机") & content_of("读取配置文件并解析")
    assert not content_of("执行任务的操作") & content_of("需要完成任务")
