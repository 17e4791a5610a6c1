"""Java: com.microsoft.onnxruntime:onnxruntime, told by system properties where the library is."""
import models
from client import PROGRAMS, line_results, must, need

NAME = "Java: com.microsoft.onnxruntime:onnxruntime"
VERSION = "1.29.0"
KIND = "library"
RUNS = "a program that calls most of its interface"


def install(place):
    need("java", "javac", "mvn")
    must("mvn", "-q", "dependency:copy", f"-Dartifact=com.microsoft.onnxruntime:onnxruntime:{VERSION}",
         f"-DoutputDirectory={place}", cwd=place)
    (place / f"onnxruntime-{VERSION}.jar").rename(place / "onnxruntime.jar")
    models.make(place / "models")


def run(place, side):
    must("javac", "-cp", place / "onnxruntime.jar", "-d", place / "classes", PROGRAMS / "java/Program.java")
    written = place / side.name
    written.mkdir(exist_ok=True)
    # The library that the jar carries is stock's: the newest one of the API that the jar's own binding was built for.
    swapped = [f"-Donnxruntime.native.onnxruntime.path={side.library}"] if side.name == "ours" else []
    return line_results(side.run("java", *swapped, "-cp", f"{place / 'onnxruntime.jar'}:{place / 'classes'}", "Program",
                                 place / "models", written, cwd=place))
