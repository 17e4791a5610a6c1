"""Configuration entries of compiled nodes (EPContext): tests/providers/context_cases.py shows what each does."""
import os
import subprocess
import sys

import pytest
from config_entries import ROOT, shows
from effects_on_devices import BUILD

CASES = {"ep.context_enable": "places", "ep.context_file_path": "places",
         "ep.context_model_external_initializers_file_name": "places", "ep.context_embed_mode": "embedded",
         "ep.context_node_name_prefix": "beside", "session.disable_model_compile": "no_compiling",
         "ep.share_ep_contexts": "entries", "ep.stop_share_ep_contexts": "entries",
         "ep.context_source_model_path": "entries", "ep.enable_weightless_ep_context_nodes": "entries",
         "ep.enable_weightless": "weightless", "session.fail_on_suboptimal_compiled_model": "suboptimal"}


def show(key, case):
    @shows("session", key)
    def _(_tmp_path):
        plugin = BUILD / "lib/libtest_provider_plugin.so"
        if not plugin.exists():
            pytest.skip("the plug-in for tests is not built on this system")
        environment = {**os.environ, "PYTHONPATH": str(BUILD / "as_onnxruntime")}
        done = subprocess.run([sys.executable, ROOT / "tests/providers/context_cases.py", case, plugin],
                              env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr


for entry, name in CASES.items():
    show(entry, name)
