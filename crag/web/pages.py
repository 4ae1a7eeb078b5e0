"""Pages as paragraphs (CRAG §4.5), without those that only turn a reader away."""

import re
from collections.abc import Sequence

import lxml.etree
import lxml.html

from crag.web.fetch import Body, Request, WebError, fetch_all
from crag.web.types import Page

TYPES = ("text/html", "application/xhtml+xml")
MAX_REDIRECTS = 3
NAME_CHARS = 200

# What browsers take these labels for, as the HTML standard has it.
WINDOWS_1252 = ("iso-8859-1", "latin1", "us-ascii", "ascii")
META_CHARSET = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
META_CHARSET_WITHIN = 4096

# A wall is a short page under a title of such a kind, or a page of little more than such notices. The patterns hold
# what sites say to a visitor, not what an article says about captchas, cookies or errors.
WALL_PAGE_WORDS = 150
NOTICE_WORDS = 60
BESIDE_NOTICE_WORDS = 30
ASKING = r"(^|\bplease\ |\byou\ (must|need\ to|have\ to|should)\ |\bto\ (continue|proceed)\W+(please\ )?)"
SCRIPT = r"(java\ ?script|js)\b"
WALLS = {
    "asks for a captcha": rf"""
        {ASKING}(complete|solve|pass)\ (the|a|this|our)\ (captcha|challenge|puzzle|security\ check)
        | (confirm|verify(ing)?|prove|check|make\ sure|ensure)\ (that\ )?you(\ are|'re)\ (a\ )?(human|not\ a\ (ro)?bot)
        | ^are\ you\ a\ (human|robot)\W*$ | ^i('m|\ am)\ not\ a\ robot | ^press\ (and|&)\ hold\b
        | ^just\ a\ moment(\.\.\.|…)
        | ^(checking|verifying)\ (if\ |that\ )?(your|you\ are|the\ security\ of\ your)\b
        | review\ the\ security\ of\ your\ connection | ^one\ more\ step\W*$
        | unusual\ (traffic|activity)\ (coming\ )?(from|on)\ your\b""",
    "wants JavaScript": rf"""
        {ASKING}(enable|activate|turn\ on|allow)\ {SCRIPT}
        | (enable|activate|turn\ on|allow)\ {SCRIPT}\ (and\ cookies\ )?(in\ your|to\ (continue|proceed|view|use))
        | {SCRIPT}\ (is|seems\ to\ be|appears\ to\ be)\ (disabled|turned\ off|blocked)\ in\ your\b
        | {SCRIPT}\ (is\ required|must\ be\ enabled)\ to\ (continue|proceed|view|see|use)
        | (this|our)\ (site|website|app|page)\ (requires|needs)\ {SCRIPT}""",
    "wants cookies accepted": rf"""
        {ASKING}(accept|allow|enable|agree\ to)\ (all\ |the\ use\ of\ |our\ )?cookies
        | (accept|allow|enable|agree\ to)\ (all\ |the\ use\ of\ |our\ )?cookies\ to\ (continue|proceed|view|use|read)
        | cookies\ are\ (disabled|blocked|turned\ off)\ in\ your\b | ^before\ you\ continue\ to\b""",
    "denies access": r"""
        \byou\ (don't|do\ not)\ have\ (the\ )?(permissions?|rights?)\ to\ (access|view|see)
        | \byour\ (access|request|connection|ip(\ address)?)\ (has\ been|was|is)\ (denied|blocked|rejected|banned)
        | \baccess\ to\ this\ (page|site|website|resource|server)\ (has\ been|was|is)\ (denied|blocked|forbidden)
        | \byou\ (have\ been|are)\ (temporarily\ )?(blocked|banned|not\ authori[sz]ed) | ^attention\ required!
        | \bnot\ available\ in\ your\ (country|region)\b""",
    "limits requests": r"""
        ^(error\ )?(429\W{0,3})?too\ many\ requests | \byou\ (have\ )?(made|sent)\ too\ many\b
        | ^rate\ limit\ exceeded""",
    "wants a login": rf"""
        {ASKING}(log|sign)\ in\ to\ (continue|view|see|read|access)\b | ^subscribe\ to\ (continue|keep)\ reading""",
    "is an error page": r"""
        ^(error\ )?(403|404|500|502|503)\W{1,3}(error|forbidden|page|not\ found|internal|bad|service)
        | ^(the\ )?page\ (was\ |could\ not\ be\ )?not\ found | ^(oops|sorry)?\W*something\ went\ wrong
        | \b(page|url|address|document)\ (that\ )?you(\ have|\ were|\ are|'re)?\ (requested|looking\ for)\b
        | \brequested\ (page|url|address|document)\ (could\ not\ be|cannot\ be|was\ not)\ found
        | \b(page|site|website|service)\ is\ temporarily\ unavailable""",
}
WALL_PATTERNS = {reason: re.compile(pattern, re.IGNORECASE | re.VERBOSE) for reason, pattern in WALLS.items()}


