"""The website: Sphinx reads docs/ (Markdown) and what Doxygen found in the headers. scripts/docs.sh builds it."""

import re
import sys
from pathlib import Path

here = Path(__file__).parent
root = here.parent
sys.path.insert(0, str(here / "_ext"))

project = "Atoll"
author = "the Atoll contributors"
copyright = "the Atoll contributors"
version = release = re.search(r"project\(atoll VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text()).group(1)

extensions = ["myst_parser", "breathe", "headers", "plots"]
root_doc = "index"
exclude_patterns = ["README.md", "_build"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

breathe_projects = {"atoll": str(root / "build" / "docs" / "xml")}
breathe_default_project = "atoll"
breathe_default_members = ("members",)
breathe_show_include = False
breathe_show_define_initializer = False
cpp_id_attributes = ["ATOLL_EXPORT"]
primary_domain = "cpp"
highlight_language = "none"

# Debian's and Ubuntu's package of this theme is whole (scripts and fonts included) and looks the same in all their releases;
# furo's lacks what its page refers to in Debian 12.
html_theme = "sphinx_rtd_theme"
html_title = f"Atoll {release}"
html_static_path = ["_static"]
html_css_files = ["atoll.css"]
html_favicon = "_static/atoll.svg"
html_show_sourcelink = False
html_copy_source = False
html_logo = "_static/atoll.svg"
html_theme_options = {
    "collapse_navigation": False,
    "style_external_links": False,
    "style_nav_header_background": "#00525f",
}
pygments_style = "friendly"
