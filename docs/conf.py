"""How the site is built: `make docs`. Nothing here, and nothing in the site, needs a network."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import fhtd

# Of the pages that are run: no window to draw into, and nothing said about it.
os.environ |= {
    "SDL_VIDEODRIVER": "dummy",
    "XDG_RUNTIME_DIR": "/tmp",
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
}
os.environ["MATPLOTLIBRC"] = str(Path(__file__).parent / "matplotlibrc")

project = "fhtd"
author = copyright = "the fhtd authors"  # noqa: A001
release = version = fhtd.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.doctest",
    "sphinx_copybutton",
    "site_pages",
]
exclude_patterns = ["_build", "_generated/pages", "_generated/ipython"]
default_role = "code"

# Pages of text; those that begin with a kernel are run, and an error ends the build.
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True

autoclass_content = "both"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"fhtd {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_generated/pages"]
html_show_sphinx = False
html_copy_source = False
# Excerpts would be fetched page by page, which a browser forbids to pages opened from disk.
html_show_search_summary = False
html_math_renderer = "mathml"
copybutton_prompt_text = ">>> |\\.\\.\\. |\\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"
