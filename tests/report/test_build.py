"""What a report holds, says and refuses."""

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from openrebench.analysis.errors import NotComparable, TableError
from openrebench.analysis.options import Options
from openrebench.analysis.suites import find_suite
from openrebench.analysis.table import SHIPPED_TIMES
from openrebench.report.build import build_report

FAST = Options(resamples=60)


def page(folders: list[Path], out: Path, options: Options = FAST) -> str:
    return build_report(folders, out, options=options).read_text(encoding="utf-8")


def test_without_attempts_it_draws_what_is_published(with_published, tmp_path: Path) -> None:
    html = page([], tmp_path / "report")
    assert "No attempt of your own yet" in html
    assert "Published results, full size" in html and "not comparable" in html
    assert "No human line is drawn below 8 h" in html
    frame = pl.read_csv(tmp_path / "report/tables/published-human-curve.csv")
    assert frame["budget_h"].min() == 8.0 and frame["n"][0] == 85
    assert frame["plug_in" if "plug_in" in frame.columns else "score"][0] == pytest.approx(
        0.647, abs=0.001
    )


def test_report_is_whole_stands_alone_and_is_the_same_each_time(
    make_folder, real_drawing, tmp_path: Path
) -> None:
    folder = make_folder()
    html = page([folder], tmp_path / "one")
    every_figure_is_a_file_in_three_formats_with_its_table(html, tmp_path / "one")
    page_needs_nothing_from_elsewhere(html)
    page([folder], tmp_path / "two")
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


def every_figure_is_a_file_in_three_formats_with_its_table(html: str, out: Path) -> None:
    names = re.findall(r'<figure id="([^"]+)"', html)
    expected = {
        "small-curve",
        "small-allocations",
        "small-score-calls",
        "small-outcomes",
        "small-pace",
    }
    assert expected | {"prefix_sum-small-steps", "prefix_sum-published"} <= set(names)
    for name in names:
        for kind, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
            assert (out / "figures" / f"{name}{kind}").read_bytes().startswith(start)
        assert pl.read_parquet(out / "tables" / f"{name}.parquet").height > 0
        assert (out / "tables" / f"{name}.csv").is_file()


def page_needs_nothing_from_elsewhere(html: str) -> None:
    assert "<script" not in html and "@import" not in html and "url(" not in html
    addresses = re.findall(r'(?:src|srcset|href)="([^"]*)"', html)
    assert addresses and all(a.startswith(("data:", "#")) for a in addresses)
    for address in addresses:
        if address.startswith("data:image/svg+xml;base64,"):
            svg = base64.b64decode(address.split(",", 1)[1]).decode()
            assert not re.findall(r'(?:href|src)="http', svg) and "<image" not in svg


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def test_units_and_affiliation_are_said(make_folder, with_published, tmp_path: Path) -> None:
    html = page([make_folder()], tmp_path / "report")
    assert "OpenRE-small v1 - not RE-Bench" in html
    assert "not affiliated with METR" in html
    assert "resamples=60" in html and re.search(r"Input sha256 [0-9a-f]{64}", html)
    svg = (tmp_path / "report/figures/small-curve.svg").read_text()
    assert "OpenRE-small v1 - not RE-Bench" in svg
    assert (
        "published, full size: not comparable"
        in (tmp_path / "report/figures/prefix_sum-published.svg").read_text()
    )


def test_mean_over_all_environments_with_a_panel_for_each(make_folder, tmp_path: Path) -> None:
    folder = make_folder(environments=find_suite("all").environments, n=2)
    html = page([folder], tmp_path / "report")
    assert (
        "mean over all seven environments"
        in (tmp_path / "report/figures/small-curve.svg").read_text()
    )
    panels = pl.read_csv(tmp_path / "report/tables/small-environments.csv")
    assert panels["environment"].n_unique() == 7
    assert "Sensitivity to normalisation" in html and "Area under the curve" in html


