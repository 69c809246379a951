"""Rules for files, memory, databases and repositories."""

from reflection_app.loops.diagnosis.diagnoses import ErrorType, FailureSeverity, Remedy
from reflection_app.loops.diagnosis.rule import Change, Rule, words

RESOURCES = (
    Rule(
        id="no-space",
        source="POSIX ENOSPC, EDQUOT; SQLSTATE 53100",
        words=words(
            r"\benospc|\bno space left|\bdisk (?:is )?full|\bdisk quota|\bedquot|\bnot enough (?:disk )?space",
            r"\binsufficient (?:disk |storage )|\bstorage (?:is )?full|磁盘(?:空间)?(?:不足|已满)|空间不足",
            r"存储(?:空间)?(?:不足|已满)",
        ),
        error_type=ErrorType.EXTERNAL_SERVICE_ERROR,
        remedy=Remedy.ASK_PERSON,
        severity=FailureSeverity.HIGH,
        root_cause="The tool's machine has no room left; waiting does not make any.",
        action="Report to a person, who can make room.",
        alternative="Write less, or to another place.",
    ),
    Rule(
        id="out-of-memory",
        source="POSIX ENOMEM; Linux OOM killer (exit 137); Python MemoryError; V8 heap out of memory; SQLSTATE 53200",
        words=words(
            r"\benomem|\bout of memory|\bmemory ?error\b|\bheap (?:limit|space|out)|\bcannot allocate memory",
            r"\boom[- ]?kill|\boomkilled|\bmemory limit|\bsigkill|\bkilled\b|\bexit (?:code|status) 137",
            r"\bexited with (?:code )?137|内存(?:不足|溢出|超限)|进程被(?:杀|终止)",
        ),
        error_type=ErrorType.PARAMETER_ERROR,
        remedy=Remedy.FIX_AND_RETRY,
        severity=FailureSeverity.HIGH,
        changes=(Change.HALVE_SIZE,),
        root_cause="The call needed more memory than the tool has.",
        action="Ask for less at a time: smaller parts, fewer rows.",
    ),
    Rule(
        id="result-too-large",
        source="MCP clients' limits on results; PostgreSQL SQLSTATE 54000; gRPC message size limit",
        words=words(
            r"\b(?:response|result|output|answer|payload|message|file|content|body|request|data|"
            r"entity)s?\b.{0,40}\b(?:too (?:large|big|long)|exceeds? .{0,30}(?:size|limit|maximum|bytes|tokens|"
            r"characters))",
            r"\bmaximum allowed (?:tokens|size)|\btoo (?:large|big) to\b|\be2big\b|\bargument list too long",
            r"\btoo many (?:results|rows|records|files|matches)|\bentity too large|\bsize limit",
            r"(?:结果|响应|文件|内容|数据|请求|输出)(?:.{0,6})(?:过大|太大|过长|太长|过多|太多|超出大小)",
        ),
        error_type=ErrorType.PARAMETER_ERROR,
        remedy=Remedy.FIX_AND_RETRY,
        changes=(Change.HALVE_SIZE,),
        root_cause="More was asked for, or sent, than goes through at once.",
        action="Ask for less: a smaller limit, a narrower query, one page or one part.",
    ),
)


def _fix(name: str, source: str, *patterns: str, cause: str, action: str, alternative: str = "") -> Rule:
    return Rule(
        id=name,
        source=source,
        words=words(*patterns),
        error_type=ErrorType.PARAMETER_ERROR,
        remedy=Remedy.FIX_AND_RETRY,
        root_cause=cause,
        action=action,
        alternative=alternative,
    )


