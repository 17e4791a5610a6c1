#!/usr/bin/env python3
"""Makes wheels of the built Python package: the package, the library without debug symbols, and the metadata.

The wheel is for the Python version that the package was built for, and for every Linux whose C and C++ libraries have
the newest symbols that ours use. The script checks what our libraries need of the system. The same tree always gives
the same bytes. Besides `sardonyx` there is a wheel `onnxruntime`: with both installed, packages that require or import
onnxruntime run on Sardonyx.

usage: tools/wheel.py [--build FOLDER] [--output FOLDER]
"""
import argparse
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPENDENCIES = ["numpy>=1.26", "ml_dtypes>=0.5"]  # ml_dtypes 0.5 is the first version with 2-bit types and float4
RUN_TIME = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|ld-linux[-a-z0-9_]*|libpthread|libdl|librt|libsardonyx)\.so")
# The glibc of the first release of a distribution with this libstdc++ (GCC 10, 11, 12, 13, 14).
GLIBC_OF_GLIBCXX = {(3, 4, 28): (2, 31), (3, 4, 29): (2, 34), (3, 4, 30): (2, 35), (3, 4, 31): (2, 38),
                    (3, 4, 32): (2, 38), (3, 4, 33): (2, 39)}

# Code of others that is compiled into our libraries, and its licence (patterns from the root of the file system).
LICENCES = {
    "LICENSE": [ROOT / "LICENSE"],
    "LICENSE.re2": [ROOT / "third_party/re2/LICENSE", "/usr/share/doc/libre2-dev/copyright"],
    "LICENSE.utf8proc": ["/usr/share/doc/libutf8proc-dev/copyright"],
    "LICENSE.highway": ["/usr/share/doc/libhwy-dev/copyright"],
    "LICENSE.flatbuffers": ["/usr/share/doc/libflatbuffers-dev/copyright"],
    "LICENSE.protozero": ["/usr/share/doc/libprotozero-dev/copyright"],
    "LICENSE.nlohmann-json": ["/usr/share/doc/nlohmann-json3-dev/copyright"],
    "LICENSE.nanobind": [ROOT / ".venv/lib/python*/site-packages/nanobind-*.dist-info/licenses/LICENSE"],
}

# The same for the component of ImageDecoder, where it is in the wheel.
IMAGES_LICENCES = {f"LICENSE.{name}": [f"/usr/share/doc/{package}/copyright"] for name, package in {
    "libjpeg-turbo": "libjpeg62-turbo-dev", "libpng": "libpng-dev", "libwebp": "libwebp-dev", "libtiff": "libtiff-dev",
    "openjpeg": "libopenjp2-7-dev", "zlib": "zlib1g-dev", "liblzma": "liblzma-dev", "zstd": "libzstd-dev",
    "libdeflate": "libdeflate-dev"}.items()}


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def newest(text, prefix):
    """The newest version, as numbers, of the symbols with `prefix` that a library needs."""
    asked = text.split("Version needs section")[-1]
    return max((tuple(map(int, found.split("."))) for found in re.findall(rf"\b{prefix}_(\d[.\d]*)", asked)),
               default=(0,))


def platform_tag(libraries):
    """manylinux_<glibc>_<machine>, from the newest symbols in use. Fails if a library needs more than the runtime."""
    glibc = (2, 17)
    for library in libraries:
        foreign = [name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", library))
                   if not RUN_TIME.match(name)]
        if foreign:
            sys.exit(f"wheel: {library.name} needs {', '.join(foreign)}, which not every system has")
        versions = run("readelf", "-V", library)
        glibc = max(glibc, newest(versions, "GLIBC"))
        cpp = newest(versions, "GLIBCXX")
        glibc = max([glibc, *(needed for has, needed in GLIBC_OF_GLIBCXX.items() if has <= cpp)])
        if cpp > max(GLIBC_OF_GLIBCXX):
            sys.exit(f"wheel: {library.name} needs GLIBCXX_{'.'.join(map(str, cpp))}: add its row to GLIBC_OF_GLIBCXX")
    return f"manylinux_{glibc[0]}_{glibc[1]}_{run('uname', '-m').strip()}"


def python_tag(module):
    found = re.search(r"\.cpython-(\d)(\d+)", module.name)
    if not found:
        sys.exit(f"wheel: expected a module for one CPython in {module.name}")
    return f"cp{found[1]}{found[2]}", f"{found[1]}.{found[2]}"


def licences_of(libraries):
    """The licences that a wheel with these libraries must contain."""
    images = any("images" in library.name for library in libraries)
    return {**LICENCES, **(IMAGES_LICENCES if images else {})}


