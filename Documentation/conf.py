# SPDX-License-Identifier: GPL-2.0
#
# Sphinx: sphinx-build -W -b html Documentation build/docs (or make docs). The one
# thing of our own is the directive mroce-counters, a table made from the lists
# that the module's counters are made from, so that the two cannot differ.

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


def setup(app):
    app.add_directive("mroce-counters", Counters)
    return {"parallel_read_safe": True}
