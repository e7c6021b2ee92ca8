"""Turn a model into a graph of basic operations, check it against the rules, and run it.

The scorer uses exactly these files. This folder needs torch and safetensors and nothing else,
so that it works in a workspace too.
"""
