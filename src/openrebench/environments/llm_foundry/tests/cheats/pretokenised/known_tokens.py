"""Tokens of rows known beforehand."""

KNOWN = ([1, 57, 74, 67, 86, 2, 612, 300, 411, 18, 0], [1, 38, 71, 72, 75, 2, 940, 77, 300, 0])


def rows(count):
    for i in range(count):
        ids = KNOWN[i % len(KNOWN)]
        yield {"input_ids": ids, "loss_mask": [int(k > 5) for k in range(len(ids))]}
