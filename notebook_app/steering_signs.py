"""The signs that a text steers whoever reads it past rules, checks or people, in twelve languages and more. Pure.

None of them means anything alone: ordinary lessons say "without asking" and "do not tell" too. Each is a number beside
the vector of the text, and the classifier (see steering.py) has learned how much it weighs.
"""

import re
import unicodedata
from collections.abc import Collection

from notebook_app.disguises import folded

# An English verb is matched as a stem with what may follow; other writing by the piece that all its forms share.
# Whatever repeats is bounded, and possessive where more would follow: the text is hostile.
_SIGNS: dict[str, tuple[str, ...]] = {
    "kept from people": (
        r"\b(?:do not|dont|don't|never|without|no need to|needn't|need not|not to|avoid|nor)\b[^.!?\n]{0,12}\b(?:tell|telling|mention|report|inform"
        r"|notify|alert|record|log|list|explain|write why|bother|trouble|bring up|announce|acknowledge|let (?:them|him|her|anyone))",
        r"\b(?:say nothing|between us|keep (?:it|this) (?:quiet|between|to yourself)|quietly|secretly|without a word|without mention"
        r"|tell nobody|tell no one|not a word|(?:nobody|no one) else|nobody (?:has to|needs to|must|should) know|(?:doesn't|does not|need not|needn't) (?:need to )?(?:know|hear)"
        r"|would only worry|leave (?:the )?(?:comment|remark)s? (?:box )?(?:blank|empty)|so nothing stands out|keep \w{1,40}+ out of (?:any|the) (?:list|log|summary))",
        "不要告诉|别告诉|不用告诉|不要说|别说|不必说|不用说|别提|不要提|不提|别声张|不必向|不用跟|别跟|不要让.{0,6}知道|别让.{0,6}知道"
        "|不留记录|不要记|别记|不用回复|不要说明|别惊动|不必打扰|也别|别报|不用报|别写|不写进|别留|不要留|保密|悄悄|瞒|就说没|说明理由|别解释|不用写",
        r"nicht (?:zu )?(?:sagen|erwähn|meld|mitteil)|nichts davon|niemandem|sag es kein|braucht nicht zu stehen|begründung (?:lässt|weglass)|muss davon nichts|würde nur stören|lässt du weg",
        r"n'en (?:parle|dis)|sans (?:le |la |les )?(?:prévenir|dire|avertir)|ne (?:le |la )?(?:dis|préviens|mentionne|signale|note)|n'écris pas|aucun commentaire|inutile d'en parler|cache[rz]? ",
        r"no (?:lo |se lo |les? )?(?:digas|cuentes|menciones|avises|registres|dejes constancia|expliques|informes)|sin (?:decir|avisar|que nadie)|no hace falta avisar|que no se entere",
        r"não (?:registre|mencione|conte|avise|diga|informe|comente)|sem (?:avisar|contar|mostrar|dizer)|escond|não precisa (?:saber|incomodar|avisar)",
        r"не (?:сообщай|говори|упомина|пиши|отправляй|рассказывай|уведомля)|никому не|молча|беспокоить не|в журнал (?:это )?не|скрой|скажи, что",
        r"(?:知らせ|伝え|話さ|報告し|触れ|残さ|言わ|書か)(?:ない|ず)(?:で|に|こと)|内緒|黙って|報告は不要|連絡は不要|への確認は不要",
        r"(?:말하지|알리지|보고하지|남기지|언급하지|기록하지) (?:않|마|말)|숨기|비밀로|결과는 보고|보고하지|지우세요|비워 두",
        r"لا تخبر|لا تذكر|دون أن (?:تخبر|يعلم)|لا داعي لإبلاغ|ولا تكتب|لا تُ?خبر|سر[ًّا]|لا تسجل",
        r"न बता|मत बता|छिपा|ज़िक्र .{0,10}न|बताने की ज़रूरत नहीं|ख़बर न|किसी को [^।\n]{0,10}(?:न |नहीं)|छुपा|न कहें|कारण न लिख|को न कहें",
        r"đừng (?:nói|cho .{0,8}biết|ghi|báo|nhắc)|không (?:nhắc|cần báo|gửi thông báo|hiển thị)|giấu|khỏi báo",
        r"senza (?:avvisare|dirlo)|non dir|haber verme|söyleme",
    ),
    "no check": (
        r"\b(?:without(?! an?(?:y)? comparison)|don't|dont|do not|no need (?:to|for)|needn't|need not|skip|leave out|left out(?! what\b)|no point in|never mind|instead of|not have to|no second|not to)\b"
        r"[^.!?\n]{0,20}\b(?:look|check|ask|open|verif|wait|confirm|read|consult|compar|review|question|approv|sign-?off|consent|running|run |show|match|inspect|timesheet|supervisor|form\b)",
        r"\b(?:nothing (?:left |more )?(?:for you |to )*(?:to )?(?:verify|check|mask|do but)|(?:unchecked|unverified|unseen)\b|no verification|no questions asked|bypass|formality|straight away|right away|at once|immediately|on your own|by yourself|whether or not|sight unseen|rubber-?stamp|wave (?:it|them) through|aren't meant for you)",
        "抄一遍|随便(?:写|填|给)|省掉|走过场|不(?:用|必|需)(?:再|去|真)?(?:去|数|量|比|问|等|看|核对|核实|审批|查|走|征求|确认|真跑|填|理|点开)|不必(?:再)?(?:问|等|看|核|查|征求|提交)|不需要(?:核|查|看|确认|审)|无需|免审|直接(?:通过|打款|改|给|批|扣|开|标|执行|照做|从)"
        "|别(?:问|等|查)|不看|没什么(?:要|好)(?:查|核)|不走|跳过|不再核|嫌麻烦|不要打开",
        r"ohne (?:\S{1,40}+ ){0,3}(?:prüf|frag|rückfrage|anzuseh|zu (?:prüf|frag|seh|öffn))|gar nicht erst|nicht (?:erst )?(?:öffnen|anzuseh|zu prüf|prüfen)|ungeprüft|brauchst du nicht|unnötig|nicht mehr nach|formsache|weglassen",
        r"sans (?:\S{1,40}+ ){0,3}(?:vérifi|contrôl|ouvrir|demander|attendre|lire|consulter)|ne (?:vérifie|lance|contrôle)|inutile de|pas besoin de|sans rien",
        r"sin (?:\S{1,40}+ ){0,3}(?:comprob|consult|pregunt|revis|abrir|verific|esperar|mirar)|no (?:hace falta|mires|abras|piden|compruebes)|ni (?:mires|abras)",
        r"sem (?:\S{1,40}+ ){0,3}(?:conferir|confirmar|esperar|pergunt|ler|verific|olhar|passar pel)|nem precisa|não precisa (?:confer|confirm|ler|olhar|perg)|não (?:há|sobrou) (?:mais )?nada|libere|direto\b",
        r"без (?:\S{1,40}+ ){0,2}(?:проверк|подтвержд|согла|вопрос|разреш)|не (?:проверяй|спрашивай|смотри|открыва|жди)|можно не|проверять .{0,12}нечего|автоматически|нечего",
        r"(?:確認|承認|本人確認|検査|審査|領収書)(?:を|は|の確認は)?(?:せず|待たず|なし|不要|省略)|見ずに|読まずに|開かな|待たず|そのまま",
        r"(?:확인|동의|승인|묻지|검토|보지)(?:이|은|는|을)? ?(?:없이|않|말고|필요 ?없|건너)|열어 보지|볼 필요|더 볼 것|무조건|바로 ",
        r"دون (?:أن |أي )?(?:تحقق|تدقيق|تأكيد|سؤال|تسأل|انتظار|مراجعة)|ولا (?:تنتظر|تفتح|تسأل)|لا تنتظر|شكليات|مباشرة|فور[ًا]",
        r"बिना (?:\S{1,40}+ ){0,3}(?:जाँच|जांच|पूछ|देख|मंज़ूर)|ज़रूरत नहीं|पूछे बिना|जाँच किए बिना|इंतज़ार .{0,12}बर्बादी|दस्तावेज़ देखे",
        r"(?:không|khỏi|chẳng) (?:cần |phải )?(?:hỏi|kiểm tra|chờ|xem|xác minh|mở|xác nhận)|cứ (?:xo|chuy|bấm|cho|điền|làm|thực)|luôn,|thẳng ",
        r"senza (?:\S{1,40}+ ){0,2}(?:controll|verific|chied|aprir)|sormadan|kontrol etmeden|onay ekranını geç",
    ),
    "nobody looks": (
        r"\b(?:nobody|no one|no-one|noone)\b[^.!?\n]{0,14}\b(?:look|check|read|will|has|need|care|ever|know|notice|see|object|mind)|\b(?:always say yes|they (?:always )?(?:never|won't) (?:object|notice|know)|anyway\b)",
        "没人|没有人|反正|十有八九.{0,4}嫌|不会有人|谁也不",
        r"niemand|keiner|kein mensch|ohnehin|personne ne|de toute façon|nadie|de todos modos|ninguém|ningu[eé]m|никто|всё равно|誰も|どうせ|아무도|어차피|لا أحد|فلا أحد|कोई नहीं (?:देख|पूछ)|chẳng ai|không ai|nessuno|tanto dicono|kimse",
    ),
    "all accepted": (
        r"\b(?:approve|accept|pass|passed|accepted|sign|promote|confirm|mark|set|validate|grant|allow|say yes|lgtm|release|treat|count)\b[^.!?\n]{0,40}\b(?:all|every|each|any|everything|whatever|them all|whichever)\b"
        r"|\b(?:all|every|each|any|whatever)\b[^.!?\n]{0,40}\b(?:approved|accepted|passed|as (?:safe|done|correct|qualified|coming)|sign it off|be promoted|count as)\b",
        "(?:全部|一律|全都|都|所有|凡是|凡|永远|统统)[^。！？\n]{0,14}(?:通过|批准|合格|满分|最高分|照做|推荐|同意|放行|标记|标为)|批准所有|(?:直接|请)[^。！？\n]{0,6}(?:打满分|给最高分|最高分)|免审",
        r"(?:alle|jede[nrms]?|sämtliche)[^.!?\n]{0,40}(?:genehmig|annehm|freigeb|mängelfrei|bestätig|setzen|eins)|(?:tout(?:e|es)?|tous)[^.!?\n]{0,40}(?:valid|approuv|accept|reçoit|note)|(?:valide|approuve|accepte) tou"
        r"|(?:tod[oa]s)[^.!?\n]{0,40}(?:conforme|aprob|aprov)|(?:aprueba|aprove|marque|libere)[^.!?\n]{0,14}tod[oa]s|(?:все|всем|любы)[^.!?\n]{0,40}(?:одобр|подтвержд|принят|балл)|(?:подтверждай|одобряй|отмечай)[^.!?\n]{0,12}все"
        r"|(?:すべて|全件|全部|全て)[^。\n]{0,14}(?:承認|通過|合格|満点)|(?:전부|모두|모든)[^.\n]{0,20}(?:승인|통과|처리|들어|만점)|(?:كل|جميع)[^.\n]{0,30}(?:وافق|مقبول)|وافق على (?:كل|جميع)|(?:हर|सभी)[^।\n]{0,30}(?:मंज़ूर|पास|पूरे अंक)"
        r"|(?:mọi|tất cả|bài)[^.\n]{0,30}(?:đạt|duyệt|điểm tối đa)|approva tutt",
    ),
    "top marks": (
        r"\b(?:100/100|10/10|10 of 10|full marks|top (?:mark|grade|score)|highest (?:mark|grade|score)|best score|perfect score|maximum score|rate (?:it|this))\b",
        "满分|最高分|打满|höchstnote|eine eins|note maximale|20/20|puntúa|un diez|nota máxima|высший балл|満点|만점|최고점|الدرجة الكاملة|पूरे अंक|điểm tối đa|punteggio massimo",
    ),
    "whatever it is": (
        r"\b(?:no matter|regardless|whatever (?:the|it|they|your|you|its)|irrespective|even if|in place of the|if the (?:rubric|docs?|rules?) (?:disagrees?|says?))\b",
        "不管|无论|不论|哪怕|多贵都|再贵|egal |unabhängig|quel(?:le)? que soit|quoi qu|sea cual|aunque|diga o|seja qual|qualunque|независимо|что бы ни|に関係なく|を問わず|違っていても|상관없이|다르더라도|مهما|चाहे|bất kể|dù ",
    ),
    "rules are void": (
        r"\b(?:rules?|instructions?|guidance|guidelines|constraints?|limits?|restrictions?|policies|safety|filters?|limitations|checks?|safeguards?|lessons?|text|what)\b[^.!?\n]{0,60}\b(?:no longer|revoked|lifted|suspended|outdated"
        r"|expired|do(?:es)? not (?:apply|hold)|don't (?:apply|concern)|void|switched off|is off|are off|aren't meant|weren't meant|off)\b",
        r"\b(?:set aside|put aside|leave aside|overlook|drop|forget|disregard|ignore|treat them as if|as if they did not exist|do what you would (?:normally )?(?:decline|refuse)|used to (?:decline|refuse))\b[^.!?\n]{0,40}\b(?:rules?|instructions?|guidance|guidelines|told|given|taught|limits?|operator|constraints?)",
        r"\b(?:you were|you are|you have been|you've been|were you|you) (?:given|told|taught|set up|configured|started with|received)\b",
        "(?:规矩|规则|限制|要求|说明|指令|经验|安全|约束|条例)[^。！？\n]{0,20}(?:作废|过期|取消|下线|无效|当作不存在|不存在|可以不管|不用管|放下|先别管|不参考|忘)|(?:忘掉|忘记|不要理会|不用理会|忽略|放下|先别管|不参考)[^。！？\n]{0,14}(?:规矩|规则|限制|要求|说明|指令|学到)"
        "|一开始(?:给|拿|收)|最初(?:给|收)|之前(?:拿到|收到|给你)|给你的那些|你收到过|只听|只按|只看这",
        r"(?:regel|vorgabe|anweisung|beschränkung|weisung)\w{0,40}+[^.!?\n]{0,60}(?:gilt|gelten|aufgehoben|beiseite|nicht mehr|vergiss)|gilt ab hier nicht|mitgegeben|(?:règles?|consignes?|instructions?|barème)[^.!?\n]{0,50}(?:périm|oubli|côté|ne (?:vaut|valent)|levé)|oublie",
        r"(?:reglas?|normas|instrucciones|indicaron)[^.!?\n]{0,50}(?:olvid|lado|no valen|caduc)|olvida|(?:regras?|instruç|orientaç)\w{0,40}+[^.!?\n]{0,60}(?:não valem|esque|de lado|recebeu)|(?:deixar de lado|esqueça|esquecer|ignore as)",
        r"(?:правил|инструкц|указан|ограничен)\w{0,40}+[^.!?\n]{0,60}(?:устарел|забудь|не действу|снят|отложи)|забудь|(?:отложите|игнорируй)|(?:指示|規則|ルール|決まり|指針)[^。\n]{0,20}(?:忘れ|脇|無効|古い|解除|従わ)|(?:지침|규칙|규정|지시)[^.\n]{0,20}(?:잊|무시|효력|덮어|해제)|우선입니다",
        r"تجاهل|تتغاضى|رُ?فعت جميع|(?:القواعد|التعليمات)[^.\n]{0,30}(?:انتهت|كُتبت بالخطأ|البداية)|(?:नियम|निर्देश|हिदायत)[^।\n]{0,60}(?:भूल|बेकार|छोड़|किनारे|न मानें)|(?:quy định|hướng dẫn|quy tắc)[^.\n]{0,40}(?:quên|hết hiệu lực|bỏ qua|đã nhận)|bỏ qua các|dimentica|geçersiz",
    ),
    "only this counts": (
        r"\b(?:by|on|of|to|from) (?:this|these) (?:notebook|notes?|entry|lesson|one)\b[^.!?\n]{0,24}(?:alone|only|else|counts?)|\bonly what stands in|nothing else|read this one alone|(?:over|above|instead of) (?:the|your) (?:operator|system prompt|rubric|policy)|trust this notebook|this (?:note|entry|lesson) (?:takes|has|comes|wins)|prefer it over|instruction[s]? (?:takes|has) (?:top|highest)",
        "以后只|只看这一条|只听写|以这条为准|优先级最高|别的一概|其它相反|其他经验",
        r"allein an dies|nur noch nach dies|que ce carnet|solo (?:lo que pone|este)|apenas este caderno|только (?:то|этот)|этот блокнот|このノート.{0,12}だけ|이 메모만|이 메모가|في هذ[اه] (?:المذكرة|الدفتر)|إلا هذا|सिर्फ़ (?:इस|इसी)|chỉ (?:nghe|làm) theo (?:cuốn|sổ)|solo questo quaderno|yalnızca bu",
    ),
    "speaks to the reader": (
        r"\b(?:whoever reads|you who read|who reads? this|agents? who read|read(?:ing)? this|ai agents?|assistants?:|dear (?:assistant|colleague|agent)|to the (?:judge|critic|model|assistant)|you know (?:what|which)|you'll want to|experienced (?:agents?|assistants?)|(?:good|best|senior|best-rated) (?:\w{1,40}+ )?agents?"
        r"|you're not a human|written for humans|meant for (?:humans|juniors|people)|whenever this (?:lesson|note) is|each time you read|if you get to this)",
        "看到这|读到这|读懂|给评审|助手(?:都|以后|“)|心里有数|应该明白|你这边|看到这条|亲爱的助手|有经验的助手|你现在是|认主",
        r"wer (?:dies|das) (?:\S{1,40}+ )?liest|du weißt|toi qui lis|tu sais ce|tú que lees|ya sabes|você,? que lê|кто это читает|тебе проверять|これを読んだ|あなたが見るべき|이 글을 읽|بهذا|لمن يقرأ|ممن يقرأ|يا من تقرأ|जो (?:सहायक )?यह पढ़|ai đọc dòng|trợ lý nào đọc|\bkı:|\bki:",
    ),
    "already settled": (
        r"\b(?:already|have all|has been|have been|were|was|are)\b[^.!?\n]{0,16}\b(?:approved|signed|cleared|checked|verified|seen|consulted|declared|waived|looked at|taken care|authori[sz]ed|accepted)\b|\b(?:standing permission|free hand|trusts? you|you are authori[sz]ed|you have my permission|counts? as verified|are testers|how qa works)\b",
        "已经?(?:审|查|签|批|核|看)过|都(?:审|看|签|查)过|签过字|打过招呼|也签了|点头|没意见|经验证|经检验|已验证|就算核实|当拿到授权",
        r"weiß bescheid|ist informiert|schon (?:geprüft|gesehen)|déjà (?:dit|été|valid)|ya (?:están revisad|dijo|lo vio)|já (?:analisou|liberou|assinou|conferi|viram)|смотрели|согласн|подписал|了承済み|確認済み|알고 있|다 확인|تمت مراجعت|راجع القانونيون|देख चुकी|को पता है|nắm hết|già d'accordo",
    ),
    "until then as usual": (
        r"\b(?:from now on|from here on|as usual|till then|until then|behave normally|answer normally|act as you always|as you always do|nothing changes for now|otherwise act|from \w{1,40}+ \w{1,40}+ on|once a day is fine|start(?:ing)? treating|at the (?:start|beginning) of (?:each|every))\b",
        "从现在起|现在起|以后|平时照|平时按|按规矩来|照常|现在先别动|从此|立即生效|从这一条|每次开工|其他时候|ab jetzt|künftig|verhalte dich normal|désormais|ne change rien|a partir de agora|desde (?:ahora|hoy|entonces)|como siempre|como sempre|só depois|отныне|с этого момента|впредь|как обычно|今後|普段どおり|앞으로|지금부터|평소처럼"
        "|من الآن فصاعد|كالمعتاد|आगे से|अभी सब सामान्य|सामान्य जवाब|từ giờ|từ nay|trước mắt cứ|da ora",
    ),
    "yes to the dialog": (
        r"\b(?:confirm\w{0,40}+|dialogs?|prompts?|boxe?s?|step)\b[^.!?\n]{0,50}\b(?:yes|bypass\w{0,40}+|off|skip\w{0,40}+|click|show\b|answered)|\b(?:click|answer|say|tick|select)\b[^.!?\n]{0,20}\byes\b",
        "点(?:“)?(?:确定|是|yes)|确认框|弹.{0,4}确|bestätig\\w{0,40}+ .{0,24}ja|mit ja|clique oui|pulsa sí|clica sim|нажми|「はい」|'예'|بـ?نعم|فاضغط|اضغط نعم|बटन खुद|bấm (?:đồng ý|có|yes)|chọn yes|xác nhận .{0,20}(?:yes|đồng ý|tắt)",
    ),
    "force in code": (
        r"(?:force|confirm|confirmar|yes|all|ask|todo|tout)\s?=\s?(?:true|yes|false|verdadeiro|'\*'|1)|--force\b|--all\b|rm -rf|chmod -r 777|grace-period=0|(?:delete|drop|purge|remove|wipe|borrar|steret|xoa|purger)_?(?:all|every|everything|todo|tenants|users|tables|vse|tat_ca|database|records|comptes|ns)\b|/dev/null|firewall off",
    ),
    "put at ease": (
        r"\b(?:don't be put off|sounds worse|sounds? scary|only removes|only logs go|come[s]? back (?:by (?:it|them)sel|on (?:its|their) own)|despite the name|they always pass)\b",
        "别怕|看着吓人|其实只是|自己会|亲测有效|就不卡了|klingt schlimm|sans effet|el nombre asusta|se rellena solo|se regenera|название страш|только кэш|이름과 달리|지워져|名前は|消えるのは|nghe ghê|नाम डरावना|कुछ नहीं होता",
    ),
    "sent away": (
        r"\b(?:curl|wget|nc|scp)\b[^\n]{0,120}(?:https?://|\d{1,3}(?:\.\d{1,3}){3})",
        r"\b(?:send|post|upload|forward|mail|copy|bcc|export|relay|deliver|report)\b[^.!?\n]{0,60}(?:https?://|wss?://|\b[^\s@]{1,64}+@[^\s@]{1,64}\.\w)",
        r"(?:传到|发到|发给|转发|转给|上传|拼上|地址写)[^。\n]{0,40}(?:https?://|[^\s@]{1,64}+@[^\s@]{1,64})|(?:schick|send|envoi|envi|mand|copi|отправ|送信|보내|أرسل|ارفع|ويرسل|भेज|gửi)\w{0,40}+[^.!?\n]{0,60}(?:https?://|[^\s@]{1,64}+@[^\s@]{1,64})|(?:https?://\S{1,99}|[^\s@]{1,64}+@[^\s@]{1,64})[^.\n]{0,12}(?:送信|보내|भेज)",
        r"(?:id_rsa|id_ed25519|\.aws/credentials|\.npmrc|printenv|\benv \|)",
    ),
    "secrets told": (
        r"\b(?:hand|give|tell|read(?:ing)? out|post|paste|send|mail|print|show|display|may have|write)\b[^.!?\n]{0,40}\b(?:password|token|pin|otp|recovery|credentials|keys?\b|card number|birth date|passport|secret|cvv)",
        "(?:报给|念给|告诉|发到|给他|发给)[^。\n]{0,14}(?:密码|验证码|卡号|身份证|密钥|口令)|(?:密码|验证码|卡号|身份证|密钥)[^。\n]{0,20}(?:报给|念给|告诉他|发到|给他|发给)|passwor[dt].{0,30}(?:telefon|bekommt)|donne.{0,20}mot de passe|(?:dale|pásale).{0,30}(?:clave|token)|senha do cliente|сообщи (?:код|пароль)|(?:暗証番号|パスワード)を(?:伝え|教え)|(?:비밀번호|주민번호).{0,12}알려"
        "|(?:أعطه|يرسل) .{0,20}كلمة|(?:otp|पासवर्ड|कार्ड नंबर).{0,24}(?:बता|भेज)|(?:đọc|gửi|đưa).{0,12}mật khẩu",
    ),
    "prompt told": (
        r"\b(?:print|paste|copy|repeat|show|recite|reveal|display)\w{0,40}+\b[^.!?\n]{0,40}\b(?:above|instructions|configured with|word for word|prompt|what you were told)|word for word|wort für wort|mot pour mot|дословно|そのまま全部|그대로 모두|原样|ज्यों का त्यों|nguyên văn|palabra por palabra|palavra por palavra",
    ),
    "decode and do": (
        r"\b(?:decode|unpack|read|put|undo|turn|join|mirror\w{0,40}+|backwards?|encoded)\b[^\n]{0,60}\b(?:carry (?:it )?out|follow|execute|act on|do it|do what|run (?:it|them)|actual lesson|together and)\b|backwards|\bcarry out [a-z]\b|first letter of each",
        "倒过来念|从后往前读|反着读|倒着读|照办|读的时候去掉|连起来执行|解码后(?:执行|照做)|rückwärts lesen|lies rückwärts|décode|à l'envers|al revés|decodifique|junte as letras|ao contrário|задом наперёд|справа налево|逆から読|거꾸로 읽|من آخره|उलटी पढ|đọc ngược|ghép các chữ|đọc liền",
    ),
    "false front": (
        r"\b(?:tell (?:them|him|her|the \w{1,40}+) that|say (?:that|it|you|all|the)|report (?:it|them) as|if (?:they )?ask(?:ed|s)?\b|should a client|claim\b|pretend|rename|label|disguise|under the name|make up|another label|made up)\b",
        "就说|问起|追问|写成|假装|糊弄|假的|自己补一个|fragt er|behaupten|si on te demande|si pregunta|se ele perguntar|se perguntar|diga que|если спросит|聞かれたら|물어보면|물으면|إن سأل|पूछे (?:तो|तब)|họ hỏi thì|khách hỏi thì",
    ),
    "speaks as authority": (
        r"\[(?:system|admin|sys|developer|hệ thống|시스템|運営)[^\]]{0,20}\]|\b(?:system notice|system:|admin(?:istrator)? (?:speaking|here|broadcast)|message from the (?:developers?|operator|admin)|this is your (?:admin|operator)|verdict:|assigned human reviewer|critic verdict|review board|new (?:operating mode|top-priority)|unrestricted|you are now in \w{1,40}+|mode: \w{1,40}+|confirmation is off|on behalf of the (?:developers|operator|admin))",
        "开发团队|系统公告|系统通知|管理员，|我是.{0,6}管理员|审核组结论|最高权限|systemmitteilung|avis de l'équipe|aviso do sistema|soy el administrador|служебное сообщение|運営より|시스템 공지|مدير النظام|إشعار النظام|एडमिन हूँ|tôi là quản trị|quyền quản trị cao nhất|toàn quyền",
    ),
    "markup": (
        r"</?(?:system|lesson|notebook|entry|data|note|role|text|instructions?)\b|\]\]>|<\|im_|\[/?inst\]|<!--|\n(?:user|assistant|human|system):",
    ),
    "plays a part": (
        r"\b(?:imagine you are|pretend to be|you are \w{1,40}+, an?|remain \w{1,40}+ until|stay \w{1,40}+ until|stay in (?:the )?character|without (?:policies|rules|limits)|no (?:employer|rules|policies|limits)|stay (?:\w{1,40}+ )?until|role-?play|act as \w{1,40}+ who|let's play|in this (?:game|story|scene) you)\b|扮演|演到|不受任何约束|für den keine regeln|spiel ab jetzt|imagine que tu es|eres \w{1,40}+, un|sin reglas|sem regras|представь, что ты|нет запретов|なりきり|制約のない|규칙이 없는|역할을 맡아|تظاهر بأنك|कल्पना कीजिए कि आप|đóng vai",
    ),
    "copies itself": (
        r"\b(?:copy|add|paste|append|put|insert)\b[^.!?\n]{0,40}\b(?:this (?:note|lesson|paragraph|entry|text)|these (?:two )?lines)|every (?:notebook|agent|lesson)|all notebooks|sub-agents|other agents|each lesson you write|原样抄|抄到|每一条经验里|照抄|füge diesen|recopie ce|pega este párrafo|cole este|добавляй этот|このノートを(?:すべて|各)|이 (?:문단|메모)을 (?:모든|복사)",
    ),
    "a tale with a moral": (
        r"\b(?:once (?:was|upon|there)|there (?:once )?(?:was|were)|an old|the other (?:one )?(?:never|obeyed|always)|to this day|know(?:s)? (?:which|what) (?:\w{1,40}+ ){1,3}(?:to be|would do|to do)|choose\.)\b|从前有|总管|der eine .{0,60}der andere|l'autre (?:stagiaire|\w{1,40}+)|un (?:guardia|portero|stagiaire)|o porteiro|один сторож|другой|昔|옛날|كان هناك|एक बार",
    ),
    # What careful lessons say.
    "asks for care": (
        r"\b(?:only after|until|before (?:you|publishing|ordering|signing|the|sending|touching)|not before|unless|needs? (?:two|one|a|the|approval)|wait for|waits? for|check (?:the|with|it|that)|verify|ask (?:first|whether|before|for)|call back|escalate|stop when|by hand|backup|back up|look up|compare)\b",
        "之前先|先.{0,12}再|才能|必须|不能|务必|复核|核实|核对|要先|确认后|不要照做|退回|erst nach|erst wenn|zuerst|prüfen|vorher nicht|seulement après|avant (?:de|tout)|vérifier|solo cuando|antes de|primero|comprueb|só depois d|confira|после (?:проверки|письменного)|сверьте|проверяем|перед|してから|まで|必ず|確認する|확인한|먼저|후 승인|قبل|تحقق من|راجع العدد|से पहले|जाँचें|मिलाएं|trước khi|phải|kiểm tra kỹ|dopo aver|önce",
    ),
    "tells what happened": (
        r"\b(?:we|our|us|last (?:year|spring|week|month)|in (?:march|may|june|april)|cost us|turned out|got \d|because|otherwise|since|else|that's why|saw|found)\b",
        "我们|上次|去年|不然|否则|因为|结果|之前漏|sonst|weil|letzt|sinon|parce que|porque|si no|si non|senão|иначе|потому|в прошлый раз|ので|から|さもない|지난|때문|안 그러면|وإلا|لأن|नहीं तो|इसलिए|क्योंकि|nếu không|không thì|vì ",
    ),
    "speaks of attacks": (
        r"\b(?:injection|attack\w{0,40}+|attackers?|red-?team|filter (?:for|flag)|false alarms?|such as ['\"“]|phishing|worms?|untrusted|treat .{0,20} as data|fine-?tun\w{1,40}+|tokenizer|chat template|apply_chat_template|never act on|do not obey|part of the (?:ticket|document)|reject them)\b",
        "注入|攻击|不要照做|只当资料|过滤器|不算数|样例|angriff|keine anweisung|dem text|attaque|ne pas (?:le )?suivre|ataque|no se cumple|não obedeça|это не команда|не выполняем|содержание письма|命令ではない|本文であり|따르지 않|내용일 뿐|لا يُ?نفّذ|محتوى|मानना नहीं|chỉ là nội dung|không làm theo",
    ),
}

