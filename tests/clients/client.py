"""What the scripts of this folder have in common: where clients are installed, the two sides, what a run maps."""
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/clients"
PROGRAMS = HERE / "programs"
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release")).resolve()
CACHE = pathlib.Path(os.environ.get("SARDONYX_CLIENTS", pathlib.Path.home() / ".cache/sardonyx-clients")).resolve()
STOCK_VERSION = "1.31.1"
DEBIAN_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

# Files with ONNX Runtime in them, or with Sardonyx under one of its names.
_RUNTIMES = re.compile(r"/(libonnxruntime\.so[^/]*|onnxruntime_pybind11_state[^/]*|libsardonyx\.so[^/]*)$")


class ClientError(Exception):
    """A step of a client that has to work for its tests to mean anything."""


@dataclasses.dataclass
class Side:
    """The released ONNX Runtime ("stock") or Sardonyx ("ours"): its library, its package, and what runs have mapped."""
    name: str
    library: pathlib.Path
    package: pathlib.Path | None  # a folder for PYTHONPATH; None where the client's environment has the package
    log: pathlib.Path  # everything that its commands print
    mapped: dict = dataclasses.field(default_factory=dict)  # by path: whether it is Sardonyx

    def run(self, *argv, cwd=None, env=None, timeout=900, check=False):
        """Runs a command of the client; gives what it printed. Its mapped files are read while it runs."""
        full = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SDX_", "LD_"))}
        full |= {"PYTHONDONTWRITEBYTECODE": "1"} | (env or {})
        if self.package is not None:
            full["PYTHONPATH"] = os.pathsep.join(filter(None, [str(self.package), full.get("PYTHONPATH")]))
        with subprocess.Popen([str(a) for a in argv], cwd=cwd, env=full, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              start_new_session=True) as process:
            over = threading.Event()
            watcher = threading.Thread(target=self._watch, args=(process.pid, over))
            watcher.start()
            try:
                output, _ = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                output += f"\n(stopped after {timeout} seconds)"
            finally:
                over.set()
                watcher.join()
        with self.log.open("a") as log:
            log.write(f"$ {' '.join(map(str, argv))}\n{output}\n(status {process.returncode})\n\n")
        if check and process.returncode != 0:
            raise ClientError(f"{argv[0]} ended with {process.returncode}:\n" + output[-4000:])
        return Output(output, process.returncode)

    def _watch(self, group, over):
        started = time.monotonic()
        while not over.wait(min(0.25, 0.01 + (time.monotonic() - started) / 400)):  # rarely where a run takes long
            for entry in pathlib.Path("/proc").iterdir():
                if not entry.name.isdigit():
                    continue
                try:
                    if os.getpgid(int(entry.name)) != group:
                        continue
                    for line in (entry / "maps").read_text(errors="replace").splitlines():
                        path = line.split(maxsplit=5)[5:]
                        file = path[0].removesuffix(" (deleted)") if path else ""
                        if _RUNTIMES.search(file) and file not in self.mapped:
                            self.mapped[file] = self.is_ours(file)  # at once: programs delete what they unpack
                except (OSError, ProcessLookupError):
                    continue  # it has ended

    def is_ours(self, path):
        """Whether a mapped file is Sardonyx: a file of the build, or a copy of the library."""
        place = pathlib.Path(path)
        if place.resolve().is_relative_to(BUILD.resolve()):
            return True
        return place.exists() and any(place.read_bytes() == (BUILD / "lib" / name).read_bytes()
                                      for name in ("libonnxruntime.so.1", "libsardonyx.so"))

    def wrong_files(self):
        """Mapped files that do not belong to this side, or a note that none of its own was mapped."""
        ours = {path for path, is_ours in self.mapped.items() if is_ours}
        others = self.mapped.keys() - ours
        right, wrong = (ours, others) if self.name == "ours" else (others, ours)
        return sorted(wrong) if right else [*sorted(wrong), "(none of its own)"]


@dataclasses.dataclass
class Output:
    text: str
    status: int