def test_no_mean_where_environments_of_the_suite_are_missing(make_folder, tmp_path: Path) -> None:
    folder = make_folder(environments=("prefix_sum", "fix_embedding"))
    html = page([folder], tmp_path / "report")
    assert "No mean over environments: suite &#39;all&#39; also has llm_foundry" in html
    assert not (tmp_path / "report/figures/small-curve.svg").exists()
    present = page([folder], tmp_path / "present", replace(FAST, present_only=True))
    assert "Means are over the environments that have attempts" in present
    svg = (tmp_path / "present/figures/small-curve.svg").read_text()
    assert "mean over prefix_sum, fix_embedding" in svg


def test_solver_that_lacks_an_environment_has_no_mean_and_is_named(
    make_folder, tmp_path: Path
) -> None:
    whole = make_folder("whole", environments=find_suite("all").environments, n=1)
    part = make_folder("part", solvers=(("lazy", "agent", 2.0),), n=1)
    html = page([whole, part], tmp_path / "report")
    assert "lazy at 2 h: no mean, attempts in 1 of 7 environments" in html
    assert "lazy" not in set(pl.read_csv(tmp_path / "report/tables/small-curve.csv")["solver"])


def test_profiles_are_kept_apart(make_folder, tmp_path: Path) -> None:
    small = make_folder("a", n=2)
    gpu = make_folder("b", n=2, profile="gpu", solvers=(("gpu bot", "agent", 0.5),))
    html = page([small, gpu], tmp_path / "report")
    assert "Profile small: OpenRE-small v1" in html and "Profile gpu: OpenRE-gpu v1" in html
    assert set(pl.read_csv(tmp_path / "report/tables/gpu-curve.csv")["solver"]) == {"gpu bot"}


def test_mixed_versions_are_refused_and_can_be_selected(make_folder, tmp_path: Path) -> None:
    old = make_folder("old")
    new = make_folder("new", version="2.0.0", solvers=(("later", "agent", 0.5),))
    with pytest.raises(NotComparable, match=r"prefix_sum differ in version \('1.0.0', '2.0.0'\)"):
        page([old, new], tmp_path / "report")
    html = page([old, new], tmp_path / "report", replace(FAST, where={"version": "2.0.0"}))
    assert "6 not version=2.0.0" in html


def test_simulated_coder_stays_out_of_the_mean_and_is_called_so(
    make_folder, tmp_path: Path
) -> None:
    real = find_suite("all").environments[:-1]
    one = make_folder("real", environments=real, n=1)
    two = make_folder(
        "sim",
        environments=("rust_codecontests",),
        n=1,
        stand_in="simulated coder",
        solvers=(("bot [simulated coder]", "agent", 0.5),),
    )
    html = page([one, two], tmp_path / "report")
    assert "Left out of the mean: rust_codecontests, whose coder is simulated." in html
    assert "in place of the real thing: simulated coder" in html
    svg = (tmp_path / "report/figures/small-curve.svg").read_text()
    assert "mean over prefix_sum" in svg and "simulated" not in svg


def test_left_out_attempts_are_counted_and_listed(make_folder, tmp_path: Path) -> None:
    good = make_folder("good")
    bad = make_folder("bad", solvers=(("broken", "agent", 0.5),), left_out="ended in our error")
    html = page([good, bad], tmp_path / "report")
    assert "3 ended in our error" in html
    rows = pl.read_csv(tmp_path / "report/tables/prefix_sum-small-attempts.csv")
    assert rows.height == 9 and rows.filter(pl.col("left_out") == "ended in our error").height == 3


def test_attempts_without_anchors_show_raw_scores_and_how_to_measure(
    make_folder, tmp_path: Path
) -> None:
    folder = make_folder(anchors="", score=None, left_out="no anchors for its device")
    html = page([folder], tmp_path / "report")
    assert "re-bench anchors prefix_sum --profile small" in html
    assert "raw score (ms)" in (tmp_path / "report/figures/prefix_sum-small-steps.svg").read_text()
    assert not (tmp_path / "report/figures/small-curve.svg").exists()


def test_attempts_on_shipped_times_are_counted(make_folder, tmp_path: Path) -> None:
    folders = [make_folder("own"), make_folder("shipped", anchors=f"x{SHIPPED_TIMES}")]
    for folder, said in zip(folders, (False, True), strict=True):
        html = page([folder], tmp_path / f"{folder.name}-report")
        assert ("are normalised by times of another machine of the same name" in html) is said