FILES = (
    _fix(
        "no-such-file",
        "POSIX ENOENT, ENOTDIR; Python FileNotFoundError; adapters/tools/builtin.py",
        r"\benoent\b|\benotdir\b|\bno such file|\bfile ?not ?found",
        r"\b(?:file|path|folder|directory)\b.{0,200}\b(?:not found|(?:does not|doesn't) exist|is missing)",
        r"\bcannot (?:open|find|stat|access) .{0,40}(?:file|path|directory|')|\bthere is no file|\bno file fits",
        r"\bnot a directory|\bcannot find the (?:file|path)|(?:文件|路径|目录|文件夹)[^。]{0,40}(?:不存在|"
        r"未找到|找不到|没有找到)",
        cause="There is no file at this path.",
        action="List the files, then use a path that is there.",
    ),
    _fix(
        "is-directory",
        "POSIX EISDIR; Python IsADirectoryError",
        r"\beisdir\b|\bis a directory|\bisadirectory|\bis not a (?:regular )?file|是(?:一个)?目录",
        cause="The path names a directory where a file is wanted.",
        action="List the directory, then name one of its files.",
    ),
    _fix(
        "file-exists",
        "POSIX EEXIST, ENOTEMPTY; Python FileExistsError",
        r"\beexist\b|\benotempty\b|\bfile ?exists|\bdirectory not empty",
        r"\b(?:file|directory|folder|path)\b.{0,200}\balready exists|文件(?:夹)?已存在|目录(?:不为空|已存在)",
        cause="Something is there already under this name.",
        action="Look at what is there; use it, or another name.",
    ),
    _fix(
        "binary-file",
        "Python UnicodeDecodeError; Unicode §3.9",
        r"\bbinary file|\bnot a text file|\bunicodedecodeerror",
        r"\bunsupported (?:file|media|image|document) (?:type|format)|\bfile type .{0,30}not supported",
        r"\bunknown (?:file|image) format|不支持(?:的)?(?:文件|图片)?(?:类型|格式)|二进制文件",
        cause="The file is not of a kind that the tool can read.",
        action="Use a tool for this kind of file, or name a file of another kind.",
    ),
)

REPOSITORIES = (
    _fix(
        "git-conflict",
        "git merge, rebase, cherry-pick and apply messages",
        r"\bmerge conflict|\bconflict \(|\bautomatic merge failed|\bfix conflicts|\bunmerged (?:files|paths)",
        r"\bpatch (?:does not apply|failed)|\bcould not apply|\bneeds merge|合并冲突|存在冲突",
        cause="Two changes touch the same lines.",
        action="Read the files that are named, settle the conflicting lines, then go on.",
        alternative="Take the merge back and make the change on the newest version.",
    ),
    _fix(
        "git-behind",
        "git push messages; RFC 9110 §15.5.10",
        r"\bnon-fast-forward|\bfetch first|\bupdates were rejected|\btip of your current branch is behind",
        r"\bfailed to push some refs|\bstale info",
        cause="The remote branch has changes that are not here.",
        action="Fetch and integrate the remote changes, then push again; do not force.",
    ),
    _fix(
        "git-dirty",
        "git checkout, rebase and pull messages",
        r"\blocal changes .{0,60}(?:would be overwritten|to the following files)|\bplease commit your changes",
        r"\bunstaged changes|\buncommitted changes|\bworking tree .{0,30}(?:dirty|not clean)",
        cause="There are changes that were not committed.",
        action="Commit the changes first, then do this again.",
    ),
    _fix(
        "git-reference",
        "git messages: not a git repository, pathspec, unknown revision, remote",
        r"\bnot a git repository|\bpathspec .{0,120}did not match|\bunknown revision|\bbad (?:revision|object)",
        r"\bambiguous argument|\brepository .{0,120}not found|\bcouldn't find remote ref",
        r"\bnot a valid (?:object|ref)|\binvalid reference|\bno such (?:remote|branch|ref)",
        r"\bdoes not appear to be a git repo|\bsrc refspec|\bdid not match any file|不是(?:一个)?\s?git\s?仓库",
        r"(?:分支|仓库|提交)[^。]{0,30}(?:不存在|未找到|找不到)",
        cause="The folder, branch or commit that is named is not there.",
        action="List the branches and look at the working folder, then name one that is there.",
    ),
    _fix(
        "git-nothing",
        "git commit messages",
        r"\bnothing to commit|\bnothing added to commit|\bno changes (?:added|to commit)",
        r"\balready up[- ]to[- ]date|\bno staged|没有(?:可提交|需要提交)",
        cause="There is nothing to do: no file was changed.",
        action="Change a file first, or go on: the state may be as wanted already.",
    ),
)

