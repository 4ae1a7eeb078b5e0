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

import crag.claims
import diva.claims
from crag.paper import load_paper
from rag.claims import matching
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
@pytest.mark.parametrize(
    ("method", "paper_claims"), [("crag", crag.claims.paper_claims()), ("diva", diva.claims.paper_claims("hybrid"))]
)
def test_the_committed_claims_are_all_of_the_papers(profile, method, paper_claims):
    (table,) = committed(profile, "claims")
    assert table["method"].is_monotonic_increasing
    if method not in set(table["method"]):
        pytest.skip(f"{profile} has no claims of {method}: run make reproduce PROFILE={profile}")
    table = table[table["method"] == method]
    claims = {claim.text: claim for claim in paper_claims}
    assert sorted(table["claim"]) == sorted(claims)
    for row in table.itertuples():
        paper = claims[row.claim].paper
        assert row.paper == pytest.approx(np.nan if paper is None else paper, nan_ok=True)
        at_least = claims[row.claim].at_least
        assert row.at_least == pytest.approx(np.nan if at_least is None else at_least, nan_ok=True)
        if at_least is None:
            right, wrong = row.p < 0.05 and row.effect > 0, row.p < 0.05 and row.effect < 0
        else:
            right, wrong = row.ci_low >= at_least, row.ci_high < at_least
        assert row.verdict == ("reproduced" if right else "contradicted" if wrong else "not significant")
        if "declines" not in row.claim and claims[row.claim].rows != "evaluator_rows":
            (rows,) = committed(profile, claims[row.claim].rows)
            ours, baseline = (
                matching(rows, {**chosen, **claims[row.claim].where}).set_index("question_id")[row.metric]
                for chosen in (claims[row.claim].ours, claims[row.claim].baseline)
            )
            effect = (ours - baseline).mean() if at_least is None else baseline.mean() / ours.mean()
            assert row.effect == pytest.approx(effect, abs=1e-6, nan_ok=True)


def test_readme_tables_come_from_the_results():
    from rag.readme import EVIDENCE, render

    committed(
        EVIDENCE,
        "crag_main",
        "retrieval",
        "evaluator",
        "thresholds",
        "claims",
        "diva_main",
        "diva_ablation",
        "diva_recall",
    )
    text = (ROOT / "README.md").read_text()
    assert render(text) == text, "run make readme"


def test_divas_main_table_as_text(monkeypatch):
    from rag import readme

    row = {
        "system": "diva",
        **{"str_em": 0.5, "str_em_ci_low": 0.41236, "str_em_ci_high": 0.6, "d_f1": 0.25, "rouge_l": 0.36, "dr": 0.3},
        **{"paper_dr": 0.405, "p": 0.0004, "reader": "lexical", "llm_calls": 5.25, "tokens_in": 1234.5678},
        **{"tokens_out": 56.78, "usd": 0.706, "seconds": 12.34, "timed": 4, "n": 24},
    }
    rag = {**row, "system": "rag", "paper_dr": np.nan, "p": np.nan}
    asked = []
    monkeypatch.setattr(readme, "read_table", lambda *names: asked.append(names) or pd.DataFrame([row, rag]))
    head, line, first, second = readme.TABLES["diva_main"]().splitlines()
    assert asked == [(readme.EVIDENCE, "diva_main")]
    assert [cell.strip() for cell in head.strip("|").split("|")][:5] == [
        "system",
        "STR-EM",
        "D-F1 (lexical reader)",
        "ROUGE-L",
        "DR",
    ]
    assert first == (
        "| diva | 50.0 (41.2 to 60.0) | 25.0 | 36.0 | 30.0 | 40.5 | < 0.001 | 5.2 | 1235 | 57 | 0.71 | 12.3 |"
    )
    assert second.startswith("| rag | 50.0 (41.2 to 60.0) | 25.0 | 36.0 | 30.0 |  |  | 5.2 |")
    assert line.count("---") == head.count("|") - 1 == 12
    monkeypatch.setattr(readme, "read_table", lambda *names: pd.DataFrame([{**row, "seconds": np.nan, "timed": 0}]))
    head, _, only = readme.TABLES["diva_ablation"]().splitlines()
    assert head.endswith("| USD per 1,000 |") and only.endswith("| 57 | 0.71 |")


def test_recall_of_all_meanings_as_text(monkeypatch):
    from rag import readme

    values = {
        ("bm25", "standard", 5): 0.5,
        ("bm25", "diva", 5): 0.625,
        ("bm25", "diva", 1): 0.1,
        ("dense", "standard", 5): 1.0,
    }
    rows = [
        {"retriever": kind, "retrieval": way, "k": k, "mrecall": value, "n": 8}
        for (kind, way, k), value in {**values, ("dense", "diva", 5): 0.0}.items()
    ]
    monkeypatch.setattr(readme, "read_table", lambda *names: pd.DataFrame(rows))
    assert readme.TABLES["diva_recall"]().splitlines() == [
        "| MRecall@5 | standard | diva | n |",
        "| --- | --- | --- | --- |",
        "| bm25 | 50.0 | 62.5 | 8 |",
        "| dense | 100.0 | 0.0 | 8 |",
    ]
