"""C++: a program that uses every class of the released C++ header, compiled once and linked with each library."""
import models
from client import CACHE, PROGRAMS, STOCK_VERSION, compare_printed, debian_packages, must, need

NAME = "C++: onnxruntime_cxx_api.h"
VERSION = "1.21.0, 1.23.2"
KIND = "library"
RUNS = "a program that uses every class of the header of Debian's packages, compared with stock's output"
# The suite of Debian that has a release, and its package's version.
RELEASES = {"1.21": ("trixie", "1.21.0+dfsg-1"), "1.23": ("sid", "1.23.2+dfsg-6.1")}


def install(place):
    need("g++")
    (stock,) = CACHE.glob(f"stock/venv/lib/*/site-packages/onnxruntime/capi/libonnxruntime.so.{STOCK_VERSION}")
    for release, (suite, version) in RELEASES.items():
        number = version.partition("+")[0]
        (place / release).mkdir()
        debian_packages(place / release, suite, f"libonnxruntime-dev={version}", f"libonnxruntime{release}={version}")
        headers = place / release / "usr/include/onnxruntime"
        compiler = ["g++", "-std=c++17", "-O0", "-fPIC", "-w", "-DORT_API_MANUAL_INIT", f"-I{headers}"]
        sources = sorted((PROGRAMS / "cxx_api").glob("*.cpp"))
        for source in sources:
            must(*compiler, "-c", source, "-o", place / release / f"{source.stem}.o")
        objects = [place / release / f"{source.stem}.o" for source in sources if source.stem != "provider"]
        must("g++", "-shared", "-o", place / release / "libprovider.so", place / release / "provider.o")
        link = ["g++", "-rdynamic", *objects, "-ldl", "-pthread"]
        # For ours as Debian's own programs are linked: it asks for the name and the symbol version of their library.
        # The released library of the package for Python has one symbol version only.
        (library,) = (place / release / "usr/lib").glob(f"*/libonnxruntime.so.{number}")
        must(*link, "-Wl,--allow-shlib-undefined", "-o", place / release / "ours", library)
        must(*link, "-o", place / release / "stock", stock)
    models.make_for_cxx(place / "models")
    must(CACHE / "stock/venv/bin/python", "-c", models.ADAPTER, place / "models/adapter.ort_lora")


def run(place, side):
    results = {}
    for release in RELEASES:
        home = place / release / f"{side.name}_files"
        (home / "written").mkdir(parents=True, exist_ok=True)
        for name in ("libonnxruntime.so.1", f"libonnxruntime.so.{release}"):
            (home / name).unlink(missing_ok=True)
            (home / name).symlink_to(side.library)
        printed = compare_printed(place / release, side, place / release / side.name, place / "models",
                                  home / "written", place / release / "libprovider.so",
                                  env={"LD_LIBRARY_PATH": str(home)}, tolerance=1e-6)
        results |= {f"{release}: {name}": outcome for name, outcome in printed.items()}
    return results
