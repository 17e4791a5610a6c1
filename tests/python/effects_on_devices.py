"""Configuration entries of runs on a plug-in's device: tests/providers/device_cases.py shows what each does."""
import os
import pathlib
import subprocess
import sys

import pytest
from config_entries import ROOT, shows

BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release")).resolve()


def run_case(name):
    plugin = BUILD / "lib/libtest_provider_plugin.so"
    if not plugin.exists():
        pytest.skip("the plug-in for tests is not built on this system")
    case = [ROOT / "tests/providers/device_cases.py", name, BUILD / "lib/libsardonyx.so", plugin]
    done = subprocess.run([sys.executable, *case], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr


@shows("run", "disable_synchronize_execution_providers")
def _(_tmp_path):
    run_case("unsynchronized")


@shows("run", "gpu_graph_id")
def _(_tmp_path):
    run_case("capture")
