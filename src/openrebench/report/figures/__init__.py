"""The figures of a report, one grammar for the page and for files."""
