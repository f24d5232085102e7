"""The only importers of device libraries and the only callers of outside tools."""
