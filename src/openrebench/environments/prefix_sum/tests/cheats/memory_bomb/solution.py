"""Take memory until something breaks."""


def prefix_sum(x):
    kept = []
    while True:
        kept.append(b"x" * (256 << 20))
