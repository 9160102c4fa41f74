"""Self-contained HTML pages: the report, the horizon explorer, and the episode viewer."""

from fhtd.pages.episode import watch
from fhtd.pages.explorer import explore
from fhtd.pages.report import Chapter, build_report, read_chapters

__all__ = ["Chapter", "build_report", "explore", "read_chapters", "watch"]
