"""Canonical labelling: graphs that differ in the numbering of their nodes alone become one; no geometry."""
