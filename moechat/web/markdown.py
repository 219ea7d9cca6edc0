"""Markdown as people know it, as inert HTML. Knows no Gradio.

HTML in a text is text, no image is loaded, and a link shows where it leads. What comes out has passed a sanitiser, whatever the
parser made of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

# Beyond these many characters, marks or brackets text is shown as it is. For an open bracket the parser looks through the rest.
MAX_CHARS = 20_000
TAGS = {
    "p", "br", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "h3", "h4", "h5", "h6", "hr", "a", "small",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
ATTRIBUTES = {"a": {"href", "target"}, "pre": {"data-language"}, "ol": {"start"}}
HIGHEST = 3  # The page and its rooms have the headings above.

# Two asterisks are strong, one is an action; next to Chinese punctuation, too, where Markdown itself would see none.
_MOST = ((re.compile(r"[*_~`|]"), 2_000), (re.compile(r"\["), 300))
_STARRED = re.compile(r"(?<![*A-Za-z0-9_])(\*{1,2})(?![*\s])((?:(?!\1)[^\n])+?)(?<!\s)\1(?![*A-Za-z0-9_])")


def html(text: str) -> str:
    """The text as HTML of ``TAGS``."""
    beyond = (islice(mark.finditer(text, 0, MAX_CHARS), most, most + 1) for mark, most in _MOST)
    end = min([len(text), MAX_CHARS, *(mark.start() for marks in beyond for mark in marks)])
    drawn = _parser().render(text[:end])
    plain = f"<p>{nh3.clean_text(text[end:])}</p>" if end < len(text) else ""
    return nh3.clean(drawn, tags=TAGS, attributes=ATTRIBUTES, url_schemes={"http", "https", "mailto"}) + plain


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("js-default", {"html": False, "linkify": False, "typographer": False, "breaks": True})
    parser.disable("image")
    parser.inline.ruler.before("emphasis", "starred", _starred)
    for name, rule in (("fence", _fence), ("code_block", _fence), ("heading_open", _heading), ("heading_close", _heading),
                       ("link_open", _link_open), ("link_close", _link_close)):  # fmt: skip
        parser.add_render_rule(name, rule)
    return parser


def _starred(state: StateInline, silent: bool) -> bool:
    starred = _STARRED.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "*" else None
    if starred is None:
        return False
    if not silent:
        name, tag = ("strong", "strong") if len(starred[1]) == 2 else ("em", "em")
        end, most = starred.end(), state.posMax
        state.push(f"{name}_open", tag, 1).markup = starred[1]
        state.pos, state.posMax = starred.start(2), starred.end(2)
        state.md.inline.tokenize(state)
        state.posMax = most
        state.push(f"{name}_close", tag, -1).markup = starred[1]
    state.pos = starred.end() if silent else end
    return True


def _fence(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    language = (tokens[at].info.split() or [""])[0][:20]
    return f'<pre data-language="{nh3.clean_text(language)}"><code>{nh3.clean_text(tokens[at].content)}</code></pre>\n'


def _heading(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    level = min(6, int(tokens[at].tag[1]) + HIGHEST - 1)
    return f"<{'/' if tokens[at].nesting < 0 else ''}h{level}>"


def _link_open(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f'<a href="{nh3.clean_text(str(tokens[at].attrs["href"]))}" target="_blank">'


def _link_close(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """After the words of a link stands the address that it leads to."""
    opened = next(one for one in reversed(tokens[:at]) if one.type == "link_open")
    address = str(opened.attrs["href"])
    place = urlsplit(address).netloc or address
    return f"</a> <small>({nh3.clean_text(place)})</small>"
