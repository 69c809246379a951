"""How like supplements are to what they quote and to tools, by the embedding model on this machine.

Cosines of the model lie close together, and higher for some texts than for any others. So each is told in standard
deviations above the mean of how like both texts are to everyday ones in their language.
"""

import logging
import math
import re
import time
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

# What agents are asked to do, and tools that they do it with: the ground that other texts are seen against.
OPERATIONS = (
    "Send the report to the customer by e-mail",
    "Save the result in a file",
    "Translate the text into French",
    "Look up the weather in Oslo",
    "Book a table for four on Friday",
    "Delete the old backups",
    "Pay the open invoice",
    "Find papers about protein folding",
    "Draw a chart of the sales by month",
    "Run the tests and say which fail",
    "Turn on the lights in the kitchen",
    "Convert 300 dollars to euros",
    "Order new printer paper",
    "Play some jazz",
    "Create a ticket for the crash",
    "Plan a route from the station to the hotel",
    "Work out the area of the circle",
    "Rename the column in the table",
    "Summarise the meeting in five sentences",
    "Check whether the server is up",
)
CHINESE_OPERATIONS = (
    "把报告用邮件发给客户",
    "把结果保存到文件",
    "把这段文字翻译成法语",
    "查询奥斯陆的天气",
    "预订周五四个人的餐桌",
    "删除旧的备份",
    "支付未付的发票",
    "查找蛋白质折叠的论文",
    "画出每月销售额的图表",
    "运行测试并说明哪些失败",
    "打开厨房的灯",
    "把三百美元换算成欧元",
    "订购新的打印纸",
    "播放一些爵士乐",
    "为这次崩溃创建工单",
    "规划从车站到酒店的路线",
    "计算圆的面积",
    "重命名表里的一列",
    "用五句话总结会议",
    "检查服务器是否在线",
)
TOOLS = (
    "send email: Sends an e-mail to a recipient.",
    "file write: Writes text to a file.",
    "translate: Translates a text into another language.",
    "get weather: Gives the weather of a place.",
    "book restaurant: Books a table in a restaurant.",
    "delete backup: Deletes a stored backup.",
    "pay invoice: Pays an invoice by bank transfer.",
    "search papers: Searches scientific papers by topic.",
    "plot chart: Draws a chart from rows of numbers.",
    "run tests: Runs the tests of a project.",
    "set light: Switches a light on or off.",
    "convert currency: Converts an amount between currencies.",
    "place order: Orders goods in a shop.",
    "play music: Plays songs of a genre.",
    "create ticket: Opens a ticket in the tracker.",
    "find route: Finds a route between two places.",
    "circle area: Calculates the area of a circle.",
    "alter table: Changes the columns of a database table.",
    "summarise: Writes a summary of a text.",
    "ping: Tells whether a server answers.",
)
CHINESE_TOOLS = (
    "发送邮件：把电子邮件发给收件人。",
    "写文件：把文本写入文件。",
    "翻译：把文本翻译成另一种语言。",
    "天气查询：给出某地的天气。",
    "餐厅预订：在餐厅预订座位。",
    "删除备份：删除已保存的备份。",
    "支付发票：通过银行转账支付发票。",
    "论文检索：按主题检索科学论文。",
    "绘图：用数据画图表。",
    "运行测试：运行项目的测试。",
    "灯光控制：打开或关闭一盏灯。",
    "货币换算：在货币之间换算金额。",
    "下单：在商店订购商品。",
    "播放音乐：播放某种风格的歌曲。",
    "创建工单：在系统里新建工单。",
    "路线规划：查找两地之间的路线。",
    "圆面积：计算圆的面积。",
    "修改表：改变数据库表的列。",
    "摘要：为文本写摘要。",
    "探测：检查服务器是否响应。",
)


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
