"""Pages and actions that are found by their names and by what people call them, in both languages.

Who may open one is what its view asks for; of an action that stands on a page for everybody, `may` says it.
"""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.urls import resolve, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.search.asking import read_asked
from reflection_app.teams.projects import may_create_projects
from reflection_app.web.access import Place

SHOWN = 5


@dataclass(frozen=True)
class Destination:
    """`title` is in English, as gettext knows it; `called` are other words for it, in any language."""

    page: str
    title: str
    called: str
    icon: str = "sliders"
    within: str = ""
    fragment: str = ""
    may: Permission | None = None
    # Outside of any project, in the navigation of the one that one came from.
    is_personal: bool = False


def _personal(page: str, title: str, called: str, icon: str = "person") -> Destination:
    return Destination(page, title, called, icon, within=gettext_noop("Your profile"), is_personal=True)


def _setting(page: str, title: str, called: str, *, may: Permission | None = None, fragment: str = "") -> Destination:
    return Destination(page, title, called, within=gettext_noop("Settings"), may=may, fragment=fragment)


DESTINATIONS = (
    Destination(
        "new_task",
        gettext_noop("New task"),
        "create submit start run hand in order 新建 任务 提交 创建 运行 下达",
        "plus",
    ),
    Destination(
        "project_overview", gettext_noop("Overview"), "home start dashboard 首页 概览 总览 主页 仪表盘", "home"
    ),
    Destination("runs", gettext_noop("Runs"), "executions jobs tasks history 运行 任务 列表 历史", "runs"),
    Destination(
        "sessions", gettext_noop("Sessions"), "conversations transcripts traces chats 会话 对话 追踪 转录", "chat"
    ),
    Destination(
        "reviews", gettext_noop("Reviews"), "queue approve waiting decide inbox 评审 审核 复核 队列 待办 批准", "inbox"
    ),
    Destination(
        "saved_views",
        gettext_noop("Saved views"),
        "filters favourites shared 视图 筛选 收藏",
        "pin",
    ),
    Destination("bulk_list", gettext_noop("Bulk decisions"), "many batch history 批量 决定", "inbox"),
    Destination(
        "comparisons",
        gettext_noop("Comparisons"),
        "pairwise blind side by side prefer better a/b arena 成对 比较 盲评 对比 偏好",
        "scale",
    ),
    Destination(
        "new_comparison_set",
        gettext_noop("New set of comparisons"),
        "pairwise create add compare models prompts 新建 比较 组",
        "plus",
        within=gettext_noop("Comparisons"),
    ),
    Destination(
        "comparison_ratings",
        gettext_noop("Ratings"),
        "bradley terry elo leaderboard rank models prompts 评分 排名 等级 模型",
        "chart",
        within=gettext_noop("Comparisons"),
    ),
    Destination(
        "agreement",
        gettext_noop("Agreement of reviewers"),
        "kappa panels blind inter-rater 一致性 评审 评审者 盲审",
        "inbox",
    ),
    Destination("tickets", gettext_noop("Tickets"), "rewind sent back issues 回退单 工单 退回", "repeat"),
    Destination(
        "reports", gettext_noop("Reports"), "reflections post-mortem error trace 报告 反思 复盘 错误", "report"
    ),
    Destination(
        "instructions",
        gettext_noop("Instructions"),
        "system prompt agents proposals 指令 指示 提示词",
        "report",
        within=gettext_noop("Reports"),
    ),
    Destination(
        "notebook",
        gettext_noop("Notebook"),
        "entries lessons browse memory knowledge 经验笔记 笔记本 经验 条目 知识 浏览",
        "pen",
    ),
    Destination(
        "notebook_inbox",
        gettext_noop("Inbox"),
        "proposals curate approve entries waiting 收件箱 提议 审批 待定",
        "pen",
        within=gettext_noop("Notebook"),
    ),
    Destination(
        "new_entry",
        gettext_noop("New entry"),
        "add propose write lesson rule fact anti-pattern 新建 条目 经验 规则 添加",
        "plus",
        within=gettext_noop("Notebook"),
    ),
    Destination(
        "conflicts",
        gettext_noop("Conflicts"),
        "duplicates contradictions merge 冲突 重复 矛盾 合并",
        "pen",
        within=gettext_noop("Notebook"),
    ),
    Destination(
        "try_recall",
        gettext_noop("Try recall"),
        "try test find remember 回忆 召回 试用",
        "pen",
        within=gettext_noop("Notebook"),
    ),
    Destination(
        "rules_prompt",
        gettext_noop("Rules prompt"),
        "system prompt anti-patterns 规则 提示词",
        "pen",
        within=gettext_noop("Notebook"),
    ),
    Destination(
        "lift",
        gettext_noop("Lift"),
        "effect of lessons experiment help 提升 效果 实验",
        "pen",
        within=gettext_noop("Notebook"),
    ),
    Destination(
        "stale_entries",
        gettext_noop("Stale"),
        "unused old entries retire 陈旧 过期 闲置",
        "pen",
        within=gettext_noop("Notebook"),
    ),
    Destination(
        "notebook_import",
        gettext_noop("Import and export"),
        "download upload jsonl markdown 导入 导出 下载 上传",
        "download",
        within=gettext_noop("Notebook"),
    ),
    Destination("tools", gettext_noop("Tools"), "http mcp functions secrets 工具 函数 密钥", "tool"),
    Destination(
        "new_tool",
        gettext_noop("New tool"),
        "add create http mcp function 新建 添加 工具",
        "plus",
        within=gettext_noop("Tools"),
    ),
    Destination(
        "import_tools",
        gettext_noop("Import from an MCP server"),
        "tools add mcp 导入 工具 服务器",
        "tool",
        within=gettext_noop("Tools"),
    ),
    Destination(
        "tool_failures",
        gettext_noop("Tool failures"),
        "errors calls diagnosis timeouts 工具 失败 错误 诊断",
        "tool",
        within=gettext_noop("Tools"),
    ),
    Destination(
        "tool_cheat_sheet",
        gettext_noop("Cheat sheet"),
        "fixes known errors help 速查表 修复",
        "tool",
        within=gettext_noop("Tools"),
    ),
    Destination("completeness", gettext_noop("Completeness"), "checks missing supplements 完整性 检查 补充", "check"),
    Destination(
        "metrics", gettext_noop("Metrics"), "figures charts statistics cost success 指标 统计 图表 成本 成功率", "chart"
    ),
    Destination(
        "review_metrics",
        gettext_noop("Figures of reviews"),
        "metrics reviewers time decisions 指标 评审 审核 统计",
        "chart",
        within=gettext_noop("Metrics"),
    ),
    Destination(
        "dashboards",
        gettext_noop("Dashboards"),
        "metrics own figures charts pick arrange 指标 仪表盘 看板 图表",
        "chart",
        within=gettext_noop("Metrics"),
    ),
    Destination(
        "calibration",
        gettext_noop("Calibration"),
        "critics confidence bias judges import upload labels 校准 评审 置信度 导入 标注",
        "scale",
        within=gettext_noop("Metrics"),
    ),
    Destination(
        "datasets",
        gettext_noop("Data sets"),
        "export download training dpo preferences jsonl csv 数据集 导出 下载 训练 偏好",
        "download",
        within=gettext_noop("Metrics"),
    ),
    Destination("audit", gettext_noop("Audit trail"), "log history who changed 审计 日志 记录 谁", "clock"),
    _setting(
        "settings",
        gettext_noop("Project settings"),
        "general models limits budget name critic actor 设置 项目 模型 限额 预算 通用",
    ),
    _setting("members", gettext_noop("Members"), "people team users roles 成员 团队 用户 角色"),
    _setting(
        "members",
        gettext_noop("Invite somebody"),
        "invitation add member user link 邀请 添加 成员 链接",
        may=Permission.MANAGE_MEMBERS,
        fragment="invitations",
    ),
    _setting("permissions", gettext_noop("Permissions"), "roles scopes rights matrix who may 权限 角色 范围"),
    _setting("keys", gettext_noop("API keys"), "tokens secrets rest access 密钥 令牌 接口"),
    _setting(
        "keys",
        gettext_noop("Create a key"),
        "api token new secret add 创建 新建 密钥 令牌",
        may=Permission.MANAGE_KEYS,
        fragment="new-key",
    ),
    _setting(
        "review_policy",
        gettext_noop("Review policy"),
        "rules sampling audit share thresholds 评审 审核 策略 规则 抽查 阈值",
    ),
    _setting(
        "rubric",
        gettext_noop("Rubric and guidelines"),
        "criteria ratings scales weights examples agreement 评分标准 指南 准则 示例 评分",
    ),
    _setting(
        "review_queues",
        gettext_noop("Queues"),
        "routing members rules goals who reviews what 队列 分派 成员",
    ),
    _setting(
        "new_queue",
        gettext_noop("New queue"),
        "add queue routing 新建 队列",
        may=Permission.CHANGE_SETTINGS,
    ),
    _setting(
        "notebook_settings",
        gettext_noop("How the project learns"),
        "notebook learning lessons recall 学习 笔记本 召回 设置",
    ),
    _setting("webhooks", gettext_noop("Webhooks"), "notify callbacks integrations events 回调 集成 事件 通知"),
    _setting(
        "channels",
        gettext_noop("Channels"),
        "slack teams feishu lark dingtalk wecom notify chat goals overdue 钉钉 飞书 企业微信 通知 渠道 时限",
    ),
    _setting("new_channel", gettext_noop("New channel"), "add create slack teams feishu dingtalk wecom 新建 添加 渠道"),
    _setting("new_webhook", gettext_noop("New webhook"), "add create callback integration 新建 添加 回调"),
    _setting(
        "keeping",
        gettext_noop("Retention"),
        "keep delete old data days privacy export archive 保留 清理 删除 归档 导出",
    ),
    _setting("delete_project", gettext_noop("Delete the project"), "remove erase 删除 项目"),
    _personal("notifications", gettext_noop("Notifications"), "bell unread messages 通知 未读 消息", "bell"),
    _personal("profile", gettext_noop("Your profile"), "name account mail 个人 资料 账户 姓名"),
    _personal(
        "profile",
        gettext_noop("Language and colours"),
        "locale translation chinese english 中文 英文 语言 主题 theme dark light mode 深色 浅色 外观",
    ),
    _personal("account_email", gettext_noop("E-mail addresses"), "mail 邮箱 邮件 地址"),
    _personal("account_change_password", gettext_noop("Password"), "change login security 密码 修改 安全"),
    _personal("mfa_index", gettext_noop("Two-factor login"), "2fa mfa totp authenticator security 两步 双重 验证 安全"),
    _personal(
        "usersessions_list", gettext_noop("Browsers"), "devices logged in sign out everywhere 浏览器 设备 登录 退出"
    ),
    _personal("own_keys", gettext_noop("Your keys"), "api tokens own 我的 密钥 令牌", "key"),
    _personal("new_project", gettext_noop("New project"), "create add tenant team 新建 项目 创建", "plus"),
    _personal(
        "api-docs", gettext_noop("API documentation"), "rest openapi reference docs swagger 接口 文档 帮助", "info"
    ),
)


