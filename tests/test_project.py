"""The project's own files agree with one another."""

import json
import re
import tomllib
from importlib import metadata

import nbformat
import pandas as pd
import pytest
import yaml

from rag.paths import NOTEBOOKS, RESULTS, ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DEPENDENCIES = PYPROJECT["project"]["dependencies"] + PYPROJECT["project"]["optional-dependencies"]["test"]
SYSTEMS = frozenset(
    ("closed-book rag crag self-rag self-crag self-crag-all cove query-refinement iterative-rag diva diva-crag").split()
)


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


@pytest.mark.parametrize("profile", ["mini", "full"])
def test_committed_results(profile):
    main = pd.read_csv(RESULTS / profile / "crag_main.csv")
    assert set(main["system"]) <= set(SYSTEMS)
    rows = pd.read_csv(RESULTS / profile / "crag_main_rows.csv")
    for (task, system), own in rows.groupby(["task", "system"]):
        reported = main[(main["task"] == task) & (main["system"] == system)].set_index("metric")
        for metric in reported.index:
            assert own[metric].mean() == pytest.approx(reported.loc[metric, "value"], abs=1e-6)
            assert len(own) == reported.loc[metric, "n"]
    provenance = json.loads((RESULTS / profile / "provenance.json").read_text())
    assert provenance["profile"]["name"] == profile


def test_readme_tables_come_from_the_results():
    from rag.readme import render

    text = (ROOT / "README.md").read_text()
    assert render(text) == text, "run make readme"
