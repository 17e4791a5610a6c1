"""Java: older releases of ONNX Runtime's own interface, which ask for older versions of the C interface."""
import models
import onnx
from client import PROGRAMS, compare_printed, must, need

VERSIONS = ("1.10.0", "1.14.0", "1.17.3", "1.20.0", "1.23.2")
NAME = "Java: com.microsoft.onnxruntime:onnxruntime, older releases"
VERSION = ", ".join(VERSIONS)
KIND = "library"
RUNS = "a program with what the oldest has, compared with what the library of each jar gives"


def install(place):
    need("java", "javac", "mvn")
    for version in VERSIONS:
        must("mvn", "-q", "dependency:copy", f"-Dartifact=com.microsoft.onnxruntime:onnxruntime:{version}",
             f"-DoutputDirectory={place}", cwd=place)
    models.make(place / "models")
    for path in (place / "models").glob("*.onnx"):
        if path.stem != "broken":  # in a version that the oldest release knows
            model = onnx.load(path, load_external_data=False)
            model.ir_version, model.opset_import[0].version = 7, 13
            onnx.save(model, path)


def run(place, side):
    results = {}
    for version in VERSIONS:
        jar, folder, written = place / f"onnxruntime-{version}.jar", place / version, place / version / side.name
        written.mkdir(parents=True, exist_ok=True)
        for file in written.iterdir():
            file.unlink()
        must("javac", "-cp", jar, "-d", folder / "classes", PROGRAMS / "java/Older.java")
        # Until 1.17 the part of the jar that calls the library asks the loader for it by the release's own name.
        named = folder / "libraries" / f"libonnxruntime.so.{version}"
        named.parent.mkdir(exist_ok=True)
        named.unlink(missing_ok=True)
        named.symlink_to(side.library)
        swapped = [f"-Donnxruntime.native.onnxruntime.path={side.library}"] if side.name == "ours" else []
        printed = compare_printed(folder, side, "java", *swapped, "-cp", f"{jar}:{folder / 'classes'}", "Older",
                                  place / "models", written, cwd=place,
                                  env={"LD_LIBRARY_PATH": str(named.parent)} if swapped else None)
        results |= {f"{version}: {test}": outcome for test, outcome in printed.items()}
    return results
