"""Self-contained HTML pages: the report, the horizon explorer, and the episode viewer."""

from fhtd.report.episode import watch
from fhtd.report.explorer import explore
from fhtd.report.page import Chapter, build_report, read_chapters

__all__ = ["Chapter", "build_report", "explore", "read_chapters", "watch"]
