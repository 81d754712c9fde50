"""How Sphinx builds these pages: Markdown by MyST, looks by furo, any warning is an error in `make docs`."""

from numaplace import __version__

project = "numaplace"
author = "The numaplace authors"
copyright = "The numaplace authors, Apache-2.0"
version = release = __version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3  # sources.md#smt and the like

html_theme = "furo"
html_title = "numaplace"
html_copy_source = False
exclude_patterns = ["_build"]
