"""benchmarks/llama_cpp_build.py - llama.cpp from the source package `llama-cpp-python`, in an environment of its own.

It is compiled here with the options that its makers choose for the machine at hand, so it may use all that the CPU has.
"""
import os
import pathlib
import subprocess
import sys

REQUIREMENT = "llama-cpp-python==0.3.36"
OPTIONS = ("GGML_NATIVE=ON", "LLAVA_BUILD=OFF", "LLAMA_CURL=OFF", "LLAMA_BUILD_COMMON=OFF", "LLAMA_BUILD_TESTS=OFF",
           "LLAMA_BUILD_EXAMPLES=OFF", "LLAMA_BUILD_TOOLS=OFF", "LLAMA_BUILD_SERVER=OFF")


def works(python):
    return python.exists() and subprocess.run([python, "-c", "import llama_cpp"], capture_output=True).returncode == 0


def python_with_llama_cpp(folder):
    """The Python of the environment in `folder`, which is made first if it is missing (minutes). Fails with the
    installer's messages on the error stream."""
    python = pathlib.Path(folder) / "bin/python"
    if works(python):
        return python
    print(f"building {REQUIREMENT} in {folder} (once; takes minutes)", flush=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    flags = " ".join(f"-D{option}" for option in OPTIONS)
    environment = os.environ | {"CMAKE_ARGS": flags, "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count())}
    environment.pop("PYTHONPATH", None)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-binary",
                    "llama-cpp-python", REQUIREMENT], check=True, env=environment)
    return python
