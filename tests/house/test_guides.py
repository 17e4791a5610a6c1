"""The code in the guides builds and its tests pass, so what a newcomer copies from the page works."""
import documents
import pytest
from documents import ROOT, run

# Passes whose examples stand in their own tests; without them, the tests of all passes would miss examples.
EXAMPLES = sorted(path for path in (ROOT / "src/optimizer/passes").rglob("*_test.cpp")
                  if "PassExample kExample" in path.read_text())
GUIDES = {
    # guide: what else has to be compiled because a header of it changes, how many tests there are
    "docs/add_an_operator.md": (["src/ops/registry.cpp"], 3),
    "docs/add_a_fusion.md": (["src/optimizer/pipeline.cpp", "src/optimizer/switches_test.cpp",
                              "src/optimizer/rules/explanation_test.cpp",
                              *(str(path.relative_to(ROOT)) for path in EXAMPLES)],
                             13 + sum(path.read_text().count("\nTEST(") for path in EXAMPLES)),
}


@pytest.mark.parametrize("guide", GUIDES)
def test_the_guides_code_builds_and_its_tests_pass(guide, tmp_path):
    also, tests = GUIDES[guide]
    overlay = documents.Overlay(tmp_path, guide)
    output = run([overlay.build(also)])
    assert f"[  PASSED  ] {tests} test" in output


@pytest.mark.parametrize("guide", GUIDES)
def test_the_guides_code_is_laid_out_as_ours(guide):
    for block in documents.blocks(guide):
        if block.kind == "file":
            formatted = run(["clang-format", f"--assume-filename={ROOT / block.path}"], input=block.text)
            assert block.text == formatted, f"{guide}:{block.line}"
            assert block.text.startswith(f"// {block.path.removeprefix('src/')} - ")
