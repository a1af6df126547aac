#!/usr/bin/env python3
"""Checks the pages of the documentation: README.md, CHANGELOG.md and docs/**/*.md.

  links      Each relative link leads to a file of the repository, and each #anchor to a heading of its page.
  listings   A code block directly below a comment  <!-- listing: FILE NAME -->  equals the lines of FILE between
             "// [begin NAME]" and "// [end NAME]"; without NAME it equals the whole file. Lines that mark the
             begin or end of an excerpt are left out. FILE is relative to the root of the repository.
  fragments  Each block of C++ has such a comment, or  <!-- fragment -->, which says that it is part of no file.
"""

import argparse
import os
import re
import sys
import urllib.parse
from typing import List, NamedTuple, Optional, Tuple

PAGES = ("README.md", "CHANGELOG.md")  # and those below docs
CPP = ("c++", "cc", "cpp", "cxx")

FENCE = re.compile(r"^( {0,3}(?:[-*+] +|\d+[.)] +)? *)(`{3,}|~{3,})\s*([^\s`]*)")
LISTING = re.compile(r"^\s*<!--\s*listing:(.*?)-->\s*$")
FRAGMENT = re.compile(r"^\s*<!--\s*fragment\s*-->\s*$")
MARKER = re.compile(r"^\s*(?://|#)\s*\[(begin|end)\s+([\w.-]+)\]\s*$")

LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s")
HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
UNDERLINE = re.compile(r"^ {0,3}(?:=+|-+)[ \t]*$")
HTML_ANCHOR = re.compile(r"<[a-zA-Z][^<>]*?\s(?:id|name)\s*=\s*[\"']([^\"']+)[\"']")

CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n[ \t]*\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
TARGET = r"(<[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*)"
TITLE = r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?"
INLINE_LINK = re.compile(r"\]\(\s*" + TARGET + TITLE + r"\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\[\]\n]+\]:[ \t]*(<[^<>\n]*>|\S+)", re.MULTILINE)
HTML_LINK = re.compile(r"<[a-zA-Z][^<>]*?\s(?:href|src)\s*=\s*[\"']([^\"']*)[\"']")
SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:|^//")
SOURCE_LINES = re.compile(r"^L(\d+)(?:-L(\d+))?$")


class Problem(NamedTuple):
    page: str
    line: int  # from 1
    text: str

    def __str__(self):
        return "%s:%d: %s" % self


class Block(NamedTuple):
    """A fenced block of code. Numbers are indices of lines, from 0."""

    fence: int  # the line that opens it
    end: int  # the line behind its last line of code
    indent: int  # columns that its lines have in common with the fence
    language: str


class Counts(NamedTuple):
    pages: int
    listings: int
    links: int


class ListingError(Exception):
    """An excerpt that is not there."""


# Pages.


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def find_pages(root):
    """The pages, relative to the root."""
    found = list(PAGES)
    for folder, folders, files in os.walk(os.path.join(root, "docs")):
        folders.sort()
        found += [os.path.relpath(os.path.join(folder, each), root) for each in sorted(files) if each.endswith(".md")]
    return found


def find_blocks(lines):
    """The fenced blocks of a page, in their order."""
    blocks = []
    at = 0
    while at < len(lines):
        opened = FENCE.match(lines[at])
        if not opened:
            at += 1
            continue
        fence = at
        mark = opened.group(2)
        closing = re.compile(r"^\s*%s{%d,}\s*$" % (re.escape(mark[0]), len(mark)))
        at += 1
        while at < len(lines) and not closing.match(lines[at]):
            at += 1
        blocks.append(Block(fence, at, len(opened.group(1)), opened.group(3).lower()))
        at += 1
    return blocks


def without_code(lines):
    """The page with empty lines in place of code, fenced or indented."""
    kept = list(lines)
    for block in find_blocks(lines):
        kept[block.fence:block.end + 1] = [""] * (min(block.end + 1, len(lines)) - block.fence)
    in_list = in_code = False
    after_blank = True
    for number, line in enumerate(kept):
        if not line.strip():
            after_blank = True
            continue
        indented = line.startswith(("    ", "\t"))
        if LIST_ITEM.match(line) and not in_code:
            in_list = True
        elif not indented and after_blank and not line.startswith(" "):
            in_list = False
        in_code = indented and not in_list and (after_blank or in_code)
        after_blank = False
        if in_code:
            kept[number] = ""
    return kept


