"""Remove the language from a question's vector, so that Chinese and English questions compare by meaning.

In the space of multilingual-e5-small, texts of one language lie together regardless of meaning. A Chinese question
finds any Chinese entry before the English one that answers it. Sentences with equal meaning in both languages show the
center of each language and the direction between them. On the labeled set this raises recall@5 by meaning from 0.61 to
0.90. Only questions are changed; entries keep the model's own vectors.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Vector = Sequence[float]

CHINESE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
LETTER = re.compile(r"[^\W\d_]")
# A Chinese character carries about as much information as this many letters.
LETTERS_PER_CHARACTER = 2
# None of these sentences is in the labeled set.
SENTENCES = (
    ("The agent read the file and wrote a short report.", "智能体读取了文件，并写了一份简短的报告。"),
    ("The tool returned an error because an argument was missing.", "由于缺少一个参数，工具返回了错误。"),
    ("The customer asked when the parcel would arrive.", "客户询问包裹什么时候能到。"),
    ("Check the result once more before you send it.", "发送之前请再检查一遍结果。"),
    ("The page loads slowly in the morning.", "这个页面早上加载得很慢。"),
    ("The contract ends in June of next year.", "合同将于明年六月到期。"),
    ("Always write the name of the author first.", "务必先写作者的名字。"),
    ("The report has to be finished by Friday.", "报告必须在星期五之前完成。"),
    ("The user prefers dark colours on the screen.", "用户喜欢深色的界面。"),
    ("A new release was installed on the server yesterday.", "昨天在服务器上安装了新版本。"),
    ("The translation left out a whole paragraph.", "译文漏掉了一整段。"),
    ("Use the second list if the first one is empty.", "如果第一个列表为空，就使用第二个。"),
    ("The meeting was moved to the large room.", "会议改到大会议室举行。"),
    ("The table had the wrong column headings.", "表格的列标题写错了。"),
    ("Save the picture in a smaller size.", "把图片保存为较小的尺寸。"),
    ("The price in the offer does not include tax.", "报价中的价格不含税。"),
    ("The answer named the wrong city.", "回答说错了城市。"),
    ("Ask the team before you change the plan.", "更改计划之前先询问团队。"),
    ("The connection was lost in the middle of the download.", "下载到一半时连接断开了。"),
    ("Each item gets a number of its own.", "每个项目都有自己的编号。"),
    ("The code was copied without its licence.", "代码被复制时没有附上许可证。"),
    ("The model confused two people with similar names.", "模型混淆了两个名字相近的人。"),
    ("The hotel is close to the station.", "酒店离车站很近。"),
    ("Write down why the decision was made.", "写下做出这个决定的原因。"),
)


@dataclass(frozen=True)
class Languages:
    """Centers of questions per language, and the unit vector from English entries to Chinese ones."""

    english: Vector
    chinese: Vector
    direction: Vector


def languages(of_question: Callable[[str], Vector], of_entry: Callable[[str], Vector]) -> Languages:
    """Return the values for the model behind `of_question` and `of_entry`."""
    english, chinese = ([pair[place] for pair in SENTENCES] for place in (0, 1))
    from_english, to_chinese = _middle(map(of_entry, english)), _middle(map(of_entry, chinese))
    return Languages(
        english=_middle(map(of_question, english)),
        chinese=_middle(map(of_question, chinese)),
        direction=_of_length_1([there - here for here, there in zip(from_english, to_chinese, strict=True)]),
    )


def without_language(vector: Vector, text: str, known: Languages) -> list[float]:
    """Return the question's unit vector without its language's center and the direction between languages."""
    share = chinese_share(text)
    place = [here + share * (there - here) for here, there in zip(known.english, known.chinese, strict=True)]
    centred = [here - middle for here, middle in zip(vector, place, strict=True)]
    along = sum(here * there for here, there in zip(centred, known.direction, strict=True))
    return _of_length_1([here - along * there for here, there in zip(centred, known.direction, strict=True)])


def chinese_share(text: str) -> float:
    """Return the share of Chinese in the text, from 0 to 1."""
    characters = len(CHINESE.findall(text))
    letters = len(LETTER.findall(text)) - characters
    weight = LETTERS_PER_CHARACTER * characters
    return weight / (weight + letters) if weight else 0.0


def _middle(vectors: "map[Vector]") -> list[float]:
    every = list(vectors)
    return [sum(numbers) / len(every) for numbers in zip(*every, strict=True)]


def _of_length_1(vector: Vector) -> list[float]:
    length = math.hypot(*vector)
    return [number / length for number in vector] if length else list(vector)