DATABASES = (
    _fix(
        "sql-unknown",
        "PostgreSQL appendix A: SQLSTATE 42703, 42P01, 42883, 3F000, 3D000; MySQL 1054, 1146, 1049; SQLite messages",
        r"\b(?:column|relation|table|view|schema|database|collection|index|field|"
        r"role)\b.{0,120}\b(?:does not exist|doesn't exist|not found)",
        r"\bno such (?:table|column|function|index|collection)|\bunknown (?:column|table|database|collection)",
        r"\binvalid (?:column|object) name|\bundefined ?(?:column|table|function)",
        r"\bno (?:function|operator) matches|\b42(?:703|p01|883|s02|s22)\b",
        r"(?:列|表|字段|数据库|视图)[^。]{0,40}(?:不存在|未找到|找不到)|未知(?:的)?(?:列|表)",
        cause="The query names a table or a column that there is none of.",
        action="Read the schema, then name what is there.",
    ),
    _fix(
        "sql-syntax",
        "PostgreSQL appendix A: SQLSTATE 42601, 42803; MySQL 1064; SQLite messages",
        r"\bsyntax error at or near|\berror in your sql syntax|\bnear \".{0,60}\": syntax|\b42(?:601|803|p18)\b",
        r"\bincomplete input\b|\bmust appear in the group by|\bambiguous column",
        r"\bcolumn reference .{0,80}is ambiguous|\baggregate functions are not|\bsql\s?syntax|\bsqlparse",
        r"\bunrecognized token|sql\s?(?:语法|语句)(?:.{0,4})(?:错误|有误)",
        cause="The SQL is not valid for this database.",
        action="Correct the SQL at the place that is named.",
    ),
    _fix(
        "sql-unique",
        "PostgreSQL appendix A: SQLSTATE 23505; MySQL 1062; MongoDB E11000; SQLite UNIQUE constraint",
        r"\bduplicate (?:key|entry|value|record)|\bunique (?:constraint|violation|index)",
        r"\bintegrityerror.{0,60}unique|\b23505\b|\be11000\b",
        r"\balready (?:exists|registered|taken|in use|added|subscribed)|\bis a duplicate|\balready_exists",
        r"\bmust be unique|已(?:经)?存在|(?:主键|键|记录|数据|名称)?重复|唯一(?:性)?约束|已被(?:占用|注册|使用)",
        cause="The same is there already.",
        action="Look at what is there; update or use it, or give another key.",
    ),
    _fix(
        "sql-foreign",
        "PostgreSQL appendix A: SQLSTATE 23503; MySQL 1451, 1452",
        r"\bforeign key|\b23503\b|\bis still referenced|\breferential integrity|\bis referenced by|外键(?:约束)?",
        cause="What is referred to is not there, or is still referred to.",
        action="Create or name the row that is referred to first; when deleting, remove what refers to it first.",
    ),
    _fix(
        "sql-constraint",
        "PostgreSQL appendix A: SQLSTATE classes 22 and 23; MySQL 1048, 1265, 1366, 1406",
        r"\bnot[- ]null constraint|\bnull value in column|\bcheck constraint|\bconstraint (?:failed|violat)",
        r"\bintegrity ?(?:error|constraint)|\b(?:22001|22003|22007|22008|22p02|23502|23514)\b|\bdata too long",
        r"\bincorrect .{1,30} value|\bout of range value|\bvalue too long for|\binvalid input syntax",
        r"\bnumeric field overflow|\bdatatype mismatch|约束(?:冲突|失败|错误)|违反(?:.{0,10})约束|数据(?:过长|"
        r"类型不匹配)",
        cause="A value breaks a constraint of the table.",
        action="Correct the value that is named, after the table's schema.",
    ),
)