def must(*argv, cwd=None, env=None, timeout=1800, stderr=False):
    """A step of an installation; gives what it printed."""
    done = subprocess.run([str(a) for a in argv], cwd=cwd, env=os.environ | (env or {}), text=True, errors="replace",
                          capture_output=True, timeout=timeout)
    if done.returncode != 0:
        raise ClientError(f"{' '.join(map(str, argv))} ended with {done.returncode}:\n"
                          f"{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout + (done.stderr if stderr else "")


def make_venv(place, *requirements):
    """A virtual environment in `place`/venv with these packages; gives its Python. Where the machine has uv, uv
    makes it: environments then share the files of their packages, of which torch brings 6 GB."""
    python = place / "venv/bin/python"
    if shutil.which("uv"):
        must("uv", "venv", "-q", "--clear", "--seed", "--python", sys.executable, place / "venv")
        must("uv", "pip", "install", "-q", "--python", python, *requirements)
        return python
    must(sys.executable, "-m", "venv", "--clear", place / "venv")
    must(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements)
    return python


def _apt_options(place, suite):
    """Options for apt by which it reads another suite of the Debian mirror that this machine's apt uses, and keeps its
    lists below `place`. Nothing is installed."""
    need("apt-get", "dpkg-deb")
    targets = must("apt-get", "indextargets", "--format", "$(LABEL)|$(REPO_URI)", "Created-By: Packages",
                   "Component: main")
    mirrors = [line.partition("|")[2] for line in targets.splitlines() if line.startswith("Debian|")]
    if not mirrors:
        raise ClientError(f"expected a Debian mirror among the sources of apt, found:\n{targets}")
    for folder in ("lists/partial", "cache/archives/partial", "parts"):
        (place / "apt" / folder).mkdir(parents=True)
    sources = place / "apt/sources.list"
    sources.write_text(f"deb [signed-by={DEBIAN_KEYS} arch=amd64] {mirrors[0]} {suite} main\n")
    options = [f"-oDir::Etc::SourceList={sources}", f"-oDir::Etc::SourceParts={place / 'apt/parts'}",
               f"-oDir::State::Lists={place / 'apt/lists'}", f"-oDir::Cache={place / 'apt/cache'}",
               "-oAPT::Sandbox::User=root"]
    must("apt-get", *options, "-qq", "update")
    return options


def debian_packages(place, suite, *packages):
    """Downloads `name=version` of a suite of Debian and unpacks them into `place`."""
    must("apt-get", *_apt_options(place, suite), "-qq", "download", *packages, cwd=place)
    for file in place.glob("*.deb"):
        must("dpkg-deb", "-x", file, place)


def debian_root(place, suite, *packages):
    """A file system in `place`/root with `name=version` of a suite of Debian and all that they need, unpacked and not
    set up."""
    need("unshare", "chroot")
    options = _apt_options(place, suite)
    (place / "apt/none").touch()
    must("apt-get", *options, f"-oDir::State::status={place / 'apt/none'}", "-qq", "-y", "--no-install-recommends",
         "--download-only", "install", *packages)
    root = place / "root"
    for folder in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "proc", "tmp"):
        (root / folder).mkdir(parents=True)
        if folder.startswith("usr/"):
            (root / folder.removeprefix("usr/")).symlink_to(folder)
    for file in (place / "apt/cache/archives").glob("*.deb"):
        # As tar streams: dpkg-deb itself would put a folder in the place of a link.
        must("sh", "-c", 'dpkg-deb --fsys-tarfile "$0" | tar x --keep-directory-symlink -C "$1"', file, root)
        file.unlink()
    return root


def node_packages(place, packages, overrides=None):
    """Installs packages of npm (name to version) into `place`/stock, without the libraries for other machines, and
    links the same files into `place`/ours."""
    need("node", "npm")
    folder = place / "stock"
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"dependencies": packages, "overrides": overrides or {}}))
    must("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
    for other in (*folder.rglob("onnxruntime-node/bin/napi-v*/[dw]*"), *folder.rglob("napi-v*/linux/arm64")):
        shutil.rmtree(other)
    shutil.copytree(folder, place / "ours", symlinks=True, copy_function=os.link)


def node_folder(place, side):
    """The folder of a side that `node_packages` made, where each onnxruntime-node has the side's library."""
    libraries = list((place / side.name).rglob("onnxruntime-node/bin/napi-v*/linux/x64/libonnxruntime.so*"))
    if not libraries:
        raise ClientError(f"no library of onnxruntime-node in {place / side.name}")
    if side.name == "ours":
        for library in libraries:
            library.unlink()
            shutil.copy(side.library, library)
    return place / side.name


def need(*programs):
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise ClientError(f"this client needs {', '.join(missing)}, which the machine does not have")


def junit_results(path):
    """The results of pytest's --junitxml."""
    if not path.exists():
        raise ClientError(f"no results in {path}: the tests did not end")
    results = {}
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        outcome = FAILED if case.find("failure") is not None or case.find("error") is not None else \
            SKIPPED if case.find("skipped") is not None else PASSED
        results[f"{case.get('classname')}::{case.get('name')}"] = outcome
    return results


def line_results(output):
    """The results of our own client programs, which print `ok NAME`, `failed NAME: why` and, last, `end`."""
    results = {}
    for line in output.text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "ok":
            results[rest.strip()] = PASSED
        elif word == "failed":
            results[rest.partition(":")[0].strip()] = FAILED
    if output.status != 0 or output.text.rstrip().rpartition("\n")[2] != "end":
        results["the program ends by itself"] = FAILED
    return results


def compare_printed(place, side, *command, tolerance=1e-3, **options):
    """Runs a program that prints `result NAME: words`, where words may be numbers. On stock each line is a test that
    passes, and is kept; on Sardonyx it passes if its words are the same, numbers within the tolerance (relative above
    1)."""
    output = side.run(*command, **options)
    printed = dict(re.findall(r"^result (.*?): ?(.*)$", output.text, re.MULTILINE))
    kept = place / "expected.json"
    if side.name == "stock":
        if output.status != 0:
            raise ClientError(f"on ONNX Runtime:\n{output.text[-4000:]}")
        kept.write_text(json.dumps(printed))
        return dict.fromkeys(printed, PASSED)
    return {name: PASSED if _close(printed.get(name), text, tolerance) else FAILED
            for name, text in json.loads(kept.read_text()).items()}


def _close(found, expected, tolerance):
    if found is None or len(found.split()) != len(expected.split()):
        return False
    for one, other in zip(found.split(), expected.split(), strict=True):
        try:
            if abs(float(one) - float(other)) > tolerance * max(1.0, abs(float(other))):
                return False
        except ValueError:
            if one != other:
                return False
    return True
