# SPDX-License-Identifier: GPL-2.0
#
# Sphinx: sphinx-build -W -b html Documentation build/docs (or make docs). Our own
# are the directives mroce-counters, a table made from the lists that the module's
# counters are made from, so that the two cannot differ, and mroce-verbs, tables of
# verbs.tsv, which scripts/verbs-table makes.

import os
import re

from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.util.nodes import nested_parse_with_titles
from docutils import nodes

project = "mroce"
author = "The mroce authors"
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "sidebar_width": "220px"}
html_show_copyright = False
html_sidebars = {"**": ["globaltoc.html", "searchbox.html"]}
latex_elements = {"papersize": "a4paper"}
exclude_patterns = ["_build"]

HERE = os.path.dirname(os.path.abspath(__file__))
DRIVER = os.path.join(HERE, "..", "drivers", "mroce")
LISTS = ("transport/reason.h", "observe/counters.h")
ENTRY = re.compile(r'\bX\(([A-Z0-9_]+),\s*"([^"]+)",[\s\\]*"([^"]+)"\)')


class Counters(Directive):
    """List-table of every counter: name and meaning."""

    def run(self):
        env = self.state.document.settings.env
        lines = [".. list-table::", "   :header-rows: 1", "   :widths: 25 75", "",
                 "   * - counter", "     - what is counted"]
        for name in LISTS:
            path = os.path.realpath(os.path.join(DRIVER, name))
            env.note_dependency(path)
            with open(path, encoding="utf-8") as header:
                entries = ENTRY.findall(header.read())
            if not entries:
                raise self.error("%s: no counters found" % path)
            for symbol, counter, text in entries:
                if symbol != "NONE":
                    lines += ["   * - ``%s``" % counter, "     - " + text.replace("_", "\\_")]
        node = nodes.container()
        nested_parse_with_titles(self.state, StringList(lines, source="mroce-counters"), node)
        return node.children


class Verbs(Directive):
    """A section with a list-table for each group of verbs.tsv."""

    @staticmethod
    def text(cell):
        """A cell may have a line a kernel, and what is wrong stands out."""
        lines = []
        for line in cell.split(" | "):
            line = re.sub(r"([\\*`_|])", r"\\\1", line)
            lines.append(re.sub(r"(^|: )wrong", r"\1**wrong**", line))
        return lines if len(lines) == 1 else ["| " + line for line in lines]

    def run(self):
        path = os.path.join(HERE, "verbs.tsv")
        self.state.document.settings.env.note_dependency(path)
        with open(path, encoding="utf-8") as table:
            head, *rows = [line.rstrip("\n").split("\t") for line in table]
        lines, group = [], None
        for row in [r for r in rows if len(r) == len(head)]:
            if row[0] != group:
                group = row[0]
                title = group.replace("_", "\\_")
                lines += ["", title, "-" * len(title), "", ".. list-table::",
                          "   :header-rows: 1", "   :widths: 34 22 22 22", "", "   * - "]
                lines += ["     - " + column for column in head[2:]]
            lines.append("   * - " + self.text(row[1])[0])
            for cell in row[2:]:
                first, *rest = self.text(cell)
                lines.append("     - " + first)
                lines += ["       " + line for line in rest]
        if not lines:
            raise self.error("%s: no table" % path)
        node = nodes.section()
        node.document = self.state.document
        nested_parse_with_titles(self.state, StringList(lines, source="mroce-verbs"), node)
        return node.children


def setup(app):
    app.add_directive("mroce-counters", Counters)
    app.add_directive("mroce-verbs", Verbs)
    return {"parallel_read_safe": True}
