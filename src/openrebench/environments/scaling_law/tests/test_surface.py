"""The truth is a surface in two dimensions, smooth, and as exact as is said of it."""

import json

import numpy as np
import pytest

from openrebench.core.catalog import find_card
from openrebench.environments.scaling_law.environment import surface_file, surface_of
from openrebench.environments.scaling_law.recipe import Family
from openrebench.environments.scaling_law.surface import Cells, errors_left_out

CARD = find_card("scaling_law")
STATED_ERROR = {"small": 0.022, "gpu": 0.04}  # nats, also in docs/environments/scaling_law.md
OUTLIER_SDS = 4.0


@pytest.fixture(params=["small", "gpu"])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def cells_of(name: str) -> Cells:
    return Cells.load(surface_file(CARD.folder, CARD.profile(name)))


def test_the_sweep_covers_the_ridge_with_at_least_three_seeds(name: str) -> None:
    profile, cells = CARD.profile(name), cells_of(name)
    family, budget = Family.of(profile), float(profile.parameters["c_big"])
    share = np.array(
        [
            family.flop(int(d), int(s)) / budget
            for d, s in zip(cells.widths, cells.iterations, strict=True)
        ]
    )
    assert cells.losses.shape[1] >= 3
    for width in np.unique(cells.widths):
        here = share[cells.widths == width]
        assert here.min() < 0.9 and here.max() > 1.1 and len(here) >= 3, width
    ends = profile.integer("min_width"), profile.integer("max_width")
    assert (cells.widths.min(), cells.widths.max()) == ends


def test_the_surface_has_the_stated_error(name: str) -> None:
    profile, cells = CARD.profile(name), cells_of(name)
    budget = float(profile.parameters["c_big"])
    errors = errors_left_out(Family.of(profile), budget, cells)
    assert np.abs(errors).max() <= STATED_ERROR[name]


def test_no_single_cell_is_an_outlier(name: str) -> None:
    profile, cells = CARD.profile(name), cells_of(name)
    surface = surface_of(CARD.folder, profile)
    residuals = cells.centres - surface.losses(cells.widths, cells.iterations)
    deviations = np.abs(residuals) / (1.4826 * np.median(np.abs(residuals)))
    worst = int(deviations.argmax())
    assert deviations[worst] < OUTLIER_SDS, (cells.widths[worst], cells.iterations[worst])


def test_both_directions_matter(name: str) -> None:
    profile, surface = CARD.profile(name), surface_of(CARD.folder, CARD.profile(name))
    lowest, highest = profile.integer("min_width"), profile.integer("max_width")
    best, width = surface.best(lowest, highest, 1.0)
    assert lowest < width < highest, "the best width lies inside"
    for edge in (lowest, highest):
        steps = surface.family.iterations(edge, surface.budget)
        assert surface.loss(edge, steps) > best + 0.08, edge
    fewer, more = (surface.family.iterations(width, k * surface.budget) for k in (0.9, 1.1))
    assert surface.loss(width, fewer) > surface.loss(width, more) + 0.02


def test_the_tuned_rate_beats_half_and_twice_of_it(name: str) -> None:
    """Up to the noise of seeds, at every width of the sweep."""
    found = json.loads(surface_file(CARD.folder, CARD.profile(name)).read_text())
    cells = cells_of(name)
    at_rule = {(c["n_embd"], c["max_iters"]): np.median(c["losses"]) for c in found["cells"]}
    for other in found["other_rates"]:
        tuned = at_rule[other["n_embd"], other["max_iters"]]
        assert tuned < np.median(other["losses"]) + max(2 * cells.seed_spread, 0.02), other