def texts(licences):
    """(name, text) of each licence. Fails if one is not found, because a wheel must contain them."""
    for name, places in licences.items():
        found = [match for place in places for match in sorted(pathlib.Path("/").glob(str(place).lstrip("/")))]
        if not found:
            sys.exit(f"wheel: expected {name} in {' or '.join(map(str, places))}")
        yield name, found[0].read_bytes()


def metadata(version, python, licences):
    lines = ["Metadata-Version: 2.4", "Name: sardonyx", f"Version: {version}",
             "Summary: Runs ONNX models, with ONNX Runtime's Python interface",
             "Keywords: onnx,inference,machine-learning", "License-Expression: Apache-2.0",
             *(f"License-File: {name}" for name in licences), f"Requires-Python: >={python}",
             *(f"Requires-Dist: {requirement}" for requirement in DEPENDENCIES),
             "Classifier: Operating System :: POSIX :: Linux", "Classifier: Programming Language :: Python :: 3",
             "Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence", "Classifier: Typing :: Typed",
             "Description-Content-Type: text/markdown", "", (ROOT / "README.md").read_text()]
    return "\n".join(lines)


def pack(path, files):
    """A zip archive whose times and order are always the same."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files:
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def record(files, name):
    rows = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
            for path, data in files]
    return "\n".join([*rows, f"{name},,", ""]).encode()


def version_of(build):
    return re.search(r"CMAKE_PROJECT_VERSION:STATIC=(.*)", (build / "CMakeCache.txt").read_text())[1]


def stage(build, folder):
    """Installs the package into `folder`, without debug symbols: its module and its libraries, in this order."""
    run("cmake", "--install", build, "--component", "wheel", "--prefix", folder, "--strip")
    (module,) = (folder / "sardonyx").glob("_core*.so")
    return module, sorted((folder / "sardonyx").glob("*.so"))


def write_wheel(output, name, version, tag, text, licences, files):
    """Writes the wheel `name` of `files`, which are (path, data), with the metadata `text`. Returns its path."""
    about = f"{name}-{version}.dist-info"
    files = [*files, (f"{about}/METADATA", text.encode()),
             (f"{about}/WHEEL", f"Wheel-Version: 1.0\nGenerator: sardonyx tools/wheel.py\n"
                                f"Root-Is-Purelib: false\nTag: {tag}\n".encode()),
             *((f"{about}/licenses/{licence}", content) for licence, content in texts(licences))]
    files.append((f"{about}/RECORD", record(files, f"{about}/RECORD")))
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{name}-{version}-{tag}.whl"
    pack(path, files)
    return path


def files_below(folder, root):
    """(path from `root`, data) of all files in `folder`."""
    return [(path.relative_to(root).as_posix(), path.read_bytes()) for path in sorted(folder.rglob("*"))
            if path.is_file()]


def build_wheel(build, output):
    """Writes the wheel of the tree that was built in `build` into the folder `output`, and returns its path."""
    version = version_of(build)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        module, libraries = stage(build, folder)
        tag, python = python_tag(module)
        licences = licences_of(libraries)
        return write_wheel(output, "sardonyx", version, f"{tag}-{tag}-{platform_tag(libraries)}",
                           metadata(version, python, licences), licences, files_below(folder, folder))


def build_onnxruntime_wheel(build, output):
    """Writes the wheel `onnxruntime`, which needs the wheel `sardonyx` of the same version, and returns its path.

    Its library is the C interface under ONNX Runtime's name, for programs that load it from this package.
    """
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        _, libraries = stage(build, folder)
        run("cmake", "--install", build, "--component", "wheel_onnxruntime", "--prefix", folder, "--strip")
        library = folder / "capi/libonnxruntime.so.1"
        root = folder / "sardonyx/_as_onnxruntime"
        about = (root / "onnxruntime/capi/build_and_package_info.py").read_text()
        release = re.search(r'__version__ = "(.*)"', about)[1]
        copy = (f"onnxruntime/capi/libonnxruntime.so.{release}", library.read_bytes())
        version = f"{release}+sardonyx"
        head = (ROOT / f"bindings/python/as_onnxruntime/onnxruntime-{version}.dist-info/METADATA").read_text()
        needed = f"Requires-Dist: sardonyx=={version_of(build)}\n"
        names = "".join(f"License-File: {name}\n" for name in LICENCES)
        return write_wheel(output, "onnxruntime", version, f"py3-none-{platform_tag(libraries)}",
                           head + names + needed, LICENCES, sorted([*files_below(root, root), copy]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="the folder of the build")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/dist", help="the folder for the wheels")
    options = parser.parse_args()
    if not (options.build / "CMakeCache.txt").exists():
        sys.exit(f"wheel: {options.build} is no built tree; run `make build` first")
    for build in (build_wheel, build_onnxruntime_wheel):
        path = build(options.build, options.output)
        print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
