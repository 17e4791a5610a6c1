"""The command line tool with a plug-in's provider."""
import json
import os
import pathlib
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("SDX_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build/release"))
LIBRARY = BUILD / "lib/libtest_provider_plugin.so"
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 4] x) => (float[2, 4] y) { a = Relu (x)  b = Tanh (a)  y = Neg (b) }"""


def tool(*arguments):
    return subprocess.run([BUILD / "bin/sardonyx", *arguments], capture_output=True, text=True, timeout=60)


@pytest.fixture
def model(tmp_path):
    (tmp_path / "model.txt").write_text(MODEL)
    return tmp_path / "model.txt"


def test_explain_placement_shows_what_the_plug_in_runs(model):
    done = tool("explain-placement", model, "--run", "--json", "--provider-library", LIBRARY, "--provider",
                "SdxTestProvider", "--provider-option", "SdxTestProvider:operators=Relu,Neg")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["providers"] == ["SdxTestProvider", "CPUExecutionProvider"], answer
    ours = [node for node in answer["nodes"] if node["provider"] == "SdxTestProvider"]
    assert len(ours) == 2, answer["nodes"]
    (tanh,) = [node for node in answer["nodes"] if node["op_type"] == "Tanh"]
    assert tanh["provider"] == "CPUExecutionProvider" and "SdxTestProvider" in tanh["reason"], tanh


@pytest.mark.parametrize("command", ["run", "bench", "plan"])
def test_other_commands_take_it_too(model, command):
    arguments = ["--runs", "2"] if command == "bench" else []
    done = tool(command, model, *arguments, "--provider-library", LIBRARY, "--provider", "SdxTestProvider")
    assert done.returncode == 0, done.stderr


def test_errors_name_the_library_and_its_providers(model):
    done = tool("run", model, "--provider-library", LIBRARY)
    assert done.returncode != 0 and "those of the libraries are: SdxTestProvider" in done.stderr, done.stderr
    done = tool("run", model, "--provider-library", "/nowhere/provider.so", "--provider", "SdxTestProvider")
    assert done.returncode != 0 and "/nowhere/provider.so" in done.stderr, done.stderr