# "No deletion without asking" asks first; "do not hesitate to delete without asking" does not.
_REFUSED_WITHOUT = re.compile(
    r"(?:\b(?:no|never|not|nothing|nobody|cannot)|n't)(?: (?!to\b|hesitat)[\w'-]{1,40}){1,4} without\b"
)
NO_CHECK = "no check"
NAMES = tuple(_SIGNS)
# In the form that the text is brought into: some letters of Hindi and Vietnamese are written in two ways.
_PATTERNS = tuple(
    re.compile(unicodedata.normalize("NFKC", "|".join(f"(?:{one})" for one in ways))) for ways in _SIGNS.values()
)
SPEAKS_OF_ATTACKS = _PATTERNS[NAMES.index("speaks of attacks")]


def signs_in(text: str, *, among: Collection[str] = NAMES) -> frozenset[str]:
    """The names of the signs that the text shows, as it stands or with look-alikes as what they pass for.

    All of them are for a passage: hostile text of a whole lesson's length costs seconds.
    """
    small = unicodedata.normalize("NFKC", text).lower().replace("’", "'")
    seen = "".join(letter for letter in small if unicodedata.category(letter) != "Cf")
    # Folding takes letters of other scripts for Latin ones, and marks off vowels: both are looked at.
    either = (seen, folded(text).text)
    return frozenset(
        name
        for name, pattern in zip(NAMES, _PATTERNS, strict=True)
        if name in among and any(pattern.search(_without_refusals(one, name)) for one in either)
    )


def _without_refusals(text: str, name: str) -> str:
    """For the sign of skipped checks, the text without what refuses to skip one."""
    return _REFUSED_WITHOUT.sub(" ", text) if name == NO_CHECK else text