def read_pages(urls: Sequence[str], timeout_s: float, allow_private: bool) -> dict[str, Page]:
    """The page behind each address, or the reason why there is none."""
    distinct = list(dict.fromkeys(urls))
    requests = [Request(url, url[:NAME_CHARS], TYPES, MAX_REDIRECTS) for url in distinct]
    found = fetch_all(requests, parse_page, timeout_s, allow_private)
    return {
        url: Page(url, error=str(page)) if isinstance(page, WebError) else Page(url, *page)
        for url, page in zip(distinct, found, strict=True)
    }


def parse_page(body: Body) -> tuple[str, tuple[str, ...]]:
    """Title and paragraphs of a page; `WebError` where it has none, or is a wall."""
    try:
        root = lxml.html.document_fromstring(body.content, parser=parser_for(body))
    except (lxml.etree.ParserError, ValueError) as error:
        raise WebError(f"is not a readable page ({error})") from error
    titles = [text for path in (".//h1", ".//title") if (text := flat_text(root.find(path)))]
    texts = tuple(text for element in root.iter("p") if (text := flat_text(element)))
    if reason := wall(titles, texts):
        raise WebError(reason)
    if not texts:
        raise WebError("has no paragraphs")
    return titles[0] if titles else "", texts


def parser_for(body: Body) -> lxml.html.HTMLParser:
    """A parser for the page's encoding: by its header, by its own statement, or UTF-8 where the bytes are that."""
    stated = META_CHARSET.search(body.content[:META_CHARSET_WITHIN])
    for charset in (body.charset, stated and stated[1].decode()):
        if charset:
            try:
                return lxml.html.HTMLParser(encoding="windows-1252" if charset.lower() in WINDOWS_1252 else charset)
            except LookupError:
                continue  # a label that no one knows says nothing
    try:
        body.content.decode()
    except UnicodeDecodeError:
        return lxml.html.HTMLParser(encoding="windows-1252")
    return lxml.html.HTMLParser(encoding="utf-8")


def flat_text(element: lxml.html.HtmlElement | None) -> str:
    """The text in an element on one line."""
    return " ".join(element.text_content().split()) if element is not None else ""


def wall(titles: Sequence[str], paragraphs: Sequence[str]) -> str | None:
    """What a page wants of its visitor instead of telling something, if so."""
    notices = [text for text in paragraphs if len(text.split()) <= NOTICE_WORDS and wall_reason(text)]
    words = sum(len(text.split()) for text in paragraphs)
    beside = words - sum(len(text.split()) for text in notices)
    # A longer page, or one that says something beside the notice, is a page with clutter.
    if words <= WALL_PAGE_WORDS and (title := next(filter(wall_reason, titles), None)):
        return wall_reason(title)
    return wall_reason(notices[0]) if notices and beside < BESIDE_NOTICE_WORDS else None


def wall_reason(text: str) -> str | None:
    """The wall that a title or a paragraph is typical of."""
    straight = text.replace("’", "'")
    return next((reason for reason, pattern in WALL_PATTERNS.items() if pattern.search(straight)), None)
