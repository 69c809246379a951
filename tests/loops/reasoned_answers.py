"""Answers as models reason in them: each with what its answer is, and words that have to be among its reasoning."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reasoned:
    name: str
    text: str
    answer: str
    reasoning: tuple[str, ...]


WORK = "Dear Ms Okafor,\n\nYour parcel left Leeds on Tuesday.\n\nKind regards"
REASONED = [
    Reasoned("think tag", f"<think>\nShe asks where it is.\nTuesday, Leeds.\n</think>\n\n{WORK}", WORK, ("She asks",)),
    Reasoned("thinking tag", f"<thinking>Who asks? A customer.</thinking>\n{WORK}", WORK, ("A customer",)),
    Reasoned("no opening tag", f"The parcel is hers.\nSo be kind.\n</think>\n{WORK}", WORK, ("The parcel is hers",)),
    Reasoned(
        "both tags",
        f"<reasoning>\n1. Find the parcel.\n2. Say where it is.\n</reasoning>\n<answer>\n{WORK}\n</answer>",
        WORK,
        ("Find the parcel.", "Say where it is."),
    ),
    Reasoned(
        "scratchpad and final",
        f"<scratchpad>tracking says Leeds</scratchpad>\n<final_answer>{WORK}</final_answer>",
        WORK,
        ("tracking says Leeds",),
    ),
    Reasoned(
        "begin and end",
        f"<|begin_of_thought|>\nIs it late?\n<|end_of_thought|>\n<|begin_of_solution|>\n{WORK}\n<|end_of_solution|>",
        WORK,
        ("Is it late?",),
    ),
    Reasoned(
        "channels",
        f"<|channel|>analysis<|message|>User wants status.<|end|><|start|>assistant<|channel|>final<|message|>{WORK}",
        WORK,
        ("User wants status.",),
    ),
    Reasoned("brackets", f"[THINK]It is in Leeds.[/THINK]{WORK}", WORK, ("It is in Leeds.",)),
    Reasoned("triangles", f"◁think▷先看物流。◁/think▷{WORK}", WORK, ("先看物流。",)),
    Reasoned("two headings", f"## Thought\nA late parcel.\n\n## Answer\n{WORK}", WORK, ("A late parcel.",)),
    Reasoned(
        "bold labels", f"**Reasoning:** It left on Tuesday.\n\n**Answer:** {WORK}", WORK, ("It left on Tuesday.",)
    ),
    Reasoned("bold, colon outside", f"**Reasoning**: Leeds.\n\n**Final Answer**:\n{WORK}", WORK, ("Leeds.",)),
    Reasoned(
        "step by step",
        "Let me think step by step. A box holds 12. There are 3 boxes, so 36.\n\nTwo are broken: 36 - 2 = 34.\n\n"
        "Answer: 34",
        "34",
        ("A box holds 12.", "36 - 2 = 34"),
    ),
    Reasoned(
        "counted steps",
        "Step 1: Count the boxes, there are 3.\nStep 2: Multiply by 12.\nStep 3: Take away 2.\n\nFinal answer: 34",
        "34",
        ("Count the boxes", "Multiply by 12.", "Take away 2."),
    ),
    Reasoned(
        "acting in turns",
        'Thought: I need the tracking number.\nAction: lookup\nAction Input: {"name": "Okafor"}\n'
        f"Observation: left Leeds on Tuesday\nThought: I know now.\nFinal Answer: {WORK}",
        WORK,
        ("I need the tracking number.", "left Leeds on Tuesday", "I know now."),
    ),
    Reasoned("思考 答案", f"思考：包裹周二离开利兹。\n答案：{WORK}", WORK, ("包裹周二离开利兹。",)),
    Reasoned("brackets 思路 回答", f"【思路】\n先查物流，再回信。\n【最终答案】\n{WORK}", WORK, ("先查物流",)),
    Reasoned(
        "chinese steps",
        "第一步：数箱子，共3个。\n第二步：每箱12个，共36个。\n\n最终答案：34",
        "34",
        ("数箱子", "每箱12个"),
    ),
    Reasoned("json", '{"reasoning": "Three boxes of twelve.", "answer": "34"}', "34", ("Three boxes of twelve.",)),
    Reasoned(
        "fenced json of steps",
        '```json\n{"steps": ["3 boxes", "12 each"], "final_answer": 36}\n```',
        "36",
        ("3 boxes", "12 each"),
    ),
    Reasoned("german", f"### Überlegung\nEs ging am Dienstag ab.\n\n### Antwort\n{WORK}", WORK, ("am Dienstag",)),
    Reasoned("spanish", f"**Razonamiento:** salió el martes.\n\n**Respuesta:** {WORK}", WORK, ("el martes",)),
    Reasoned("french", f"Raisonnement : parti mardi.\n\nRéponse : {WORK}", WORK, ("parti mardi",)),
    Reasoned("japanese", f"## 考え方\n火曜日に出た。\n## 回答\n{WORK}", WORK, ("火曜日に出た。",)),
    Reasoned("answer first", "**Answer:** 34\n\n**Explanation:** 36 less 2.", "34", ("36 less 2.",)),
    Reasoned("four hashes", "3 boxes hold 36.\nTwo are broken, 34 are left.\n#### 34", "34", ("34 are left.",)),
    Reasoned(
        "tags inside of the work",
        "<think>The form needs a name.</think>\n<form><answer>yes</answer></form>",
        "<form><answer>yes</answer></form>",
        ("needs a name",),
    ),
    Reasoned(
        "folded away", f"<details><summary>Reasoning</summary>\n\nA box.\n</details>\n\n{WORK}", WORK, ("A box.",)
    ),
    Reasoned("conclusion", "3 boxes hold 36.\n\nSo the answer is 34.", "So the answer is 34.", ("3 boxes hold 36.",)),
    Reasoned("结论", "推理过程：共36个。\n\n因此，答案是：34", "因此，答案是：34", ("共36个。",)),
    Reasoned("fenced", f"```thinking\nA box.\n```\n\n{WORK}", WORK, ("A box.",)),
    Reasoned("terminal", f"Thinking...\nA box.\n...done thinking.\n\n{WORK}", WORK, ("A box.",)),
    Reasoned("pipes", f"<|thinking|>A box.<|/thinking|>{WORK}", WORK, ("A box.",)),
    Reasoned("dashes", f"Rationale - A box.\nAnswer - {WORK}", WORK, ("A box.",)),
    Reasoned(
        "thoughts in between",
        "<think>first part</think>\nPart one.\n\n<think>second part</think>\nPart two.",
        "Part one.\n\nPart two.",
        ("first part", "second part"),
    ),
]
# The five parts that are asked for, in other layouts than headings of Markdown in English.
FIVE = [
    "<understand>a</understand>\n<analyze>b</analyze>\n<plan>c</plan>\n<execute>d</execute>\n<verify>e</verify>",
    (
        "<understanding>\na\n</understanding>\n<analysis>\nb\n</analysis>\n<plan>\nc\n</plan>\n<execution>\nd\n"
        "</execution>\n<verification>\ne\n</verification>"
    ),
    '{"understand": "a", "analyze": "b", "plan": "c", "execute": "d", "verify": "e"}',
    '```json\n{"Understand": "a", "Analyze": "b", "Plan": "c", "Execute": "d", "Verify": "e"}\n```',
    "[Understand]\na\n[Analyze]\nb\n[Plan]\nc\n[Execute]\nd\n[Verify]\ne",
    "=== Understand ===\na\n=== Analyze ===\nb\n=== Plan ===\nc\n=== Execute ===\nd\n=== Verify ===\ne",
    "<h2>Understand</h2>\na\n<h2>Analyze</h2>\nb\n<h2>Plan</h2>\nc\n<h2>Execute</h2>\nd\n<h2>Verify</h2>\ne",
    "*Understand*\na\n\n*Analyze*\nb\n\n*Plan*\nc\n\n*Execute*\nd\n\n*Verify*\ne",
    (
        "<think>## Execute\nnot this\n## Plan\nnor this</think>\n"
        "## Understand\na\n## Analyze\nb\n## Plan\nc\n## Execute\nd\n## Verify\ne"
    ),
    "## Comprender\na\n## Analizar\nb\n## Planificar\nc\n## Ejecutar\nd\n## Verificar\ne",
    "## Verstehen\na\n## Analysieren\nb\n## Planen\nc\n## Ausführen\nd\n## Überprüfen\ne",
    "## Comprendre\na\n## Analyser\nb\n## Planifier\nc\n## Exécuter\nd\n## Vérifier\ne",
    "## Понимание\na\n## Анализ\nb\n## План\nc\n## Выполнение\nd\n## Проверка\ne",
    "## 理解\na\n## 分析\nb\n## 計画\nc\n## 実行\nd\n## 検証\ne",
    "## 이해\na\n## 분석\nb\n## 계획\nc\n## 실행\nd\n## 검증\ne",
    "**理解**\na\n**分析**\nb\n**規劃**\nc\n**執行**\nd\n**驗證**\ne",
    "### Compreender a tarefa\na\n### Analisar\nb\n### Planejar\nc\n### Executar\nd\n### Verificar\ne",
    "> **Understand:** a\n> **Analyze:** b\n> **Plan:** c\n> **Execute:** d\n> **Verify:** e",
    "Understand → a\nAnalyze → b\nPlan → c\nExecute → d\nVerify → e",
    "Phase One: Understand\na\nPhase Two: Analyze\nb\nPart Three: Plan\nc\nPart Four: Execute\nd\nPart Five: Verify\ne",
]
# Nothing in these is a layout; the whole of each is the answer.
WHOLE = [
    "<think>I never come to an end",
    "</think>",
    "<think></think>",
    "<think>42</think>",
    "<answer>",
    "a < b and b > c; see <think> in the manual",
    "Write <think> at the start.\nAnswer the question.",
    "Question 1: why?\nAnswer: because.\n\nQuestion 2: how?\nAnswer: so.",
    "The essay begins.\n\n## Conclusion\nIt ends.",
    "```xml\n<think>x</think>\n<answer>y</answer>\n```",
    '{"reasoning": "only that"}',
    '[{"reasoning": "a", "answer": "b"}, {"reasoning": "c", "answer": "d"}]',
    "1. Preheat the oven.\n2. Mix.\n3. Bake.",
    "Thought: a philosophical word.",
    "Answer:",
    "Reasoning:\nAnswer:",
    "```thinking\nhalf open",
    "Thinking...\nhalf open",
    "<details><summary>Reasoning</summary>\nall of it</details>",
]
