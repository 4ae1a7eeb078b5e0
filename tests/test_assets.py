"""Downloads are checked and appear whole or not at all."""

import errno
import hashlib
import subprocess
import zipfile

import pytest

from rag import assets
from rag.assets import Asset, build_folder, download_wheel, fetch
from rag.errors import RagError


def wheel_of(tmp_path, members):
    path = tmp_path / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def tiny(tmp_path, cache_folder, monkeypatch):
    """An asset whose wheel is made here; the list counts its downloads."""
    wheel = wheel_of(tmp_path, {"tiny/data/a.txt": "A", "tiny/data/sub/b.txt": "B", "tiny/code.py": "x"})
    asset = Asset("tiny", "1.0", hashlib.sha256(wheel.read_bytes()).hexdigest(), "tiny/data/", "none")
    calls = []
    monkeypatch.setattr(assets, "download_wheel", lambda asset, folder: calls.append(1) or wheel)
    return asset, calls


def test_only_the_wanted_files_are_unpacked_once(tiny):
    asset, calls = tiny
    folder = fetch(asset)
    assert {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*.txt")} == {
        "a.txt": "A",
        "sub/b.txt": "B",
    }
    assert not list(folder.rglob("*.py"))
    assert fetch(asset) == folder
    assert len(calls) == 1


def test_a_bad_checksum_leaves_nothing(tiny, cache_folder):
    asset = Asset("tiny", "1.0", "0" * 64, "tiny/data/", "none")
    with pytest.raises(RagError, match="sha256"):
        fetch(asset)
    assert [path.name for path in (cache_folder / "assets").iterdir()] == [".tiny-1.0.lock"]


def test_a_path_out_of_the_folder_is_refused(tmp_path, cache_folder, monkeypatch):
    wheel = wheel_of(tmp_path, {"tiny/data/../../../evil.txt": "x"})
    asset = Asset("tiny", "1.0", hashlib.sha256(wheel.read_bytes()).hexdigest(), "tiny/data/", "none")
    monkeypatch.setattr(assets, "download_wheel", lambda asset, folder: wheel)
    with pytest.raises(RagError, match="unsafe path"):
        fetch(asset)
    assert not list(tmp_path.rglob("evil.txt"))


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path):
    def build(folder):
        (folder / "half").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(RagError, match="No space left on device; free some disk space"):
        build_folder(tmp_path / "target", build)
    assert [path.name for path in tmp_path.iterdir()] == [".target.lock"]


def test_other_errors_are_not_called_a_full_disk(tmp_path):
    def build(folder):
        raise OSError("no such model")

    with pytest.raises(OSError, match="no such model"):
        build_folder(tmp_path / "target", build)
    assert not (tmp_path / ".target").exists()


def test_what_a_killed_run_left_is_removed(tmp_path):
    (tmp_path / ".target").mkdir()
    (tmp_path / ".target" / "half").write_text("half")
    build_folder(tmp_path / "target", lambda folder: (folder / "whole").write_text("whole"))
    assert [path.name for path in (tmp_path / "target").iterdir()] == ["whole"]
    assert not (tmp_path / ".target").exists()


def test_a_missing_registry_is_one_line(tmp_path, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "noise\nERROR: No matching distribution found for tiny==1.0\n")
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: failed)
    with pytest.raises(RagError, match=r"cannot download tiny==1\.0 .*No matching distribution") as caught:
        download_wheel(Asset("tiny", "1.0", "", "", ""), tmp_path)
    assert "\n" not in str(caught.value)
