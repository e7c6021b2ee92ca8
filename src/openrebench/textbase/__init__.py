"""Text, tokens and small language models that several environments build on.

    corpora     documents out of Debian packages (only to build the files that ship)
    build       tokenizer and splits from the corpora: `python -m openrebench.textbase.build`
    tokens      compact token files
    gpt         the one GPT of the trusted side
    weights     safetensors, read strictly
    assets      what ships or is made here, with checksums; a cache in the user's home
    hub         Hugging Face loaders for the `full` profiles

Nothing here imports torch before it is used.
"""
