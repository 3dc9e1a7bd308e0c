"""Pages: the explorer and the reports, each a single HTML file that works offline."""

from geogae.pages.explore import explore
from geogae.pages.run_report import run_report
from geogae.pages.scores_report import scores_report

__all__ = ["explore", "run_report", "scores_report"]
