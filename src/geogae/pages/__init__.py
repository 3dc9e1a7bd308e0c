"""Pages: the explorer and the report, each a single HTML file that works offline."""

from geogae.pages.explore import explore

__all__ = ["explore"]
