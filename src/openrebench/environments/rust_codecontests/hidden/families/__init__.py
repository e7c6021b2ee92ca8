"""Problem families: each module has one FAMILY of several problems that share a story and an input.

Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51
"""
