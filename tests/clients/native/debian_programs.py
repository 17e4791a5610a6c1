"""C and C++: programs of Debian that are linked with its libonnxruntime.so.1.23 and ask for symbols of VERS_1.23."""
import shutil
import sys

from client import PROGRAMS, compare_printed, debian_root, must

GSTREAMER, TOPPIC = "1.28.8-1", "1.8.0+repack1-3+b1"
NAME = "C and C++: Debian's GStreamer and TopPIC"
VERSION = f"{GSTREAMER}, {TOPPIC}"
KIND = "library"
RUNS = ("videos through a random detector and a random classifier, proteins in mass spectra with the models that the "
        "package carries, compared with Debian's library 1.23.2")


def install(place):
    root = debian_root(place, "sid", f"gstreamer1.0-plugins-bad={GSTREAMER}", "gstreamer1.0-tools", f"toppic={TOPPIC}")
    (root / "models").mkdir()
    must(sys.executable, PROGRAMS / "native/gstreamer_models.py", root / "models")
    must(sys.executable, PROGRAMS / "native/mass_spectra.py", root / "models/spectra.mzML")


def run(place, side):
    root, folder = place / "root", []
    if side.name == "ours":
        (root / "ours").mkdir(exist_ok=True)
        shutil.copy(side.library, root / "ours/libonnxruntime.so.1.23")
        folder = ["/ours"]
    side.package = None
    return compare_printed(place, side, sys.executable, PROGRAMS / "native/debian_program.py", root, *folder)
