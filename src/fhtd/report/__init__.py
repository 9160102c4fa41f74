"""One self-contained HTML page of everything that was reproduced."""

from fhtd.report.page import build_report, read_summaries

__all__ = ["build_report", "read_summaries"]
