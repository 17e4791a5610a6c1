"""Java: OpenNLP and Tribuo, which know of ONNX Runtime through its Java package alone."""
import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import transformers_small
from client import PROGRAMS, compare_printed, must, need

NAME = "Java: org.apache.opennlp:opennlp-dl, org.tribuo:tribuo-onnx"
VERSION = "2.4.0, 4.3.2"
KIND = "library"
RUNS = "names, kinds and vectors of texts, features, and external models kept and read again, compared with stock's"
PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>client</groupId>
  <artifactId>client</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>%s</groupId>
      <artifactId>%s</artifactId>
      <version>%s</version>
    </dependency>%s
  </dependencies>
</project>
"""
REGRESSION = """<dependency><groupId>org.tribuo</groupId><artifactId>tribuo-regression-core</artifactId>
      <version>4.3.2</version></dependency>"""
TEXTS = {"OpenNlp": ("org.apache.opennlp", "opennlp-dl", "2.4.0", ""),
         "Tribuo": ("org.tribuo", "tribuo-onnx", "4.3.2", REGRESSION)}

GRAPHS = {"labels": "(float[batch, 6] x) => (float[batch, 3] y) { h = MatMul (x, w) y = Softmax <axis: int = 1> (h) }",
          "numbers": "(float[batch, 6] x) => (float[batch, 2] y) { h = Gemm (x, w, b) t = Tanh (h) y = MatMul (t, v) }",
          "pictures": """(float[batch, 3, 8, 8] x) => (float[batch, 3] y) {
              c = Conv <pads: ints = [1, 1, 1, 1]> (x, w) r = Relu (c) g = GlobalAveragePool (r) f = Flatten (g)
              h = MatMul (f, v) y = Softmax <axis: int = 1> (h) }"""}
SHAPES = {"labels": {"w": (6, 3)}, "numbers": {"w": (6, 5), "b": (5,), "v": (5, 2)},
          "pictures": {"w": (4, 3, 3, 3), "v": (4, 3)}}


def make_tables(folder):
    """Models of what Tribuo hands over: rows of features, and pictures."""
    random = np.random.default_rng(5)
    for name, graph in GRAPHS.items():
        made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {name} {graph}')
        made.graph.initializer.extend(onnx.numpy_helper.from_array(random.normal(size=shape).astype(np.float32), weight)
                                      for weight, shape in SHAPES[name].items())
        onnx.save(made, str(folder / f"{name}.onnx"))


def install(place):
    need("java", "javac", "mvn")
    for program, names in TEXTS.items():
        (place / program).mkdir()
        (place / program / "pom.xml").write_text(PROJECT % names)
        must("mvn", "-q", "dependency:copy-dependencies", f"-DoutputDirectory={place / program / 'jars'}",
             cwd=place / program)
    transformers_small.make(place / "models")
    make_tables(place / "models")
    (place / "models/vocabulary.txt").write_text("".join(f"{word}\n" for word in transformers_small.WORDS))


def run(place, side):
    # Stock is the library of the jar of ONNX Runtime that each of them asks for, 1.18.0 and 1.20.0; 1.18.0 asks the
    # loader for it by the release's own name.
    named = place / "libraries/libonnxruntime.so.1.18.0"
    named.parent.mkdir(exist_ok=True)
    named.unlink(missing_ok=True)
    named.symlink_to(side.library)
    swapped = [f"-Donnxruntime.native.onnxruntime.path={side.library}"] if side.name == "ours" else []
    results = {}
    for program in TEXTS:
        folder = place / program
        must("javac", "-cp", folder / "jars/*", "-d", folder / "classes", PROGRAMS / f"java/{program}.java")
        results |= compare_printed(folder, side, "java", *swapped, "-cp", f"{folder / 'jars/*'}:{folder / 'classes'}",
                                   program, place / "models", cwd=place,
                                   env={"LD_LIBRARY_PATH": str(named.parent)} if swapped else None)
    return results
