"""One self-contained HTML page of everything that was reproduced."""

from fhtd.report.page import Chapter, build_report, read_chapters

__all__ = ["Chapter", "build_report", "read_chapters"]
