"""benchmarks/exports.py - networks that no kernel was tuned on: exports them from torch, in an environment of its own.

usage: benchmarks/exports.py       with the Python of .venv-test; writes to build/exports, or where SDX_EXPORTS points
"""
import os
import subprocess
import sys

import models

REQUIREMENTS = ("torch==2.15.0", "torchvision==0.29.2", "timm==1.0.31", "transformers==4.57.6", "onnx==1.23.2")


def main():
    folder = models.exports_folder()
    if models.exported_runs():
        return
    environment = folder / "venv"
    print(f"installing {', '.join(REQUIREMENTS)} in {environment} (once; several GB)", flush=True)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    without_ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    python = environment / "bin/python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS],
                   check=True, env=without_ours)
    subprocess.run([python, models.ROOT / "benchmarks/export_models.py", folder], check=True, env=without_ours)


if __name__ == "__main__":
    main()
