"""Code in the documents and in `--help` is extracted, built and run."""
import os
import pathlib
import re
import sys

import documents
import numpy as np
import pytest
from documents import BUILD, ROOT, blocks, run
from PIL import Image

sys.path.insert(0, str(ROOT / "tests/cli"))
import tiny_decoder  # noqa: E402

COMMANDS = ("", "info", "run", "bench", "optimize", "compile", "quantize", "convert", "generate", "check", "print",
            "profile", "plan", "explain-placement")
PYTHON = ROOT / ".venv/bin/python"


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder as a newcomer has it: the README's model, the tool on the path."""
    monkeypatch.setenv("PATH", f"{BUILD / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("VCPKG_ROOT", str(tmp_path / "vcpkg"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("SARDONYX_PYTHON", sys.executable)  # has the package onnx, too
    monkeypatch.chdir(tmp_path)
    toolchain = tmp_path / "vcpkg/scripts/buildsystems/vcpkg.cmake"  # stands for vcpkg: finds nothing, breaks nothing
    toolchain.parent.mkdir(parents=True)
    toolchain.write_text("")
    for block in blocks("README.md"):
        if block.kind == "example":
            (tmp_path / block.path).write_text(block.text)
    return tmp_path


def readme(language):
    return [block for block in blocks("README.md") if block.language == language and not block.kind]


def shell(line):
    """Runs one line of a document. `make` is only asked whether it would: the tests run inside it."""
    line = line.split("  #")[0]
    if line.startswith("make "):
        return run(["make", "-n", *line.split()[1:]], cwd=ROOT)
    return run(["sh", "-ec", line.replace("-S . ", f"-S {ROOT} ")])


def test_the_readmes_shell_lines_run(desk):
    lines = [line for block in readme("sh") for line in block.text.splitlines()]
    assert {"make demo", "make test"} <= set(lines)
    output = "\n".join(shell(line) for line in lines)
    assert (desk / "model.onnx").stat().st_size > 0
    assert "MatMul" in output and "float [batch, 3]" in output


def test_the_readmes_python_runs(desk):
    shell("sardonyx optimize model.txt --output model.onnx")
    first, second = readme("python")
    assert run([PYTHON, "-c", first.text]) == "[[1. 2.]\n [2. 2.]]\n"
    assert run([PYTHON, "-c", second.text + "import onnxruntime\nprint(onnxruntime.__name__)"]) == "sardonyx\n"


def test_the_readmes_c_program_runs(desk):
    shell("sardonyx optimize model.txt --output model.onnx")
    (program,) = readme("c")
    pathlib.Path("example.c").write_text(program.text)
    library = BUILD / "lib"
    run(["cc", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", "example.c", f"-L{library}", "-lsardonyx",
         f"-Wl,-rpath,{library}", "-o", "example"])
    assert run(["./example"]) == "1 2\n2 2\n"


def test_the_readmes_cpp_program_runs(desk):
    shell("sardonyx optimize model.txt --output model.onnx")
    (program,) = readme("cpp")
    pathlib.Path("example.cpp").write_text(program.text)
    run(["cmake", "--install", BUILD, "--prefix", desk / "installed"])
    (file,) = desk.glob("installed/lib*/**/sardonyx.pc")
    flags = run(["env", f"PKG_CONFIG_PATH={file.parent}", "pkg-config", "--cflags", "--libs", "sardonyx"]).split()
    run(["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "example.cpp", *flags,
         f"-Wl,-rpath,{file.parents[1]}", "-o", "example"])
    assert run(["./example"]) == "1\n2\n2\n2\n"
    assert "find_package(Sardonyx" in readme("cmake")[0].text  # tried by tests/install


def examples(command):
    """The lines under "Examples:", without what they are said to do."""
    text = run(["sardonyx", *command.split(), "--help"])
    found = [re.split(r"\s{2,}", line.strip())[0] for line in text.split("Examples:")[1].splitlines()
             if line.startswith("  sardonyx ")]
    assert found, f"sardonyx {command} --help shows no example"
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_help_run(desk, command):
    shell("sardonyx optimize model.txt --level none --output model.onnx")
    np.save("x.npy", np.ones((2, 3), np.float32))
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save("photo.png")
    pathlib.Path("image.txt").write_text("""<ir_version: 10, opset_import: ["" : 21]>
        image (float[1, 3, 4, 4] x) => (float[1, 2, 4, 4] y) <float[2, 3, 1, 1] k = {1, 2, 3, 4, 5, 6}>
        { y = Conv(x, k) }""")
    (desk / "photos").mkdir()
    (desk / "photos/photo.png").write_bytes(pathlib.Path("photo.png").read_bytes())
    shell("sardonyx optimize image.txt --output image.onnx")
    (desk / "smollm").mkdir()
    tiny_decoder.write_model(desk / "smollm/model.onnx")
    tiny_decoder.make_tokenizer().save(str(desk / "smollm/tokenizer.json"))
    tiny_decoder.as_genai(desk / "smollm", True)
    for line in examples(command):
        shell(line)


def test_every_command_has_its_examples_tested(desk):
    listed = re.search(r"Commands:\n((?:  .*\n)+)", run(["sardonyx", "--help"]))[1]
    assert {line.split()[0] for line in listed.splitlines()} == set(COMMANDS) - {""}


def test_links_in_the_documents_lead_somewhere():
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        prose = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
            assert target.startswith("http") or (document.parent / target).exists(), f"{document}: {target}"


def test_an_edit_must_fit():
    assert documents.apply_edit("a\nb\nc\n", " a\n-b\n+B\n") == "a\nB\nc\n"
    with pytest.raises(AssertionError, match="found them 0 times"):
        documents.apply_edit("a\nb\n", " a\n-c\n+C\n")
