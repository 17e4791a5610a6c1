"""Providers in Python and on the command line, with a library for tests that contains two test providers."""
import inspect
import json
import os
import pathlib
import subprocess
import sys

import onnx
import onnx.parser
import pytest
import sardonyx

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", HERE.parents[1] / "build/release"))
LIBRARY = BUILD / "lib/test_providers/libsardonyx.so"
sys.path.insert(0, str(HERE))
import cases  # noqa: E402

CASES = [name for name, case in inspect.getmembers(cases, inspect.isfunction)
         if case.__module__ == "cases" and list(inspect.signature(case).parameters) in (["_"], ["folder"])]


def run(command, expect=0):
    variables = os.environ | {"LD_PRELOAD": str(LIBRARY)}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=variables)
    assert done.returncode == expect, f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done


@pytest.mark.parametrize("name", CASES)
def test_case(name, tmp_path):
    done = run([sys.executable, HERE / "cases.py", name, tmp_path])
    if "warned of" in done.stdout:
        assert done.stderr.count("libnpu.so.3") == 1, done.stderr


def test_there_are_cases():
    assert len(CASES) >= 15


def test_the_library_that_is_installed_has_none_of_them():
    assert sardonyx.get_available_providers() == ["CPUExecutionProvider"]
    real = (BUILD / "lib/libsardonyx.so").read_bytes()
    assert b"TestExecutionProvider" not in real and b"TestExecutionProvider" in LIBRARY.read_bytes()
    for name in (cases.SELECTIVE, cases.DEVICE):
        with pytest.raises(sardonyx.InvalidArgument, match=name):
            cases.session(cases.CHAIN, [name])


# ---- the command line ----


@pytest.fixture
def model(tmp_path):
    onnx.save(onnx.parser.parse_model(cases.CHAIN), tmp_path / "chain.onnx")
    return tmp_path / "chain.onnx"


def tool(*arguments, expect=0):
    return run([BUILD / "bin/sardonyx", *arguments], expect)


def test_explain_placement_shows_who_runs_what_and_why(model):
    text = tool("explain-placement", model, "--provider", cases.SELECTIVE, "--dim", "N=3").stdout
    assert "operator Tanh is not on its list" in text and f"{cases.SELECTIVE}  3 nodes" in text
    answer = json.loads(tool("explain-placement", model, "--provider", cases.DEVICE, "--provider-option",
                             f"{cases.DEVICE}:operators=MatMul,Relu,Add", "--dim", "N=3", "--json").stdout)
    assert answer["providers"] == [cases.DEVICE, cases.CPU] and answer["missing"] == []
    assert sum(row["bytes_copied"] for row in answer["nodes"]) == 4 * 48


def test_a_run_counts_what_the_model_does_not_say(model):
    command = ["explain-placement", model, "--provider", cases.DEVICE, "--json"]
    assert any(row["bytes_copied"] is None for row in json.loads(tool(*command).stdout)["nodes"])
    nodes = json.loads(tool(*command, "--run", "--shape", "x=5x4").stdout)["nodes"]
    assert {row["bytes_copied"] for row in nodes if row["op_type"].startswith("Memcpy")} == {80}
    assert "in the run" in tool(*command[:-1], "--run").stdout


def test_runs_give_the_same_results(model):
    plain = json.loads(tool("run", model, "--json", "--seed", 3).stdout)["outputs"]
    for provider in (cases.SELECTIVE, cases.DEVICE):
        for output, want in zip(json.loads(tool("run", model, "--json", "--seed", 3, "--provider", provider).stdout)
                                ["outputs"], plain, strict=True):
            assert output["first"] == pytest.approx(want["first"], rel=1e-5)


def test_missing_providers_are_errors_or_one_warning(model):
    error = tool("explain-placement", model, "--provider", "CUDAExecutionProvider", expect=1).stderr
    assert "CUDAExecutionProvider" in error and cases.SELECTIVE in error
    done = tool("explain-placement", model, "--level", "none", "--provider", "CUDAExecutionProvider", "--provider",
                cases.CPU)
    assert done.stderr.count("is not used") == 1 and "CUDAExecutionProvider" in done.stderr, done.stderr
    assert "missing: " in done.stdout and done.stdout.count("there is no execution provider") == 4 + 1
    tool("explain-placement", model, "--provider", "CUDAExecutionProvider", "--provider", cases.CPU, "--config",
         "session.disable_cpu_ep_fallback=1", expect=1)


def test_configuration_that_is_not_honoured_is_said_once(model):
    done = tool("run", model, "--config", "session.disable_cpu_ep_fallbak=1")
    assert done.stderr.count("'session.disable_cpu_ep_fallbak' is not honoured") == 1, done.stderr
    assert "did you mean 'session.disable_cpu_ep_fallback'?" in done.stderr