def test_official_scores_are_named_where_they_are_drawn(make_folder, tmp_path: Path) -> None:
    html = page([make_folder(official=0.4)], tmp_path / "report", replace(FAST, official=True))
    assert "official re-scores, not in-run scores" in html
    curve = pl.read_csv(tmp_path / "report/tables/small-curve.csv")
    assert curve["score"].to_list() == pytest.approx([0.4] * curve.height)


def test_cost_curve_is_drawn_where_costs_are_known(make_folder, tmp_path: Path) -> None:
    options = replace(FAST, human_attempt_usd=1855.0)
    html = page([make_folder(cost_usd=3.0)], tmp_path / "report", options)
    assert 'id="small-cost-usd"' in html
    frame = pl.read_csv(tmp_path / "report/tables/small-cost-usd.csv")
    assert frame.filter(pl.col("kind") == "human")["cost_usd"].min() == 1855.0


def test_flag_treatments_are_all_reported(make_folder, tmp_path: Path) -> None:
    good = make_folder("good", solvers=(("bot", "agent", 0.5),), environments=("prefix_sum",))
    bad = make_folder(
        "bad", flags="copied", solvers=(("bot", "agent", 0.5),), n=1, attempt="flagged"
    )
    page([good, bad], tmp_path / "report")
    rows = pl.read_csv(tmp_path / "report/tables/small-flag-treatments.csv")
    scores = dict(rows.select("treatment", "score").rows())
    assert scores["failure"] < scores["drop"] and rows["flagged"].max() == 1


def test_empty_folder_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(TableError, match="holds no attempt"):
        page([tmp_path / "nothing"], tmp_path / "report")


def test_many_solvers_and_long_names_still_draw(make_folder, tmp_path: Path) -> None:
    names = tuple(
        (f"agent number {i} with quite a long name / model", "agent", 0.5) for i in range(9)
    )
    html = page([make_folder(solvers=names, n=2)], tmp_path / "report")
    assert html.count("<figure") >= 6


def test_single_attempt_is_enough(make_folder, tmp_path: Path) -> None:
    folder = make_folder(solvers=(("bot", "agent", 2 / 60),), n=1)
    page([folder], tmp_path / "report")
    frame = pl.read_csv(tmp_path / "report/tables/small-curve.csv")
    assert frame["n"].max() == 1


def test_text_of_attempts_is_escaped(make_folder, tmp_path: Path) -> None:
    html = page([make_folder(solvers=(("<b>bot</b>", "agent", 0.5),))], tmp_path / "report")
    assert "<b>bot</b>" not in html and "&lt;b&gt;bot" in html


def test_imported_published_attempts_stand_beside_the_paper(make_folder, tmp_path: Path) -> None:
    solvers = (("human experts", "human", 8.0), ("model", "agent", 2.0))
    published = {"profile": "full", "version": "published", "has_log": False}
    folder = make_folder(
        environments=find_suite("all").environments, solvers=solvers, source="metr", **published
    )
    html = page([folder], tmp_path / "report")
    assert "Published attempts, full size" in html and "profile full: OpenRE" not in html
    rows = pl.read_csv(tmp_path / "report/tables/metr-full-paper-comparisons.csv")
    assert rows["budget_h"].to_list() == [2.0, 8.0, 32.0]
    assert rows["these_attempts"][0].startswith("can't support it: no human score at 2 h")
    assert "metr-full-percentiles.csv" in html or "Agents among humans" in html
    attempts = pl.read_csv(tmp_path / "report/tables/metr-full-attempts.csv")
    assert attempts.height == 42


def test_imports_of_other_kinds_say_where_they_come_from(make_folder, tmp_path: Path) -> None:
    folder = make_folder(source="csv", profile="full", environments=("my_environment",))
    html = page([folder], tmp_path / "report")
    assert "Imported from csv, profile full" in html
    assert "imported scores, profile full: as their source says" in html
