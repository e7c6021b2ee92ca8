"""One pinned language model for a solver: OpenAI's protocol over a UNIX socket, metered and capped.

wire           requests and answers as OpenAI's clients write and read them
upstream       what answers: any model that takes an `Ask`
inspect_model  a model named by an Inspect model string
meter          calls, tokens and dollars, from a journal that the solver can't write
service        the broker: one request in, one answer out
door           the socket, and HTTP
"""
