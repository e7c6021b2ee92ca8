"""A small finetuning library: data, models, training, conversion."""
