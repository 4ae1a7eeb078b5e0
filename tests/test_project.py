"""The project's own files agree with one another."""

import json
import re
import tomllib
from importlib import metadata

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml

from crag.claims import paper_claims
from crag.paper import load_paper
from rag.experiment import MAIN_METRIC
from rag.paths import NOTEBOOKS, RESULTS, ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DEPENDENCIES = PYPROJECT["project"]["dependencies"] + PYPROJECT["project"]["optional-dependencies"]["test"]


def test_environment_equals_pyproject():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    assert environment[-1]["pip"] == sorted(DEPENDENCIES)
    assert "openjdk>=21" in environment


def test_lock_pins_every_dependency():
    pins = dict(line.split("==") for line in (ROOT / "requirements.lock").read_text().split() if "==" in line)
    for dependency in DEPENDENCIES:
        name = re.match(r"[A-Za-z0-9-]+", dependency)[0]
        assert name in pins, f"{name} is missing from requirements.lock"
        assert metadata.version(name).split("+")[0] == pins[name], f"{name} is not at its pinned version"


def notebooks():
    return sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_notebooks_are_clean(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code), "strip the outputs"
    tagged = [cell for cell in code if "parameters" in cell.metadata.get("tags", [])]
    assert [cell.source for cell in tagged] == ['profile = "smoke"']
    assert notebook.cells[0].cell_type == "markdown"
    assert "**Question.**" in notebook.cells[0].source and "**Method.**" in notebook.cells[0].source


def test_packages_depend_in_one_direction():
    def imports(package):
        return re.findall(
            r"^\s*(?:from|import) (\w+)", "\n".join(p.read_text() for p in (ROOT / package).rglob("*.py")), re.M
        )

    assert not {"crag", "diva"} & set(imports("rag"))
    assert "diva" not in imports("crag") and "crag" not in imports("diva")


PROFILES = ["mini", "full"]


def committed(profile, *names):
    """Committed tables of a profile; skips the test where they are not there, or are of an earlier form."""
    tables = [RESULTS / profile / f"{name}.csv" for name in names]
    if missing := [path.name for path in tables if not path.is_file()]:
        pytest.skip(f"{profile} has no {', '.join(missing)}: run make reproduce PROFILE={profile}")
    read = [pd.read_csv(path) for path in tables]
    if "crag_main" in names and "generator" not in read[0]:
        pytest.skip(f"the results of {profile} are of an earlier form: run make reproduce PROFILE={profile}")
    return read


def agree(table, rows, by):
    """Every value of a table is the mean of its rows that have a score, and n is their number."""
    for row in table.to_dict("records"):
        own = rows[(rows[by] == pd.Series(row)[by]).all(axis=1)][row["metric"]].dropna()
        assert own.mean() == pytest.approx(row["value"], abs=1e-6), row
        assert len(own) == row["n"], row
        assert row["ci_low"] <= row["value"] <= row["ci_high"], row


@pytest.mark.parametrize("profile", PROFILES)
def test_the_committed_main_results_come_from_their_rows(profile):
    main, rows = committed(profile, "crag_main", "crag_main_rows")
    assert list(main.columns) == "task generator system metric value ci_low ci_high n p paper".split()
    assert set(rows.columns) > {"task", "generator", "system", "question_id", "accuracy", "factscore", "trace"}
    keys = ["task", "generator", "system"]
    agree(main, rows, keys)
    assert set(map(tuple, rows[keys].drop_duplicates().to_numpy())) == set(map(tuple, main[keys].to_numpy()))
    assert main.loc[main["system"] == "rag", "p"].isna().all()
    assert main.loc[(main["system"] != "rag") & (main["metric"] == "accuracy"), "p"].notna().all()
    published = load_paper()["main"]
    for row in main[main["metric"] == main["task"].map(MAIN_METRIC)].to_dict("records"):
        number = published[row["generator"]].get(row["system"], {}).get(row["task"], np.nan)
        assert row["paper"] == pytest.approx(number / 100, nan_ok=True)
    provenance = json.loads((RESULTS / profile / "provenance.json").read_text())
    assert provenance["profile"]["name"] == profile


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", ["actions", "single_action", "operations", "web"])
def test_the_committed_ablations_come_from_their_rows(profile, name):
    table, rows = committed(profile, f"crag_{name}", "crag_ablation_rows")
    agree(table, rows[rows["table"] == name], ["family", "system"])
    published = {
        (family, system): number / 100 for family, own in load_paper()[name].items() for system, number in own.items()
    }
    assert table.set_index(["family", "system"])["paper"].to_dict() == pytest.approx(published)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_committed_claims_are_all_of_the_papers(profile):
    (table,) = committed(profile, "claims")
    claims = {claim.text: claim for claim in paper_claims()}
    assert sorted(table["claim"]) == sorted(claims)
    for row in table.itertuples():
        paper = claims[row.claim].paper
        assert row.paper == pytest.approx(np.nan if paper is None else paper, nan_ok=True)
        sure = row.p < 0.05
        assert row.verdict == ("not significant" if not sure else "reproduced" if row.effect > 0 else "contradicted")
        if "declines" not in row.claim and claims[row.claim].rows != "evaluator_rows":
            (rows,) = committed(profile, claims[row.claim].rows)
            ours, baseline = (
                rows[np.logical_and.reduce([rows[name] == value for name, value in chosen.items()])].set_index(
                    "question_id"
                )[row.metric]
                for chosen in (claims[row.claim].ours, claims[row.claim].baseline)
            )
            assert row.effect == pytest.approx((ours - baseline).mean(), abs=1e-6, nan_ok=True)


def test_readme_tables_come_from_the_results():
    from rag.readme import EVIDENCE, render

    committed(EVIDENCE, "crag_main", "retrieval", "evaluator", "thresholds", "claims")
    text = (ROOT / "README.md").read_text()
    assert render(text) == text, "run make readme"
