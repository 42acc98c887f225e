#!/usr/bin/env python3
"""Looks for what a browser would stumble over in the built website: links, pictures, scripts and style sheets that are not there,
anchors that no element has, and scripts that are modules but are not loaded as such.

usage: docs/check_site.py build/docs/html
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

CSS_ADDRESS = re.compile(r"url\(\s*['\"]?([^'\")]+)['\"]?\s*\)|@import\s+['\"]([^'\"]+)['\"]")
MODULE = re.compile(r"^\s*(import\s+[\w{*'\"]|export\s+[\w{*])", re.M)


class Page(HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.anchors, self.scripts, self.without_text = [], set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        address = attributes.get("href") or attributes.get("src")
        if address:
            self.addresses.append(address)
        if tag == "script" and attributes.get("src") and attributes.get("type") != "module":
            self.scripts.append(attributes["src"])
        if tag == "img" and not attributes.get("alt"):
            self.without_text.append(attributes.get("src"))


def local(folder, root, address):
    """The file that an address means and the anchor in it, or None if it is another site's."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    path = unquote(parts.path)
    target = root / path[1:] if path.startswith("/") else folder / path
    return (target / "index.html" if target.is_dir() and path else target), unquote(parts.fragment)


def faults_of(root):
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.html"))}
    if not pages:
        yield f"{root}: no pages"
    scripts = set()
    for path, page in pages.items():
        name = path.relative_to(root)
        for address in page.addresses:
            found = local(path.parent, root, address)
            if found is None:
                continue
            target = found[0] if urlsplit(address).path else path
            if not target.exists():
                yield f"{name}: {address} is not there"
                continue
            other = pages.get(target.resolve())
            if found[1] and other and found[1] not in other.anchors:
                yield f"{name}: {address}: no such anchor"
        scripts |= {local(path.parent, root, address)[0].resolve() for address in page.scripts if local(path.parent, root, address)}
        yield from (f"{name}: the picture {source} has no alternative text" for source in page.without_text)
    for path in sorted(script for script in scripts if script.exists()):
        if MODULE.search(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(root)}: is a module, and loaded as a plain script"
    for path in sorted(root.rglob("*.css")):
        for match in CSS_ADDRESS.finditer(path.read_text(encoding="utf-8")):
            address = match[1] or match[2]
            found = None if address.startswith("data:") else local(path.parent, root, address)
            if found and not found[0].exists():
                yield f"{path.relative_to(root)}: {address} is not there"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    faults = sorted(set(faults_of(Path(sys.argv[1]).resolve())))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