def blank(match):
    """Spaces in place of a match, which keep the numbers of lines."""
    return re.sub(r"[^\n]", " ", match.group(0))


# Listings.


def excerpt(lines, name):
    """The lines between the markers of `name`, or all, without lines that are markers. ListingError: there are none."""
    begin = end = None
    for number, line in enumerate(lines):
        marker = MARKER.match(line)
        if not marker or marker.group(2) != name:
            continue
        if marker.group(1) == "begin":
            if begin is not None:
                raise ListingError("has [begin %s] twice" % name)
            begin = number + 1
        else:
            if begin is None or end is not None:
                raise ListingError("has [end %s] without a [begin %s] before it" % (name, name))
            end = number
    if name is None:
        begin, end = 0, len(lines)
    if begin is None:
        raise ListingError("has no [begin %s]" % name)
    if end is None:
        raise ListingError("has no [end %s]" % name)
    found = [line for line in lines[begin:end] if not MARKER.match(line)]
    if not found:
        raise ListingError("has no lines" if name is None else "has no lines in %s" % name)
    return found


class Listing(NamedTuple):
    block: Block
    file: str
    name: Optional[str]
    code: List[str]  # as the block should be


def read_listing(root, block, words):
    """ListingError says why there is none."""
    if not 1 <= len(words) <= 2:
        raise ListingError('write "<!-- listing: FILE -->" or "<!-- listing: FILE NAME -->"')
    file, name = words[0], words[1] if len(words) == 2 else None
    try:
        lines = read_lines(os.path.join(root, file))
    except OSError as error:
        raise ListingError("can't read %s: %s" % (file, error.strerror)) from None
    try:
        return Listing(block, file, name, excerpt(lines, name))
    except ListingError as error:
        raise ListingError("%s %s" % (file, error)) from None


def read_listings(root, page, lines):
    """(the listings of a page, the problems with their comments)"""
    listings, problems = [], []
    blocks = find_blocks(lines)
    in_blocks = {number for block in blocks for number in range(block.fence, block.end + 1)}
    by_fence = {block.fence: block for block in blocks}
    explained = set()
    for number, line in enumerate(lines):
        listing = LISTING.match(line)
        if number in in_blocks or not (listing or FRAGMENT.match(line)):
            continue
        block = by_fence.get(number + 1)
        if block is None:
            problems.append(Problem(page, number + 1, "there is no code block directly below this comment"))
            continue
        explained.add(block)
        if not listing:
            continue
        try:
            listings.append(read_listing(root, block, listing.group(1).split()))
        except ListingError as error:
            problems.append(Problem(page, number + 1, "listing: %s" % error))
    for block in blocks:
        if block.language in CPP and block not in explained:
            problems.append(Problem(page, block.fence + 1, "a block of C++ needs a comment directly above it: "
                                                           "<!-- listing: FILE NAME --> or <!-- fragment -->"))
    return listings, problems


def code_of(lines, block):
    """The lines of a block, without the indentation of its fence."""
    code = []
    for line in lines[block.fence + 1:block.end]:
        begin = min(block.indent, len(line) - len(line.lstrip(" ")))
        code.append(line[begin:])
    return code


def compare(page, lines, listing):
    """The problem of a listing that is not as in its file, in a list."""
    code = code_of(lines, listing.block)
    if code == listing.code:
        return []
    same = 0
    while same < min(len(code), len(listing.code)) and code[same] == listing.code[same]:
        same += 1
    source = listing.file if listing.name is None else "%s, %s" % (listing.file, listing.name)
    return [Problem(page, listing.block.fence + same + 2, "the listing differs from %s here; "
                                                          "docs/check.py --fix corrects it" % source)]


def fix(lines, listings):
    """The lines of a page with the listings as they are in their files."""
    fixed = list(lines)
    for listing in sorted(listings, key=lambda each: each.block.fence, reverse=True):
        indent = " " * listing.block.indent
        fixed[listing.block.fence + 1:listing.block.end] = [(indent + line).rstrip() for line in listing.code]
    return fixed


# Links.


