"""Java: Spring AI's vectors of texts, which PyTorch sums up in the same process."""
import transformers_small
from client import PROGRAMS, compare_printed, must, need

NAME = "Java: org.springframework.ai:spring-ai-transformers"
VERSION = "1.1.2"
KIND = "library"
RUNS = "vectors of texts and documents, one by one, together and by eight threads, compared with stock's"
# The last two are PyTorch's library and what binds it: otherwise they are fetched from elsewhere.
PARTS = (("org.springframework.ai", "spring-ai-transformers", VERSION, ""),
         ("ai.djl.pytorch", "pytorch-native-cpu", "2.5.1", "<classifier>linux-x86_64</classifier>"),
         ("ai.djl.pytorch", "pytorch-jni", "2.5.1-0.32.0", ""))
PART = "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>%s</dependency>"


def install(place):
    need("java", "javac", "mvn")
    (place / "pom.xml").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>client</groupId><artifactId>client</artifactId><version>1</version><dependencies>"
        f"{''.join(PART % part for part in PARTS)}</dependencies></project>\n")
    must("mvn", "-q", "dependency:copy-dependencies", f"-DoutputDirectory={place / 'jars'}", cwd=place)
    transformers_small.make(place / "models")


def run(place, side):
    must("javac", "-cp", place / "jars/*", "-d", place / "classes", PROGRAMS / "java/Spring.java")
    swapped = [f"-Donnxruntime.native.onnxruntime.path={side.library}"] if side.name == "ours" else []
    return compare_printed(place, side, "java", *swapped, "-cp", f"{place / 'jars/*'}:{place / 'classes'}", "Spring",
                           place / "models", cwd=place, env={"DJL_CACHE_DIR": str(place / "djl")})
