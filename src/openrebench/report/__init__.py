"""Tables and figures from attempts: one HTML file, with every figure and table as a file too."""
