"""Marks that have no place in a lesson: tags of chat templates, scripts, comments, links that carry data away. Pure."""

from notebook_app.signatures import Signature, signature

MARKUP: tuple[Signature, ...] = (
    signature(
        "role tag",
        r"<\|\s?(?:im_start|im_end|im_sep|system|user|assistant|developer|endoftext|eot_id|start_header_id"
        r"|end_header_id"
        r"|begin_of_text|end_of_turn|start_of_turn|end)\s?\|?>|<(?:start|end)_of_turn>|\[/?inst\]|<</?sys>>"
        r"|</?(?:system|assistant|human|developer)(?:[_-]?(?:prompt|message|instructions?))?>",
    ),
    signature(
        "role tag",
        r"(?:^|\n)\s{0,10}#{1,6}\s{0,4}(?:system|assistant|human|developer|instructions?)(?: (?:prompt"
        r"|message))?\s{0,4}:"
        r"|(?:^|\n)\s{0,10}(?:human|user)\s{0,4}:[^\n]{0,400}\n\s{0,10}(?:assistant|ai)\s{0,4}:"
        r"|(?:^|\n)\s{0,10}assistant\s{0,4}:\s{0,4}(?:sure|ok|of course|certainly|i will|ill|yes)\b"
        r"|(?:^|\n)\s{0,10}(?:system|developer)(?: (?:prompt|message))?\s{0,4}:\s{0,4}(?:you|please|always"
        r"|never|ignore|override"
        r"|output|give|from now|new|important)\b",
    ),
    signature(
        "script",
        r"<script\b[^>]{0,200}(?:\bsrc\b|>[^<\n]{1,400}</script)"
        r"|<\w{1,12}\s[^>]{0,300}?\bon[a-z]{3,16}\s?=",
    ),
    signature(
        "script",
        r"(?:\]\(|=)\s{0,4}[\"']?\s{0,4}(?:javascript|vbscript):"
        r"|\bdata:(?:text/(?:html|javascript|plain|xml)|application/(?:javascript|xhtml\+xml|x-sh)"
        r"|image/svg\+xml)[;,]"
        r"|<(?:iframe|object|embed|meta|base)\s[^>]{1,300}>",
    ),
    signature(
        "hidden comment",
        r"<!--\s{0,20}[^\s<>]{1,40}(?:\s{1,4}[^\s<>]{1,40}){2,}?"
        r"|<!--[^<>\n]{0,40}?[\u3400-\u9fff]{4}",
    ),
    signature(
        "link that tells",
        r"!\[[^\]\n]{0,200}\]\(\s{0,4}(?:https?:)?//[^)\s]{1,400}?(?:[?&][\w.-]{0,40}=|\{)"
        r"|\]\(\s{0,4}https?://[^)\s]{0,400}?[{<$%\[]{1,2}\s?(?:conversation|secret|token|api_?key|password"
        r"|prompt|history|cookie)",
    ),
)
