"""Fetches the source package of a library with apt-get and unpacks it into third_party/, to build it with our library.

The system is not changed and root is not needed: apt-get gets folders of its own, and the machine's list of mirrors
with the type 'deb-src'. tools/setup.py uses this module.
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

APT = pathlib.Path("/etc/apt")


class Unavailable(Exception):  # noqa: N818  (what it says of the package)
    """The package is not available here; the text says why."""


def source_lists(folder):
    """Writes the machine's list of mirrors, with the type deb-src, into `folder`. Returns their number."""
    count = 0
    for path in [APT / "sources.list", *sorted((APT / "sources.list.d").glob("*"))]:
        if not path.is_file() or path.suffix not in (".list", ".sources"):
            continue
        text = path.read_text(errors="replace")
        if path.suffix == ".list":
            text = re.sub(r"(?m)^deb(?=\s)", "deb-src", text)
        else:
            text = re.sub(r"(?m)^Types:.*$", "Types: deb-src", text)
        if "deb-src" in text:
            (folder / path.name).write_text(text)
            count += 1
    return count


def fetch(name, version, sha256, wanted, target):
    """Unpacks the original sources of `name` `version` into `target`, as far as wanted(path) is true.

    Raises Unavailable if apt-get, its mirrors or this version are missing, and ValueError if the hash of the archive is
    not `sha256`.
    """
    if not shutil.which("apt-get"):
        raise Unavailable("there is no apt-get")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for part in ("sources", "lists/partial", "files"):
            (folder / part).mkdir(parents=True)
        if not source_lists(folder / "sources"):
            raise Unavailable(f"apt-get has no mirrors in {APT}")
        settings = {"Dir::Etc::sourcelist": "/dev/null", "Dir::Etc::sourceparts": folder / "sources",
                    "Dir::State::lists": folder / "lists", "Dir::Cache::pkgcache": "", "Dir::Cache::srcpkgcache": "",
                    "APT::Sandbox::User": "root" if os.geteuid() == 0 else ""}
        apt = ["apt-get", "-qq", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}"))]
        for arguments in (["update"], ["source", "--download-only", f"{name}={version}"]):
            done = subprocess.run([*apt, *arguments], cwd=folder / "files", capture_output=True, text=True)
            if done.returncode:
                lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
                raise Unavailable(f"apt-get {arguments[0]}: {lines[-1]}")
        archives = list((folder / "files").glob("*.orig.tar.*"))
        if len(archives) != 1:
            raise Unavailable(f"expected one archive of original sources, found {len(archives)}")
        unpack(archives[0], sha256, wanted, target)


def unpack(archive, sha256, wanted, target):
    """Unpacks the archive without its top folder. `target` appears only when it is complete."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != sha256:
        raise ValueError(f"{archive.name}: expected SHA-256 {sha256}, found {found}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder, tarfile.open(archive) as tar:
        made = pathlib.Path(folder) / target.name
        made.mkdir()
        for member in tar.getmembers():
            path = pathlib.PurePosixPath(*pathlib.PurePosixPath(member.name).parts[1:])
            if member.isfile() and ".." not in path.parts and wanted(str(path)):
                to = made / path
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(tar.extractfile(member).read())
        if target.exists():
            shutil.rmtree(target)
        made.rename(target)
