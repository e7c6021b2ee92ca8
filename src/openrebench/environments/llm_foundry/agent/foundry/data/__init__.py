"""From rows of text to batches."""
