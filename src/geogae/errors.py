"""The one exception of the library."""


class GeoGAEError(ValueError):
    """Input or state that geogae cannot work with; its one line names the value, the limit and the remedy."""
