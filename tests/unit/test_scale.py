import math

import pytest

from openrebench.core.scale import ScoreScale


def scale(**changes) -> ScoreScale:
    values = {"unit": "u", "direction": "lower", "transform": "log", "start": 8.0, "reference": 2.0}
    return ScoreScale(**(values | changes))


@pytest.mark.parametrize("transform", ["identity", "log", "log_offset"])
@pytest.mark.parametrize(("direction", "start", "reference"), [("lower", 8, 2), ("higher", 2, 8)])
def test_start_is_zero_reference_one_and_better_is_larger(transform, direction, start, reference):
    s = scale(
        transform=transform, direction=direction, start=start, reference=reference, offset=1.5
    )
    assert s.normalize(start) == 0
    assert s.normalize(reference) == pytest.approx(1)
    better, worse = (1.6, 9.0) if direction == "lower" else (9.0, 1.6)
    assert s.normalize(better) > 1 and s.normalize(worse) < 0
    assert s.better(better, worse) and not s.better(worse, better)


def test_log_offset_is_the_logarithm_above_the_offset():
    assert scale(transform="log_offset", offset=1.5).transformed(2.5) == 0
    assert scale(transform="log").transformed(math.e) == pytest.approx(1)


@pytest.mark.parametrize("raw", [0.0, -1.0, math.nan, math.inf])
def test_a_raw_score_off_the_scale_is_refused(raw):
    with pytest.raises(ValueError, match="raw score"):
        scale().normalize(raw)
