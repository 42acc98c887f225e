"""The page of `atoll report`: one HTML file with everything in it, and its table as text."""

import base64
import html
import os
from dataclasses import dataclass

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, .text { text-align: left; } .fact { text-align: left; white-space: pre-line; }
th { background: #f4f4f4; }
.passed { color: #00704a; } .failed { color: #b00020; font-weight: bold; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: 13px; max-width: 48rem; }
"""

TEXT_COLUMNS = {"cells", "grid", "exchange", "back end", "check", "copy", "goal", "reached", "operator", "smoother",
                "communication"}


def picture(path, caption, alternative):
    with open(path, "rb") as file:
        data = base64.b64encode(file.read()).decode("ascii")
    name = html.escape(os.path.splitext(os.path.basename(path))[0])
    return (f'<figure><img alt="{html.escape(alternative)}" src="data:image/png;base64,{data}">'
            f'<figcaption>{html.escape(caption)} (<a href="{name}.svg">SVG</a>, <a href="{name}.pdf">PDF</a>)</figcaption></figure>')


def row(cells, heading, tag):
    parts = []
    for name, cell in zip(heading, cells):
        classes = ["text"] if name in TEXT_COLUMNS else []
        if tag == "td" and name == "check":
            classes.append("failed" if "FAILED" in cell else "passed" if cell == "passed" else "off")
        attribute = f' class="{" ".join(classes)}"' if classes else ""
        parts.append(f"<{tag}{attribute}>{html.escape(cell)}</{tag}>")
    return f"<tr>{''.join(parts)}</tr>"


@dataclass
class Section:
    """What one application, or one measurement, has to show."""

    title: str
    facts: list     # pairs of texts
    pictures: list  # files, captions, and what is read to those who do not see them
    heading: list
    rows: list      # of the table, as texts
    note: str       # how to read the table

    def parts(self):
        return [
            f"<h1>{html.escape(self.title)}</h1><table>",
            *[f'<tr><td>{html.escape(k)}</td><td class="fact">{html.escape(v)}</td></tr>' for k, v in self.facts],
            "</table><h2>Pictures</h2>",
            *[picture(*each) for each in self.pictures],
            '<h2>Table</h2><div class="wide"><table>',
            row(self.heading, self.heading, "th"),
            *[row(cells, self.heading, "td") for cells in self.rows],
            f"</table></div><p>{html.escape(self.note)}</p>",
        ]


def write(path, sections):
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(', '.join(each.title for each in sections))}</title><style>{STYLE}</style></head><body>",
        *[part for each in sections for part in each.parts()],
        "</body></html>",
    ]
    partial = f"{path}.{os.getpid()}.part"
    try:
        with open(partial, "w", encoding="utf-8") as file:
            file.write("\n".join(parts))
        os.replace(partial, path)
    except OSError:
        if os.path.exists(partial):
            os.unlink(partial)
        raise


def print_table(heading, rows):
    """The same table as text."""
    widths = [max(len(row[i]) for row in [heading] + rows) for i in range(len(heading))]
    for row in [heading] + rows:
        cells = [cell.ljust(w) if name in TEXT_COLUMNS else cell.rjust(w)
                 for name, cell, w in zip(heading, row, widths)]
        print("  ".join(cells).rstrip())
