"""tools/setup.py lists what it installs first, installs only what is missing, and changes nothing else."""
import stat

import pytest
import setup


@pytest.fixture
def fake_apt(tmp_path, monkeypatch):
    """An apt-get that only notes how it was called; the notes stand in the file returned."""
    notes = tmp_path / "notes"
    notes.touch()
    for name in ("apt-get", "sudo", "env"):
        path = tmp_path / name
        path.write_text(f'#!/bin/sh\necho {name} "$@" >> {notes}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return notes


def rows(there):
    return [("cmake", lambda: True, "build"), ("mold", lambda: there, "fast linker")]


def test_nothing_is_installed_when_all_is_there(fake_apt, monkeypatch, capsys):
    monkeypatch.setattr(setup, "SYSTEM", rows(there=True))
    setup.install_system(dry_run=False)
    assert fake_apt.read_text() == ""
    assert "all system packages are there" in capsys.readouterr().out


@pytest.mark.parametrize(("user", "first"), [(0, "env DEBIAN_FRONTEND"), (1000, "sudo env DEBIAN_FRONTEND")])
def test_only_what_is_missing_is_installed_and_named_first(fake_apt, monkeypatch, capsys, user, first):
    monkeypatch.setattr(setup, "SYSTEM", rows(there=False))
    monkeypatch.setattr(setup.os, "geteuid", lambda: user)
    said = []
    monkeypatch.setattr(setup, "say", lambda text: said.append((text, fake_apt.read_text())))
    setup.install_system(dry_run=False)
    assert said[0] == ("these system packages are missing and will be installed by apt-get:", "")
    assert "mold" in capsys.readouterr().out
    calls = fake_apt.read_text().splitlines()
    assert all(call.startswith(first) for call in calls)
    assert calls[-1].endswith("install --no-install-recommends mold")


def test_without_root_and_sudo_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr(setup, "SYSTEM", rows(there=False))
    monkeypatch.setattr(setup.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(setup.shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    with pytest.raises(SystemExit, match="run this once as root:\n.*apt-get install mold"):
        setup.install_system(dry_run=False)


def test_what_can_be_left_out_is_installed_where_that_is_possible(fake_apt, monkeypatch, capsys):
    monkeypatch.setattr(setup, "OPTIONAL", rows(there=False))
    setup.install_optional(dry_run=False)
    assert fake_apt.read_text().splitlines()[-1].endswith("install --no-install-recommends mold")
    monkeypatch.setattr(setup, "OPTIONAL", rows(there=True))
    setup.install_optional(dry_run=False)
    assert len(fake_apt.read_text().splitlines()) == 2 and "left out" not in capsys.readouterr().out


@pytest.mark.parametrize("fails", ["no apt-get", "apt-get"])
def test_what_cannot_be_installed_and_can_be_left_out_is_named(fake_apt, monkeypatch, capsys, fails):
    monkeypatch.setattr(setup, "OPTIONAL", rows(there=False))
    if fails == "apt-get":
        (fake_apt.parent / "env").write_text("#!/bin/sh\nexit 100\n")
    else:
        monkeypatch.setattr(setup.shutil, "which", lambda name: None)
    monkeypatch.setattr(setup.os, "geteuid", lambda: 0)
    setup.install_optional(dry_run=False)
    assert "so these are left out: fast linker" in capsys.readouterr().out


def test_python_packages_are_pinned_and_onnxruntime_is_only_for_tests():
    for files in setup.REQUIREMENTS.values():
        for file in files:
            for line in (setup.ROOT / "tools/python" / file).read_text().splitlines():
                assert not line or line.startswith("#") or "==" in line, line
    assert "onnxruntime==" not in (setup.ROOT / "tools/python/runtime.txt").read_text()
    assert not list((setup.ROOT / ".venv").glob("lib/*/site-packages/onnxruntime*"))
