#!/usr/bin/env python3
"""Installs what is missing to build and test Sardonyx, and lists it first.

apt-get installs system packages (with sudo unless you are root), and pip installs Python packages into two local
virtual environments: `.venv` (build and demo) and `.venv-test` (tests). Sources that become part of our library come
from apt-get and lie in third_party/. If nothing is missing, nothing is installed and root is not needed.
To add a system package, add a row to SYSTEM or OPTIONAL; for sources, a row to SOURCES; for a Python package, a pinned
line to tools/python/*.txt.

usage: tools/setup.py [--no-tests] [--dry-run]
"""
import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

import source_package

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON_MIN = (3, 11)
REQUIREMENTS = {".venv": ["runtime.txt"], ".venv-test": ["runtime.txt", "test.txt"]}


def command(*names):
    return lambda: any(shutil.which(name) for name in names)


def header(path):
    """Whether a C++ compiler would find <path> in the usual folders or in those of CPATH and CMAKE_PREFIX_PATH."""
    folders = ["/usr/include", f"/usr/include/{sysconfig.get_config_var('MULTIARCH')}", "/usr/local/include"]
    folders += os.environ.get("CPATH", "").split(os.pathsep)
    folders += [f"{p}/include" for p in os.environ.get("CMAKE_PREFIX_PATH", "").split(os.pathsep) if p]
    return lambda: any(folder and (pathlib.Path(folder) / path).exists() for folder in folders)


def venv_module():
    return subprocess.run([sys.executable, "-c", "import ensurepip, venv"], capture_output=True).returncode == 0


def clang_runtimes():
    """Whether clang++ has libFuzzer; the sanitizers are in the same package."""
    if not (clang := shutil.which("clang++")):
        return False
    folder = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True).stdout.strip()
    return bool(folder) and any(pathlib.Path(folder).rglob("libclang_rt.fuzzer*"))


def python_headers():
    return (pathlib.Path(sysconfig.get_path("include")) / "Python.h").exists()


# Debian package, how to check that it is installed, purpose.
SYSTEM = [
    ("cmake", command("cmake"), "build"),
    ("ninja-build", command("ninja"), "build"),
    ("g++", command("g++", "clang++", os.environ.get("CXX") or "c++"), "build"),
    ("ccache", command("ccache"), "compiler cache"),
    ("mold", command("mold"), "fast linker"),
    ("libhwy-dev", header("hwy/highway.h"), "portable SIMD, header-only use"),
    ("libprotozero-dev", header("protozero/pbf_reader.hpp"), "protobuf wire format, header-only"),
    ("libre2-dev", header("re2/re2.h"), "regular expressions in linear time"),
    ("libutf8proc-dev", header("utf8proc.h"), "upper and lower case of Unicode's letters"),
    ("libflatbuffers-dev", header("flatbuffers/flatbuffers.h"), "files of LoRA adapters, header-only"),
    ("flatbuffers-compiler", command("flatc"), "makes a header from a FlatBuffers schema"),
    ("pkg-config", command("pkg-config"), "tests of the installed library"),
    ("libcli11-dev", header("CLI/CLI.hpp"), "command line parsing, header-only"),
    ("libstb-dev", header("stb/stb_image.h"), "images as inputs of the tool, header-only use"),
    ("zlib1g-dev", header("zlib.h"), "compressed .npz files"),
    ("nlohmann-json3-dev", header("nlohmann/json.hpp"), "JSON, header-only"),
    ("libjpeg-dev", header("jpeglib.h"), "plugins/images, the component of ImageDecoder"),
    ("libpng-dev", header("png.h"), "plugins/images"),
    ("libwebp-dev", header("webp/demux.h"), "plugins/images"),
    ("libtiff-dev", header("tiffio.h"), "plugins/images"),
    ("libopenjp2-7-dev", header("openjpeg-2.5/openjpeg.h"), "plugins/images"),
    ("libgtest-dev", header("gtest/gtest.h"), "C++ tests"),
    ("libbenchmark-dev", header("benchmark/benchmark.h"), "kernel benchmarks"),
    ("clang", command("clang++"), "make fuzz"),
    ("libclang-rt-dev", clang_runtimes, "make fuzz: clang's fuzzer and sanitizers"),
    ("clang-format", command("clang-format"), "make lint"),
    ("clang-tidy", command("clang-tidy"), "make lint"),
    ("python3-venv", venv_module, "virtual environments"),
    ("python3-dev", python_headers, "Python package"),
]

# The same for what can be left out: the purpose says what is not built then.
OPTIONAL = [
    ("libdnnl-dev", header("oneapi/dnnl/dnnl.hpp"), "plugins/onednn and its tests"),
]