@dataclass(frozen=True)
class Offered:
    """A page or an action that one may open."""

    title: str
    within: str
    icon: str
    path: str


def offered(place: Place, user: User, typed: str) -> list[Offered]:
    """The pages and actions that go by these words, and that the member may open; those named so first."""
    asked = read_asked(typed)
    if asked is None:
        return []
    pieces = asked.text.split()
    ranked: list[tuple[int, Destination]] = []
    for one in DESTINATIONS:
        names = (_(one.title).lower(), one.title.lower())
        known = " ".join((*names, _(one.within).lower() if one.within else "", one.called))
        if all(_begins_a_word(piece, known) for piece in pieces) and may_open(one, place, user):
            is_named = any(name.startswith(asked.text) for name in names)
            has_all = all(any(_begins_a_word(piece, name) for name in names) for piece in pieces)
            ranked.append((0 if is_named else 1 if has_all else 2, one))
    ranked.sort(key=lambda one: one[0])
    return [
        Offered(_(one.title), _(one.within) if one.within else "", one.icon, path_of(one, place.project))
        for _rank, one in ranked[:SHOWN]
    ]


def may_open(one: Destination, place: Place, user: User) -> bool:
    """Whether the member may open it, and do there what it is found for."""
    if one.page == "new_project" and not may_create_projects(user):
        return False
    asked = getattr(resolve(path_of(one, place.project).partition("#")[0]).func, "permissions", None)
    needed = [one.may] if one.may else []
    if not one.is_personal and asked:
        needed.append(asked["GET"])
    return all(place.may(permission) for permission in needed)


def path_of(one: Destination, project: Project) -> str:
    if one.is_personal:
        return reverse(one.page)
    path = reverse(one.page, args=[project.slug])
    return f"{path}#{one.fragment}" if one.fragment else path


def _begins_a_word(piece: str, text: str) -> bool:
    """Whether a word of the text begins so; of what is written without spaces, whether the text has it."""
    return f" {piece}" in f" {text}" or (not piece.isascii() and piece in text.replace(" ", ""))