def slug(heading):
    """The anchor that a forge gives a heading."""
    text = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", heading)
    text = re.sub(r"<[^<>]*>", "", text) if "`" not in text else text
    text = re.sub(r"(?<!\w)_(.+?)_(?!\w)", r"\1", text)
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def find_anchors(lines):
    """The anchors of a page."""
    headings = []
    text = without_code(lines)
    for number, line in enumerate(text):
        heading = HEADING.match(line)
        if heading:
            headings.append(heading.group(1) or "")
        elif (UNDERLINE.match(line) and number > 0 and text[number - 1].strip()
              and not LIST_ITEM.match(text[number - 1]) and "|" not in text[number - 1]):
            headings.append(text[number - 1])
    anchors = set(HTML_ANCHOR.findall("\n".join(text)))
    counts = {}
    for heading in headings:
        base = slug(heading)
        count = counts.get(base, 0)
        counts[base] = count + 1
        anchors.add(base if count == 0 else "%s-%d" % (base, count))
    return anchors


def find_links(lines):
    """(number of the line, target) of each link, in the order of the page."""
    text = COMMENT.sub(blank, CODE_SPAN.sub(blank, "\n".join(without_code(lines))))
    found: List[Tuple[int, str]] = []
    for pattern in (INLINE_LINK, REFERENCE, HTML_LINK):
        for match in pattern.finditer(text):
            found.append((match.start(1), match.group(1)))
    return [(text.count("\n", 0, begin) + 1, target.strip("<>")) for begin, target in sorted(found)]


def check_anchor(path, file, anchor):
    """Returns the problem of an anchor in a file that exists, or None. `file`: how the problem names it."""
    if path.endswith(".md"):
        return None if anchor in find_anchors(read_lines(path)) else "%s has no heading #%s" % (file, anchor)
    numbers = SOURCE_LINES.match(anchor)
    if os.path.isdir(path) or not numbers:
        return "%s has no anchors, and the link has #%s" % (file, anchor)
    last = max(int(each) for each in numbers.groups() if each)
    count = len(read_lines(path))
    return None if last <= count else "%s has %d lines, and the link has #%s" % (file, count, anchor)


def check_link(root, page, target):
    """Returns the problem of a link, or None."""
    if SCHEME.match(target):
        return None
    if not target or target == "#":
        return "a link without a target"
    if target.startswith("/"):
        return "the link %s is absolute; write it relative to the page" % target
    path, _, anchor = target.partition("#")
    file = os.path.normpath(os.path.join(os.path.dirname(page), urllib.parse.unquote(path))) if path else page
    if file == ".." or file.startswith(".." + os.sep):
        return "the link %s leads out of the repository" % target
    full = os.path.join(root, file)
    if not os.path.exists(full):
        return "the link %s leads to %s, which does not exist" % (target, file)
    return check_anchor(full, file, urllib.parse.unquote(anchor)) if anchor else None


# The check.


def check(root, fixing=False):
    """(the problems that are left, in the order of the pages, what was checked)"""
    problems = []
    page_count = listing_count = link_count = 0
    for page in find_pages(root):
        path = os.path.join(root, page)
        try:
            lines = read_lines(path)
        except OSError as error:
            problems.append(Problem(page, 1, "can't read the page: %s" % error.strerror))
            continue
        listings, found = read_listings(root, page, lines)
        wrong = [problem for listing in listings for problem in compare(page, lines, listing)]
        if wrong and fixing:
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(fix(lines, listings)) + "\n")
            print("%s: rewrote %d of %d listings" % (page, len(wrong), len(listings)))
            lines = read_lines(path)
            listings, found = read_listings(root, page, lines)
            wrong = []
        found += wrong
        links = find_links(lines)
        for number, target in links:
            what = check_link(root, page, target)
            if what:
                found.append(Problem(page, number, what))
        problems += sorted(found, key=lambda problem: problem.line)
        page_count += 1
        listing_count += len(listings)
        link_count += len(links)
    return problems, Counts(page_count, listing_count, link_count)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true", help="rewrite the listings of the pages from their files")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.realpath(__file__))),
                        help="the repository (default: that of this program, also through a symbolic link)")
    options = parser.parse_args(arguments)
    problems, counts = check(options.root, options.fix)
    for problem in problems:
        print(problem)
    if problems:
        return 1
    print("docs/check.py: %d pages, %d listings, %d links: correct" % counts)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
