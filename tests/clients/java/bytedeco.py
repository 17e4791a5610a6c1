"""Java: JavaCPP's preset of ONNX Runtime: the C++ header of 1.28, compiled, whose classes are classes of Java there."""
import models
from client import PROGRAMS, compare_printed, must, need

NAME = "Java: org.bytedeco:onnxruntime"
VERSION = "1.28.0-1.5.14"
KIND = "library"
RUNS = "a program that uses the classes of the C++ header of 1.28, compared with the library of the jar"
PARTS = (f"onnxruntime:{VERSION}", f"onnxruntime:{VERSION}:jar:linux-x86_64", "javacpp:1.5.14",
         "javacpp:1.5.14:jar:linux-x86_64")
# Classes that only say what the preset was built with, and bring libraries of providers that nothing here uses.
BUILT_WITH = ("dnnl.presets.dnnl", "opencl.presets.OpenCL", "openvino.presets.openvino")


def install(place):
    need("java", "javac", "mvn")
    for part in PARTS:
        must("mvn", "-q", "dependency:copy", f"-Dartifact=org.bytedeco:{part}", f"-DoutputDirectory={place / 'jars'}",
             cwd=place)
    for name in BUILT_WITH:
        package, _, last = f"org.bytedeco.{name}".rpartition(".")
        source = place / "built_with" / f"{last}.java"
        source.parent.mkdir(exist_ok=True)
        source.write_text(f"package {package};\n\npublic class {last} {{}}\n")
        must("javac", "-d", place / "classes", source)
    models.make(place / "models")


def run(place, side):
    must("javac", "-cp", place / "jars/*", "-d", place / "classes", PROGRAMS / "java/Bytedeco.java")
    home = place / f"{side.name}_files"
    (home / "cache").mkdir(parents=True, exist_ok=True)
    options = [f"-Dorg.bytedeco.javacpp.cachedir={home / 'cache'}"]
    if side.name == "ours":  # before the library in the jar
        name = home / "libonnxruntime.so.1"
        name.unlink(missing_ok=True)
        name.symlink_to(side.library)
        options += ["-Dorg.bytedeco.javacpp.pathsFirst=true", f"-Djava.library.path={home}"]
    jars = ":".join(str(jar) for jar in sorted((place / "jars").glob("*.jar")))
    return compare_printed(place, side, "java", *options, "-cp", f"{place / 'classes'}:{jars}", "Bytedeco",
                           place / "models", home, cwd=place, tolerance=1e-6)
