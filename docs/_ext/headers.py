"""Directive `header`: what a header says of itself, and all that it declares, as Doxygen found it.

    ```{header} rma copy
    ```

Each header's entries follow a list of their names, with links and the first sentence of each: a class with its functions.

`remaining-headers` shows the headers that no page names, so that a new one is on the website from its first day, until someone
gives it a place and some words of introduction.
"""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.domains.cpp import CPPDomain


def header_path(name):
    """Below include/, of a name like rma, experimental_heap, atoll_neighbors, atoll_device or atoll_array_view."""
    if not name.startswith("atoll_"):
        return f"upcxx/{name.replace('experimental_', 'experimental/')}.hpp"
    if name in ("atoll_device", "atoll_stream_reduction"):  # with kernels
        return f"atoll/{name[len('atoll_'):]}.cuh"
    folders = {"array": "extensions/array/", "device": "extensions/device/", "kokkos": "extensions/kokkos/", "base": "base/"}
    in_folder = re.fullmatch(r"atoll_(array|device|kokkos|base)_(\w+)", name)
    return f"atoll/{folders[in_folder[1]]}{in_folder[2]}.hpp" if in_folder else f"atoll/{name[len('atoll_'):]}.hpp"


def introduction(environment, name):
    """The comment at the head of a header, which is Markdown already."""
    path = Path(environment.srcdir).parent / "include" / header_path(name)
    if not path.exists():
        return []
    comment = re.match(r"#pragma once\n(?:// header check[^\n]*\n)?\n((///[^\n]*\n)+)", path.read_text(encoding="utf-8"))
    if not comment:
        return []
    return re.sub(r"^/// ?", "", comment.group(1), flags=re.M).splitlines() + [""]


def sentence(element):
    """The first sentence of a description, as plain text."""
    text = " ".join("".join(element.itertext()).split()) if element is not None else ""
    return re.split(r"(?<=[a-z)\d])[.:;](?= [A-Z]|$)", text)[0]


def is_described(definition):
    """Breathe shows no others: a group of small functions has one comment, which stands at the first."""
    return any("".join(definition.find(kind).itertext()).strip() for kind in ("briefdescription", "detaileddescription"))


def summary_of(xml):
    """Rows (name, anchor, first sentence, {member: anchor}) of all that a header declares; overloads share one row."""
    rows = {}

    def add(name, anchor, text):
        row = rows.setdefault(name, [anchor, text, {}])
        row[1] = row[1] or text
        return row

    for definition in ElementTree.parse(xml).getroot().iter("compounddef"):
        for inner in definition.findall("innerclass"):
            compound = ElementTree.parse(xml.parent / f"{inner.get('refid')}.xml").getroot().find("compounddef")
            if inner.get("prot") == "private" or "<" in inner.text or "detail" in inner.text:
                continue
            name = inner.text.split("::", 1)[-1] if inner.text.startswith(("upcxx::", "atl::")) else inner.text
            row = add(name, inner.get("refid"), sentence(compound.find("briefdescription")))
            for member in compound.iter("memberdef"):
                own = member.findtext("name")
                special = own.strip("~") == name.split("::")[-1] or own == "operator="
                if member.get("prot") != "public" or member.get("kind") != "function" or special:
                    continue
                if is_described(member):
                    row[2][own] = row[2][own] if row[2].get(own, row[0]) != row[0] else member.get("id")
                else:
                    row[2].setdefault(own, row[0])
        previous = None
        for member in definition.iter("memberdef"):
            previous = member.get("id") if is_described(member) or not previous else previous
            add(member.findtext("name"), previous, sentence(member.find("briefdescription")))
    return [(name, *row) for name, row in rows.items()]


def linked(name, anchor):
    paragraph = nodes.paragraph()
    paragraph += nodes.reference("", "", nodes.literal("", name), internal=True, refid=anchor)
    return paragraph


def summary(files):
    """A list of names with links to what follows on the page."""
    rows = [row for xml in files for row in summary_of(xml)]
    if sum(1 + len(members) for *_, members in rows) < 2:
        return []
    items = nodes.bullet_list(classes=["entries"])
    for name, anchor, text, members in rows:
        item = nodes.list_item()
        line = linked(name, anchor)
        if text:
            line += nodes.Text(f" – {text}")
        item += line
        if members:
            inner = nodes.paragraph(classes=["members"])
            for i, (member, target) in enumerate(members.items()):
                if i:
                    inner += nodes.Text(", ")
                inner += linked(member, target).children
            item += inner
        items += item
    return [items]


def is_empty(xml):
    return not re.search(r"<memberdef|<innerclass", xml.read_text(encoding="utf-8"))


class Header(Directive):
    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        return self.show(self.arguments[0].split(), with_titles=False)

    def show(self, names, with_titles):
        environment = self.state.document.settings.env
        folder = Path(environment.config.breathe_projects["atoll"])
        files = {name: folder / f"group__header__{name.replace('_', '__')}.xml" for name in names}
        for name, xml in files.items():
            environment.note_dependency(str(xml))
            if not xml.exists():
                raise self.error(f"Doxygen found no header {name} (scripts/docs.sh runs it)")
        shown = [] if with_titles else summary(files.values())
        for name, xml in files.items():
            content = [f"```{{rubric}} {header_path(name)}", "```", ""] if with_titles else []
            introduced = self.parsed(content + introduction(environment, name), xml)
            shown = introduced + shown if name == names[0] else shown + introduced
            if not is_empty(xml):
                shown += self.parsed([f"```{{doxygengroup}} header_{name}", ":content-only:", "```", ""], xml)
        return shown

    def parsed(self, content, xml):
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(StringList(content, xml.name), 0, node, match_titles=False)
        return node.children


class RemainingHeaders(Header):
    required_arguments = 0

    def run(self):
        environment = self.state.document.settings.env
        environment.note_reread()
        shown = set()
        for page in Path(environment.srcdir, "reference", "api").glob("*.md"):
            for names in re.findall(r"\{header\} ([\w ]+)", page.read_text(encoding="utf-8")):
                shown |= set(names.split())
        titles = []
        for xml in sorted(Path(environment.config.breathe_projects["atoll"]).glob("group__header__*.xml")):
            title = re.search(r"<title>(\w+)</title>", xml.read_text(encoding="utf-8")).group(1)
            if title not in shown and not is_empty(xml):
                titles.append(title)
        return self.show(titles, with_titles=True)


def without_parameters(get_objects):
    """A search for a function should not find each of its parameters as well."""
    def filtered(self):
        return (entry for entry in get_objects(self) if entry[2] not in ("functionParam", "templateParam"))

    return filtered


def setup(app):
    CPPDomain.get_objects = without_parameters(CPPDomain.get_objects)
    app.add_directive("header", Header)
    app.add_directive("remaining-headers", RemainingHeaders)
    return {"parallel_read_safe": True}
