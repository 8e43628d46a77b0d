#!/usr/bin/env python3
"""Follows the links of a built site: every file and every anchor must exist.

    links.py DIRECTORY [BASE]

BASE is the path of the site on its server, as links of the page for missing addresses have it [default: /]. Links to other sites
are not fetched; they are listed in DIRECTORY.external.txt. Exit status 1: a link leads nowhere.
"""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.base = [], set(), None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "base":
            self.base = values.get("href")
            return
        for name in ("id", "name") if tag == "a" else ("id",):
            if values.get(name):
                self.anchors.add(values[name])
        for name in ("href", "src"):
            if values.get(name):
                self.links.append(values[name])


def check(directory, base):
    """The links that lead nowhere, those to other sites, and how many were followed."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(directory.rglob("*.html"))}
    dead, external, followed = [], set(), 0
    for path, page in pages.items():
        here = "/" + path.relative_to(directory).as_posix()
        if page.base:
            here = "/" + page.base.removeprefix(base)
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if parts.scheme in ("http", "https"):
                    external.add(link)
                elif parts.scheme not in ("data", "mailto"):
                    dead.append(f"{path.relative_to(directory)}: {link}: not a link of a public page")
                continue
            followed += 1
            # A browser leads such a link of the page for missing addresses to the first page; mdBook made it for its own heading.
            if page.base and not parts.path:
                continue
            to = here if not parts.path else urllib.parse.urljoin(here, urllib.parse.unquote(parts.path))
            target = directory / to.lstrip("/")
            if target.is_dir():
                target = target / "index.html"
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.is_file():
                dead.append(f"{path.relative_to(directory)}: {link}: no such file")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                dead.append(f"{path.relative_to(directory)}: {link}: no such anchor")
    return dead, sorted(external), followed, len(pages)


def main():
    directory = pathlib.Path(sys.argv[1])
    base = sys.argv[2] if len(sys.argv) > 2 else "/"
    dead, external, followed, pages = check(directory, base)
    directory.with_name(directory.name + ".external.txt").write_text("".join(link + "\n" for link in external))
    for line in dead:
        print(line, file=sys.stderr)
    print(f"{pages} pages, {followed} links followed, {len(dead)} lead nowhere; {len(external)} addresses of other sites not fetched")
    return 1 if dead or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
