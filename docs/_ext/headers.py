"""Directive `header`: what a header says of itself, and all that it declares, as Doxygen found it.

    ```{header} rma copy
    ```

`remaining-headers` shows the headers that no page names, so that a new one is on the website from its first day, until someone
gives it a place and some words of introduction.
"""

import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.domains.cpp import CPPDomain


def header_path(name):
    """Below include/, of a name like rma, experimental_heap, atoll_neighbors or atoll_array_view."""
    if not name.startswith("atoll_"):
        return f"upcxx/{name.replace('experimental_', 'experimental/')}.hpp"
    folders = {"array": "extensions/array/", "kokkos": "extensions/kokkos/", "base": "base/"}
    in_folder = re.fullmatch(r"atoll_(array|kokkos|base)_(\w+)", name)
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
        lines = StringList()
        for name in names:
            xml = folder / f"group__header__{name.replace('_', '__')}.xml"
            environment.note_dependency(str(xml))
            if not xml.exists():
                raise self.error(f"Doxygen found no header {name} (scripts/docs.sh runs it)")
            content = [f"```{{rubric}} {header_path(name)}", "```", ""] if with_titles else []
            content += introduction(environment, name)
            if not is_empty(xml):
                content += [f"```{{doxygengroup}} header_{name}", ":content-only:", "```", ""]
            for line in content:
                lines.append(line, xml.name)
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(lines, 0, node, match_titles=False)
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
