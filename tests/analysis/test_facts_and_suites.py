"""Shipped facts and named lists of environments."""

import pytest

from openrebench.analysis.errors import TableError
from openrebench.analysis.facts import human_attempts, published_environments, published_results
from openrebench.analysis.suites import find_suite, load_suites


def test_every_fact_has_its_source() -> None:
    for table in (
        published_environments(),
        human_attempts("eval_analysis"),
        human_attempts("readme_tables"),
        published_results(),
    ):
        assert table["source"].null_count() == 0 and (table["source"].str.len_chars() > 5).all()


def test_collections_of_human_attempts_have_the_known_sizes_and_are_never_pooled() -> None:
    rows = human_attempts("eval_analysis")
    assert rows.height == 93 and rows["environment"].n_unique() == 7
    tables = human_attempts("readme_tables")
    assert tables.filter(row_kind="full").height == 61
    assert tables.filter(row_kind="partial").height == 2
    assert human_attempts().equals(rows)


def test_human_normalised_results_are_on_a_scale_of_their_own() -> None:
    results = published_results()
    apart = results.filter(scale="human")
    assert apart["score"].to_list() == [1.04, 1.27]
    assert set(results["scale"]) >= {"reference", "human", "own", "qualitative"}
    assert results.filter(scale="reference")["score"].null_count() == 0


def test_suites_hold_published_environments_only() -> None:
    suites = load_suites()
    assert set(suites) == {"all", "gdm5", "horizon5", "metr5", "no_network", "small"}
    known = set(published_environments()["environment"])
    for suite in suites.values():
        assert set(suite.environments) <= known and suite.title and suite.source
    assert len(suites["all"].environments) == 7
    assert suites["gdm5"].environments == suites["no_network"].environments
    assert {"gpt2_qa", "rust_codecontests"}.isdisjoint(suites["gdm5"].environments)
    assert {"scaling_law", "restricted_mlm"}.isdisjoint(suites["metr5"].environments)
    assert {"llm_foundry", "restricted_mlm"}.isdisjoint(suites["horizon5"].environments)


def test_unknown_suite_is_refused_with_those_there_are() -> None:
    with pytest.raises(TableError, match="no suite named 'six'; there are: all, gdm5"):
        find_suite("six")
