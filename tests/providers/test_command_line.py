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


MANY = BUILD / "lib/libtest_many_devices.so"
DEVICES = "Alpha 1 gpu 10de 1\nAlpha 1 npu 10de 2\nBeta 1 cpu 0 0\nBeta 1 gpu 10de 4 Discrete"


def choose(command, model, folder, *arguments):
    """With which devices providers are made."""
    environment = os.environ | {"SDX_DEVICES": DEVICES, "SDX_CHOSEN": str(folder / "chosen.txt")}
    (folder / "chosen.txt").write_text("")
    done = subprocess.run([BUILD / "bin/sardonyx", command, model, "--provider-library", MANY, *arguments],
                          capture_output=True, text=True, timeout=60, env=environment)
    return done, (folder / "chosen.txt").read_text().splitlines()


@pytest.mark.parametrize("command", ["run", "explain-placement"])
def test_devices_are_chosen_by_number_or_type(model, tmp_path, command):
    for arguments, wanted in (
            (["--provider", "Alpha"], ["Alpha 1"]),
            (["--provider", "Alpha", "--device", "Alpha:1"], ["Alpha 2"]),
            (["--provider", "Alpha", "--device", "Alpha:npu"], ["Alpha 2"]),
            (["--provider", "Alpha", "--device", "Alpha:npu", "--device", "Alpha:gpu"], ["Alpha 2 1"]),
            (["--provider", "Beta", "--provider", "Alpha", "--device", "Beta:gpu"], ["Beta 4", "Alpha 1"])):
        done, chosen = choose(command, model, tmp_path, *arguments)
        assert done.returncode == 0 and chosen == wanted, (arguments, chosen, done.stderr)


def test_policies_choose_devices(model, tmp_path):
    for policy, wanted in (("prefer-gpu", ["Beta 4 0"]), ("prefer-npu", ["Alpha 2", "Beta 0"]),
                           ("prefer-cpu", ["Beta 0"])):
        done, chosen = choose("run", model, tmp_path, "--policy", policy)
        assert done.returncode == 0 and chosen == wanted, (policy, chosen, done.stderr)
    done, _ = choose("explain-placement", model, tmp_path, "--policy", "prefer-npu", "--json")
    assert json.loads(done.stdout)["providers"] == ["Alpha", "Beta", "CPUExecutionProvider"], done.stdout + done.stderr


def test_unknown_devices_are_errors_that_list_the_others(model, tmp_path):
    done, _ = choose("run", model, tmp_path, "--provider", "Alpha", "--device", "Alpha:cpu")
    assert done.returncode != 0 and "Alpha has no device 'cpu'; expected one of 0 gpu (Maker" in done.stderr
    assert "1 npu (Maker" in done.stderr, done.stderr
    done, _ = choose("run", model, tmp_path, "--provider", "Alpha", "--device", "Beta:0")
    assert done.returncode != 0 and "with the NAME of a --provider, found 'Beta:0'" in done.stderr, done.stderr
    done, _ = choose("run", model, tmp_path, "--provider", "Alpha", "--policy", "prefer-gpu")
    assert done.returncode != 0 and "--policy" in done.stderr, done.stderr
