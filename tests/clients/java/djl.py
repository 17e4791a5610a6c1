"""Java: DJL's engine for ONNX Runtime runs models with its own arrays."""
import models
from client import PROGRAMS, compare_printed, must, need

NAME = "Java: ai.djl.onnxruntime:onnxruntime-engine"
VERSION = "0.36.0"
KIND = "library"
RUNS = "models of all types of elements, options, errors and threads, compared with stock's"
PROJECT = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>client</groupId>
  <artifactId>client</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>ai.djl.onnxruntime</groupId>
      <artifactId>onnxruntime-engine</artifactId>
      <version>{VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-nop</artifactId>
      <version>2.0.16</version>
    </dependency>
  </dependencies>
</project>
"""


def install(place):
    need("java", "javac", "mvn")
    (place / "pom.xml").write_text(PROJECT)
    must("mvn", "-q", "dependency:copy-dependencies", f"-DoutputDirectory={place / 'jars'}", cwd=place)
    models.make(place / "models")


def run(place, side):
    must("javac", "-cp", place / "jars/*", "-d", place / "classes", PROGRAMS / "java/Djl.java")
    written = place / side.name
    written.mkdir(exist_ok=True)
    for file in written.iterdir():
        file.unlink()
    # Stock is the library of the jar of ONNX Runtime that DJL asks for, 1.21.1.
    swapped = [f"-Donnxruntime.native.onnxruntime.path={side.library}"] if side.name == "ours" else []
    return compare_printed(place, side, "java", *swapped, "-cp", f"{place / 'jars/*'}:{place / 'classes'}", "Djl",
                           place / "models", written, cwd=place)
