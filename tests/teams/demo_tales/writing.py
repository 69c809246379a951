"""Texts that a critic judges: replies to customers, product copy, summaries, translations, SQL."""

from tests.teams.demo_tales.tale import Fault, Tale

SUPPORT = "support-writer"
COPY = "copywriter"
ANALYST = "sql-analyst"
TRANSLATOR = "译者"

TALES = (
    Tale(
        name="late-parcel",
        agent=SUPPORT,
        kind="creative_writing",
        objective="Reply to Ms Okafor, whose espresso machine (order 48213) should have come last Friday. The carrier "
        "says: held at the depot in Leipzig, delivery on Thursday. We may offer free express on her next order.",
        good="Dear Ms Okafor,\n\nyour espresso machine (order 48213) is late, and I am sorry for that. The carrier "
        "held "
        "it at the depot in Leipzig; it will be with you on Thursday. You need not do anything: we watch the parcel "
        "and write to you on Thursday evening, whatever happens.\n\nYour next order travels by express at our cost.\n\n"
        "Kind regards\nMara, customer care",
        flawed="Dear customer,\n\nunfortunately there has been a delay with your order. Such things happen at this "
        "time "
        "of year. Please be patient, your parcel will arrive soon.\n\nKind regards\nCustomer care",
        faults=(
            Fault("It names no day, though the carrier gave one: Thursday.", "Say on which day the parcel comes."),
            Fault(
                "“Dear customer” and “such things happen” read like a form.",
                "Use her name and own the delay.",
                category="quality",
                severity="medium",
            ),
        ),
        praise="Says what happens next, on which day, and who watches it.",
        complaint="She still does not know when it comes, and the offer of express is missing. I would not send this.",
        approval="Short, honest, with a day. Send it.",
        vary={
            "Ms Okafor": ("Mr Lindqvist", "Ms Brandt", "Mr Achterberg", "Ms Ferreira", "Mr Novak", "Ms Haddad"),
            "espresso machine": ("desk lamp", "garden bench", "sewing machine", "record player", "bread oven"),
            "48213": ("48377", "48902", "49015", "49118", "49340", "49671", "49802"),
            "Leipzig": ("Rotterdam", "Lyon", "Poznań", "Graz", "Malmö"),
        },
    ),
    Tale(
        name="ticket-summary",
        agent=SUPPORT,
        kind="summarisation",
        objective="Summarise this ticket thread for the engineer on call, at most five lines, with what was tried: "
        "customer Halden Rail cannot export invoices since Tuesday; error EXP-41; restarted twice; works for users "
        "without a department; support suspects the new department filter.",
        good="Customer: Halden Rail. Symptom: the invoice export fails with EXP-41 since Tuesday.\nWho: only users "
        "that "
        "have a department; all others export as before.\nTried: two restarts, no change.\nSuspected: the new "
        "department filter, live since Tuesday.\nNext: compare the export's query with and without a department.",
        flawed="The customer has problems with the export. Support restarted the system and it did not help. They "
        "think "
        "a filter might be the reason. Please have a look soon because the customer is unhappy.",
        faults=(
            Fault("The error code EXP-41 is missing.", "Name the error code: the engineer searches by it."),
            Fault("It does not say that users without a department are not affected.", "Say whom it concerns."),
        ),
        praise="Everything an engineer needs before opening the log.",
        complaint="Without the error code and the users concerned I had to read the whole thread myself.",
        approval="That is what I need at three in the morning.",
        task={"mode": "actor_critic"},
        vary={
            "Halden Rail": (
                "Brightwater Foods",
                "Orsa Logistics",
                "Kestrel Insurance",
                "Nordhus Bygg",
                "Ateliers Roux",
            ),
            "invoices": ("delivery notes", "timesheets", "payslips", "purchase orders"),
            "EXP-41": ("EXP-17", "EXP-52", "API-403", "PDF-09"),
            "Tuesday": ("Monday", "Wednesday", "the release of the 12th"),
        },
    ),
    Tale(
        name="refund-policy",
        agent=SUPPORT,
        kind="creative_writing",
        objective="A customer asks whether she can return opened coffee beans bought 9 days ago. Policy: opened food "
        "cannot be returned; if its quality is at fault, we refund without a return. Answer in at most 90 words.",
        good="Thank you for asking before sending them. Opened coffee beans cannot come back to us, because they "
        "are food. "
        "If something is wrong with them, though, you need not return anything: tell us what you noticed (a photo "
        "helps) and we refund the price within three working days.\n\nDid they taste stale, or was it another reason?",
        flawed="Yes, of course! You can return any product within 30 days, no questions asked. Just put the beans into "
        "the box and send them back, we refund the full price as soon as they arrive.",
        faults=(
            Fault(
                "It promises a return that the policy rules out: opened food cannot be returned.",
                "Say that opened food cannot be returned.",
                category="correctness",
                severity="critical",
            ),
            Fault(
                "The refund without a return, where quality is at fault, is not mentioned.",
                "Offer it and ask what was wrong.",
            ),
        ),
        praise="Follows the policy and still leaves the customer a way.",
        complaint="It promises the opposite of our policy. We would have to honour that.",
        approval="Correct by the policy, and kind.",
        vary={
            "coffee beans": ("baby formula", "protein powder", "dog food", "tea"),
            "9 days": ("5 days", "12 days", "three weeks"),
            "90 words": ("80 words", "100 words"),
        },
    ),
    Tale(
        name="outage-notice",
        agent=SUPPORT,
        kind="creative_writing",
        objective="Write the status-page notice: the search was unavailable from 09:12 to 09:47 UTC for customers "
        "in the "
        "EU region. Cause: a full disk on an index node. Nothing was lost. No blame, no promises about the future.",
        good="Search was unavailable for customers in the EU region from 09:12 to 09:47 UTC today. The disk of an "
        "index "
        "node was full, and searches that met it failed. We freed the disk at 09:44 and checked all nodes. No data "
        "was lost; searches work as before.\n\nWe are sorry for the interruption.",
        flawed="We experienced some issues with our search this morning. Our hosting partner made a mistake, which "
        "will "
        "never happen again. Everything is fine now!",
        faults=(
            Fault("Times and region are missing.", "Give 09:12 to 09:47 UTC and name the EU region."),
            Fault(
                "It blames the hosting partner and promises that it never happens again; both were ruled out.",
                "Leave out blame and promises.",
                category="correctness",
                severity="critical",
            ),
        ),
        praise="Times, region, cause and effect, in five sentences.",
        complaint="It blames somebody who had nothing to do with it.",
        approval="Plain and complete.",
        vary={
            "09:12": ("07:03", "13:40", "16:21"),
            "09:47": ("07:31", "14:05", "16:58"),
            "09:44": ("07:29", "14:01", "16:55"),
            "EU": ("US", "APAC", "Nordic"),
        },
    ),
    Tale(
        name="product-copy",
        agent=COPY,
        kind="creative_writing",
        objective="Product text for the shop, 60–80 words: “Aster” reading lamp, brass, dimmable from 2 to 8 W, arm of "
        "62 cm, warm light of 2700 K. For people who read in bed. No superlatives.",
        good="Aster is a reading lamp for the side of the bed. Its brass arm reaches 62 cm, far enough for the page "
        "and "
        "not for your neighbour's eyes. The light is warm, 2700 K, and dims from 8 W down to 2 W: enough for the last "
        "chapter, and little enough for the last page. A small wheel under the shade turns it off without looking.",
        flawed="The most beautiful reading lamp you will ever own! Aster is the perfect companion for unforgettable "
        "evenings. Its stunning design and superior quality will simply amaze you. Order now!",
        faults=(
            Fault(
                "It consists of superlatives, which the task rules out.",
                "Describe what the lamp does.",
                category="quality",
            ),
            Fault("Size, light and power are missing.", "Name 62 cm, 2700 K and 2 to 8 W."),
        ),
        praise="Every figure is there, and it sounds like a person.",
        complaint="Brand rule one: no superlatives. And a customer cannot tell how long the arm is.",
        approval="Good. The wheel under the shade is a nice touch.",
        vary={
            "Aster": ("Linnea", "Corvo", "Halma", "Sorrel"),
            "brass": ("oak", "black steel", "white aluminium"),
            "62 cm": ("48 cm", "55 cm", "71 cm"),
            "2700 K": ("2400 K", "3000 K"),
        },
    ),
    Tale(
        name="newsletter-subject",
        agent=COPY,
        kind="creative_writing",
        objective="Five subject lines for the newsletter about the autumn sale of hiking boots (–20 % until "
        "Sunday). At "
        "most 45 characters each, no capitals for emphasis, no exclamation marks.",
        good="1. 20 % off hiking boots until Sunday\n2. Dry feet for October, 20 % less\n3. The boots you looked at "
        "are 20 % "
        "less\n4. Until Sunday: boots for wet paths\n5. Autumn walks, with 20 % off the boots",
        flawed="1. HUGE SALE on hiking boots!!!\n2. Don't miss out: the best offers of the whole year are waiting for "
        "you\n3. Boots, boots, boots!\n4. Last chance!!!\n5. 20 % off",
        faults=(
            Fault(
                "Capitals and exclamation marks, which the task rules out, in three of five lines.",
                "Remove them.",
                category="format",
            ),
            Fault("Line 2 has 74 characters.", "Keep to 45 characters.", category="format", severity="medium"),
        ),
        praise="All within 45 characters, each with a reason to open it.",
        complaint="Half of these would land in spam.",
        approval="Number 2 it is.",
        vary={
            "hiking boots": ("rain jackets", "trail shoes", "down vests", "trekking poles"),
            "20 %": ("15 %", "25 %", "30 %"),
            "Sunday": ("Monday", "Saturday night"),
        },
    ),
    Tale(
        name="churn-query",
        agent=ANALYST,
        kind="sql",
        objective="PostgreSQL: for each month of 2026, how many customers ordered in the month before and not in this "
        "one? Tables: orders(id, customer_id, placed_at timestamptz). Months without any must show 0. Time zone "
        "Berlin.",
        good="```sql\nWITH months AS (\n  SELECT generate_series(date '2026-01-01', date '2026-12-01', interval '1 "
        "month')::date "
        "AS month\n), active AS (\n  SELECT DISTINCT customer_id,\n         date_trunc('month', placed_at AT TIME ZONE "
        "'Europe/Berlin')::date AS month\n  FROM orders\n)\nSELECT m.month, count(before.customer_id) FILTER (WHERE "
        "now.customer_id IS "
        "NULL) AS lost\nFROM months m\nLEFT JOIN active before ON before.month = m.month - interval '1 month'\nLEFT "
        "JOIN "
        "active now ON now.month = m.month AND now.customer_id = before.customer_id\nGROUP BY m.month ORDER BY "
        "m.month;\n```",
        flawed="```sql\nSELECT date_trunc('month', placed_at) AS month, count(DISTINCT customer_id) AS lost\nFROM "
        "orders\n"
        "WHERE placed_at >= '2026-01-01' AND customer_id NOT IN (SELECT customer_id FROM orders)\nGROUP BY 1;\n```",
        faults=(
            Fault(
                "NOT IN over the same table is never true, so every month counts 0.",
                "Join each month with the one before.",
                category="correctness",
                severity="critical",
            ),
            Fault(
                "Months without orders are missing, and the time zone is ignored.",
                "Start from generate_series and convert to Europe/Berlin.",
                category="correctness",
            ),
        ),
        praise="Months come from a series, the zone is converted before truncating.",
        complaint="I ran it: all zeros. And it ignores Berlin time, which moves orders of New Year's Eve.",
        approval="Checked against March by hand: 212 lost, the same.",
        task={"mode": "actor_critic"},
        vary={
            "customers": ("subscribers", "accounts", "shops"),
            "2026": ("2025",),
        },
    ),
    Tale(
        name="slow-report",
        agent=ANALYST,
        kind="sql",
        objective="This report takes 40 s: SELECT * FROM events WHERE date(created_at) = '2026-10-02' AND "
        "account_id = 71. "
        "There is an index on (account_id, created_at). Why is it slow, and what is the query that uses the index?",
        good="`date(created_at)` is computed for every row, so the index can only narrow by account and the day is "
        "filtered afterwards. Compare the column itself with a half-open range:\n\n```sql\nSELECT id, type, "
        "created_at\n"
        "FROM events\nWHERE account_id = 71\n  AND created_at >= timestamptz '2026-10-02'\n  AND created_at < "
        "timestamptz "
        "'2026-10-03';\n```\n\nBoth conditions then stand in the index (`Index Cond` in EXPLAIN). Name the columns "
        "instead of "
        "`*`: wide rows were most of the 40 s.",
        flawed="The table is probably too large. You should add an index on date(created_at), use a faster disk or "
        "partition the table by day. Caching the report would help, too.",
        faults=(
            Fault(
                "It does not say why the index there is cannot be used: date() hides the column.",
                "Explain the function on the column.",
                category="correctness",
            ),
            Fault("The query that was asked for is missing.", "Give the query with a half-open range."),
        ),
        praise="Names the cause and shows how EXPLAIN confirms it.",
        complaint="We asked for the query. This is a list of guesses.",
        approval="From 40 s to 90 ms here.",
        task={"mode": "actor_critic"},
        vary={
            "40 s": ("25 s", "70 s", "two minutes"),
            "events": ("page_views", "audit_rows", "shipments"),
            "account_id = 71": ("account_id = 1204", "account_id = 88", "account_id = 530"),
        },
    ),
    Tale(
        name="release-note-zh",
        agent=TRANSLATOR,
        kind="translation",
        objective="把这条更新说明译成中文，给最终用户看，不超过 60 字：“You can now export runs as CSV with the "
        "filters you "
        "have set. Old API keys (k_…) stop working on 1 December; create a new one in the settings.”",
        good="现在可以按已设置的筛选条件把运行导出为 CSV。旧的 API 密钥（以 k_ 开头）将于 12 月 1 日失效，"
        "请在设置中新建密钥。",
        flawed="您现在可以导出运行作为 CSV 与您已经设置的过滤器。旧 API 钥匙将停止工作在 12 月 1 日。",
        faults=(
            Fault("逐字翻译，语序不通：“导出运行作为 CSV 与……过滤器”。", "改成自然的中文语序。", category="quality"),
            Fault("漏译“create a new one in the settings”，用户不知道该怎么做。", "补上“请在设置中新建密钥”。"),
        ),
        praise="语句自然，期限和办法都在。",
        complaint="“钥匙”是误译，用户也不知道下一步做什么。",
        approval="可以发布。",
        task={"mode": "actor_critic"},
        vary={
            "CSV": ("JSONL", "Excel", "PDF"),
            "12 月 1 日": ("12 月 15 日", "1 月 1 日", "11 月 30 日"),
            "1 December": ("15 December", "1 January", "30 November"),
        },
    ),
    Tale(
        name="ui-strings-de",
        agent="localiser",
        kind="translation",
        objective="Translate the button labels into German, formal, at most 20 characters each: Save draft / Send for "
        "review / Take back / Keep both. Answer as a list “English = German”.",
        good="Save draft = Entwurf speichern\nSend for review = Zur Prüfung geben\nTake back = Zurücknehmen\nKeep "
        "both = "
        "Beide behalten",
        flawed="Save draft = Speichere deinen Entwurf\nSend for review = Senden für Rezension\nTake back = Nimm "
        "zurück\nKeep "
        "both = Behalte beide",
        faults=(
            Fault(
                "Informal imperatives (“deinen”, “Nimm”), though formal was asked for.",
                "Use infinitives, as German interfaces do.",
                category="quality",
            ),
            Fault(
                "“Senden für Rezension” is word for word, and a Rezension is a book review.",
                "Zur Prüfung geben.",
                category="correctness",
            ),
        ),
        praise="Infinitives throughout, all within 20 characters.",
        complaint="“Rezension” would make our users laugh.",
        approval="Passt.",
        task={"mode": "actor_critic"},
        vary={"Save draft": ("Save draft",), "20 characters": ("22 characters", "24 characters")},
    ),
    Tale(
        name="meeting-notes",
        agent="note-taker",
        kind="summarisation",
        objective="From these notes, list decisions and who does what by when: “Anna: launch moves to 14 May, Raj "
        "agrees. "
        "Raj asks legal about the terms until Friday. Pricing still open, Mei brings two variants next week.”",
        good="Decisions\n- The launch moves to 14 May (Anna, Raj).\n\nTo do\n- Raj: ask legal about the terms, "
        "until Friday\n- "
        "Mei: bring two pricing variants, next week\n\nOpen\n- Pricing",
        flawed="Decisions\n- The launch moves to 14 May.\n- The price stays as it is.\n\nTo do\n- Anna: ask legal "
        "about the "
        "terms, until Friday",
        faults=(
            Fault(
                "It says that the price stays; the notes say that pricing is open.",
                "List pricing as open.",
                category="correctness",
                severity="critical",
            ),
            Fault(
                "The question to legal is Raj's, not Anna's, and Mei's variants are missing.",
                "Give each task to whom the notes give it.",
                category="correctness",
            ),
        ),
        praise="Decisions, tasks and what is open are kept apart.",
        complaint="It invents a decision about the price. That is the worst thing minutes can do.",
        approval="All three people and dates are right.",
        task={"mode": "actor_critic"},
        vary={
            "14 May": ("3 June", "21 May", "9 September"),
            "Raj": ("Tomás", "Ingrid", "Dmitri"),
            "Mei": ("Sofia", "Kwame", "Yuki"),
        },
    ),
)
