"""Scores at points in time, against core's own reading of a score log."""

import numpy as np
import pytest

from openrebench.analysis.score_at_time import calls_at, scores_at

TIMES = np.array([10.0, 20.0, 30.0])


def test_best_valid_score_by_then_counts(make_logged) -> None:
    table = make_logged(({"length_s": 30.0}, [(5, 0.2), (12, 0.1), (20, None), (25, 0.7)]))
    found = scores_at(table, TIMES)
    assert found.values.tolist() == [[0.2, 0.2, 0.7]]
    assert found.known.all()


def test_entry_counts_at_the_moment_it_was_asked_for(make_logged) -> None:
    table = make_logged(({"length_s": 30.0}, [(10.0, 0.3), (20.0 + 1e-9, 0.6)]))
    assert scores_at(table, TIMES).values.tolist() == [[0.3, 0.6, 0.6]]


def test_zero_before_the_first_valid_entry_and_below_the_start(make_logged) -> None:
    table = make_logged(
        ({"length_s": 30.0}, [(1, None), (15, -0.4)]),
        ({"length_s": 30.0}, []),
    )
    found = scores_at(table, TIMES)
    assert not found.values.any()
    assert found.known.all()


def test_last_valid_answer_counts_where_the_environment_says_so(make_logged) -> None:
    log = [(5, 0.9), (15, 0.2), (18, None), (25, -3.0)]
    table = make_logged(({"length_s": 30.0, "counts": "last"}, log), ({"length_s": 30.0}, log))
    assert scores_at(table, TIMES).values.tolist() == [[0.9, 0.2, 0.0], [0.9, 0.9, 0.9]]


def test_last_of_several_answers_at_one_moment_is_the_later_in_the_log(make_logged) -> None:
    table = make_logged(({"length_s": 30.0, "counts": "last"}, [(5, 0.9), (5, 0.1)]))
    assert scores_at(table, TIMES).values[0, 0] == 0.1


def test_attempt_says_nothing_of_times_beyond_its_length(make_logged) -> None:
    table = make_logged(({"length_s": 20.0}, [(5, 0.5)]))
    assert scores_at(table, TIMES).known.tolist() == [[True, True, False]]


def test_attempt_without_a_log_says_nothing_of_shorter_times(make_table) -> None:
    table = make_table({"length_s": 20.0, "score": 0.4})
    found = scores_at(table, TIMES)
    assert found.known.tolist() == [[False, True, False]]
    assert found.values[0, 1] == 0.4


def test_attempt_without_anchors_has_no_score_at_any_time(make_table) -> None:
    table = make_table({"length_s": 20.0, "score": None})
    assert not scores_at(table, TIMES).known.any()


@pytest.mark.parametrize("counts", ["best", "last"])
def test_random_logs_read_as_a_loop_reads_them(make_logged, counts: str) -> None:
    rng = np.random.default_rng(3)
    logs = []
    for _ in range(30):
        size = int(rng.integers(0, 12))
        at_s = np.sort(rng.uniform(0, 40, size)).round(1)
        valid = rng.random(size) < 0.7
        scores = rng.normal(0.2, 0.5, size)
        logs.append(
            [
                (float(t), float(s) if v else None)
                for t, s, v in zip(at_s, scores, valid, strict=True)
            ]
        )
    table = make_logged(*[({"length_s": 40.0, "counts": counts}, log) for log in logs])
    times = np.linspace(0, 40, 9)
    found = scores_at(table, times)
    for i, log in enumerate(logs):
        for j, t in enumerate(times):
            valid_scores = [max(0.0, s) for at, s in log if s is not None and at <= t]
            pick = (
                max
                if counts == "best"
                else (lambda values, default: values[-1] if values else default)
            )
            assert found.values[i, j] == pytest.approx(pick(valid_scores, default=0.0))


def test_calls_are_counted_by_time_and_unknown_calls_stay_unknown(make_logged, make_table) -> None:
    logged = make_logged(({"length_s": 30.0}, [(5, 0.1), (15, None), (15, 0.2)]))
    assert calls_at(logged, TIMES).tolist() == [[1.0, 3.0, 3.0]]
    plain = make_table({"score_calls": 7}, {"score_calls": None})
    counted = calls_at(plain, TIMES)
    assert counted[0].tolist() == [7.0, 7.0, 7.0] and np.isnan(counted[1]).all()
