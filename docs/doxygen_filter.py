#!/usr/bin/python3
"""What Doxygen reads instead of a header: the interface, without implementation and without what Doxygen cannot parse.

Lines keep their numbers. All of a header becomes one group, which a page of the website shows.
"""

import re
import sys

path = sys.argv[1]
text = open(path, encoding="utf-8").read()


def blank(match):
    return "\n" * match.group().count("\n")


def without_constraints(text):
    """Drops `requires(...)`: the text beside the declaration says what is accepted."""
    text = re.sub(r"\brequires [\w:]+<[^()\n]*>::value\b", "", text)
    pieces, end = [], 0
    for match in re.finditer(r"(?<!= )\brequires\(", text):
        if match.start() < end:
            continue
        pieces.append(text[end : match.start()])
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        pieces.append("\n" * text.count("\n", match.start(), end))
    return "".join(pieces) + text[end:]


def without_tags(text):
    """In comments outside code, `<word>` is a word and no tag of HTML."""
    lines, fenced = [], False
    for line in text.split("\n"):
        is_comment = re.match(r"\s*///", line)
        if not is_comment:
            fenced = False
        elif "```" in line:
            fenced = not fenced
        elif not fenced:
            parts = line.split("`")
            parts[::2] = [re.sub(r"<(?=\w)", "&lt;", part) for part in parts[::2]]
            line = "`".join(parts)
        lines.append(line)
    return "\n".join(lines)


# The library's own entry points are hidden in the headers of the specification; extensions are namespace atl.
hidden = r"(detail|atl::(?!kokkos)\w+(::\w+)*|(upcxx|atl|atl::kokkos)::inline UPCXX_MODE::detail" + ("" if "/atoll/" in path else "|atl") + ")"
text = re.sub(rf"^namespace {hidden} \{{$.*?^\}}  // namespace \1$", blank, text, flags=re.M | re.S)
text = re.sub(r"^(///[^\n]*\n)*template <[^\n]*>\nstruct std::hash<.*?^\};$", blank, text, flags=re.M | re.S)
text = re.sub(r" : (private|protected) (atl|detail)::[\w:]+(<\w+>)?", "", text)
text = re.sub(r"^struct global_ptr : global_ptr<T const, Kind>", "struct global_ptr", text, flags=re.M)
text = re.sub(r"\A#pragma once\n(// header check[^\n]*\n)?\n(///[^\n]*\n)+", blank, text)  # the pages show it, see headers.py
# Macros, but for those that Doxygen expands (Doxyfile) because they declare members.
text = re.sub(r"^(///[^\n]*\n)*#define ATOLL_(?!ATOMIC_)(\\\n|[^\n])*$", blank, text, flags=re.M)
text = re.sub(r"^(  )?(static )?(typename )?(decltype\(detail::[^()]*\(\)\)|detail::[\w:]+<[^()]*>)::type (?=\w+\()", r"\1\2auto ", text, flags=re.M)
text = re.sub(r"^(template <[^\n]*>\n)?(struct|class) \w+;$", blank, text, flags=re.M)  # forward declarations
text = re.sub(r"^template <[^\n]*>\n\w+\([^\n]*\) -> [^\n]*;$", blank, text, flags=re.M)  # deduction guides
text = re.sub(r"^ *(template <[^\n]*>\s+)?friend [^;{]*;$", blank, text, flags=re.M)
text = re.sub(r"^(template <[^\n]*>\n)?inline [^\n(]*\w(<\w+>)?::\w+\(.*?^\}$", blank, text, flags=re.M | re.S)  # members
text = re.sub(r"^(inline constexpr auto \w+) *= *\[[^\n]*\};$", r"\1;", text, flags=re.M)  # function objects
text = re.sub(r"\bATOLL_(NODISCARD_\w+|ANYWHERE) ", "", text)
text = without_constraints(without_tags(text))

# Doxygen lets a group hold what is in a namespace only if the group begins inside, and macros are outside: no namespace
# then. The pages say in which one all is.
text = re.sub(r"^(namespace ((upcxx|atl|atl::kokkos)::inline UPCXX_MODE(::experimental|::device)?|experimental|atl|device) \{|\}  // namespace (upcxx|atl|experimental|device)\b[^\n]*)$", "", text, flags=re.M)
name = re.sub(r".*include/(upcxx/)?|\.(hpp|cuh)$", "", path).replace("detail/", "").replace("extensions/", "").replace("/", "_")
sys.stdout.write(f"/** @defgroup header_{name} {name}\n@{{ */ {text}/** @}} */\n")
