"""Sources are unpacked completely or not at all, and only if their hash is the pinned one."""
import hashlib
import io
import tarfile

import pytest
import source_package


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "lib_1.0.orig.tar.xz"
    with tarfile.open(path, "w:xz") as tar:
        for name in ("lib-1.0/LICENSE", "lib-1.0/src/a.cc", "lib-1.0/docs/b.txt", "lib-1.0/../../evil.cc"):
            member = tarfile.TarInfo(name)
            member.size = 2
            tar.addfile(member, io.BytesIO(b"x\n"))
    return path


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def wanted(path):
    return not path.startswith("docs/")


def test_only_the_wanted_files_arrive_and_none_outside(archive, tmp_path):
    target = tmp_path / "third_party/lib"
    source_package.unpack(archive, sha256(archive), wanted, target)
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert files == ["lib_1.0.orig.tar.xz", "third_party/lib/LICENSE", "third_party/lib/src/a.cc"]


def test_another_archive_is_refused(archive, tmp_path):
    with pytest.raises(ValueError, match=r"lib_1.0.orig.tar.xz: expected SHA-256 0000, found [0-9a-f]{64}"):
        source_package.unpack(archive, "0000", wanted, tmp_path / "lib")
    assert not (tmp_path / "lib").exists()


@pytest.mark.parametrize(("name", "text", "count"), [
    ("debian.sources", "Types: deb\nSuites: stable\n\nTypes: deb deb-src\nSuites: other\n", 2),
    ("old.list", "# a comment\ndeb [arch=amd64] mirror stable main\ndeb-src mirror stable main\n", 2),
])
def test_mirrors_become_mirrors_of_sources(name, text, count, tmp_path, monkeypatch):
    (tmp_path / "apt/sources.list.d").mkdir(parents=True)
    (tmp_path / "apt/sources.list.d" / name).write_text(text)
    (tmp_path / "apt/sources.list.d/off.list.disabled").write_text("deb mirror stable main\n")
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(source_package, "APT", tmp_path / "apt")
    assert source_package.source_lists(tmp_path / "out") == 1
    lines = (tmp_path / "out" / name).read_text().splitlines()
    kinds = [line for line in lines if line.startswith(("Types: deb-src", "deb-src "))]
    assert len(kinds) == count and not any(line.startswith("deb ") or line == "Types: deb" for line in lines)


def test_without_apt_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(source_package.shutil, "which", lambda _: None)
    with pytest.raises(source_package.Unavailable, match="no apt-get"):
        source_package.fetch("lib", "1.0", "0", wanted, tmp_path / "lib")