# Source package, its version and the SHA-256 of its archive, the files that are needed, purpose.
SOURCES = [
    ("re2", "20220601+dfsg-1", "3bc61251da3b0b97be40a8a127818c517c62516e4eda11fc901d29496663df54",
     re.compile(r"(LICENSE|(re2|util)/[a-z0-9_-]+\.(cc|h))$").match, "regular expressions as a part of our library"),
]


def say(text):
    print(f"setup: {text}", flush=True)


def run(*args, **kwargs):
    subprocess.run([str(a) for a in args], check=True, **kwargs)


def fetch_sources(dry_run):
    for name, version, sha256, wanted, why in SOURCES:
        target = ROOT / "third_party" / name
        if (target / "LICENSE").exists():
            continue
        say(f"the sources of {name} {version} ({why}) will be fetched by apt-get into third_party/{name}")
        try:
            if not dry_run:
                source_package.fetch(name, version, sha256, wanted, target)
        except source_package.Unavailable as reason:
            say(f"they are not to be had here ({reason}); the library will need {name} as it is installed")


def apt_install(packages, *before):
    apt = [*before, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y"]
    run(*apt, "update")
    run(*apt, "install", "--no-install-recommends", *packages, stdout=subprocess.DEVNULL)


def install_system(dry_run):
    missing = [(package, why) for package, there, why in SYSTEM if not there()]
    if not missing:
        return say("all system packages are there")
    say("these system packages are missing and will be installed by apt-get:")
    for package, why in missing:
        print(f"         {package:<20} {why}")
    if dry_run:
        return None
    if not shutil.which("apt-get"):
        sys.exit("setup: this system has no apt-get; install the packages above by its own means, then run this again")
    if os.geteuid() != 0 and not shutil.which("sudo"):
        sys.exit("setup: installing system packages needs root, and there is no sudo; run this once as root:\n"
                 f"         apt-get install {' '.join(package for package, _ in missing)}")
    apt_install([package for package, _ in missing], *([] if os.geteuid() == 0 else ["sudo"]))
    return say("system packages installed")


def install_optional(dry_run):
    """Installs what can be left out, where that needs no help; never fails."""
    for package, there, why in OPTIONAL:
        if there():
            continue
        root = os.geteuid() == 0
        if not shutil.which("apt-get") or (not root and not shutil.which("sudo")):
            say(f"{package} is not there, so these are left out: {why}")
            continue
        say(f"{package} will be installed by apt-get, for {why}")
        try:
            if not dry_run:
                apt_install([package], *([] if root else ["sudo", "-n"]))
        except subprocess.CalledProcessError as error:
            say(f"apt-get failed with exit code {error.returncode}, so these are left out: {why}")


def installed_key(files):
    """A key that changes with the pinned lists and with the Python version."""
    text = sys.version.encode() + b"".join((ROOT / "tools/python" / file).read_bytes() for file in files)
    return hashlib.sha256(text).hexdigest()


def install_python(name, dry_run):
    files, venv = REQUIREMENTS[name], ROOT / name
    stamp, key = venv / "installed", installed_key(files)
    if stamp.exists() and stamp.read_text() == key and (venv / "bin/python").exists():
        return say(f"{name} is up to date")
    lists = [ROOT / "tools/python" / file for file in files]
    say(f"{name} will hold the packages of {' and '.join(str(p.relative_to(ROOT)) for p in lists)}:")
    lines = [line for path in lists for line in path.read_text().splitlines() if line and not line.startswith("#")]
    print("         " + ", ".join(line.split("==")[0] for line in lines))
    if dry_run:
        return None
    run(sys.executable, "-m", "venv", "--clear", venv)
    run(venv / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check",
        *(arg for path in lists for arg in ("-r", path)))
    if name == ".venv":  # `.venv/bin/python -c "import sardonyx"` finds what `make build` builds
        site = subprocess.run([venv / "bin/python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                              check=True, capture_output=True, text=True).stdout.strip()
        (pathlib.Path(site) / "sardonyx.pth").write_text(f"{ROOT / 'build/release/python'}\n")
    stamp.write_text(key)
    return say(f"{name} is ready")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-tests", action="store_true", help="do not create .venv-test")
    parser.add_argument("--dry-run", action="store_true", help="only list what is missing")
    options = parser.parse_args()
    if sys.version_info < PYTHON_MIN:
        wanted, found = ".".join(map(str, PYTHON_MIN)), ".".join(map(str, sys.version_info[:2]))
        sys.exit(f"setup: expected Python {wanted} or newer, found {found} ({sys.executable})")
    try:
        install_system(options.dry_run)
        install_optional(options.dry_run)
        fetch_sources(options.dry_run)
        for name in REQUIREMENTS:
            if not (options.no_tests and name == ".venv-test"):
                install_python(name, options.dry_run)
    except ValueError as error:
        sys.exit(f"setup: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"setup: this command failed with exit code {error.returncode}: {' '.join(map(str, error.cmd))}")


if __name__ == "__main__":
    main()
