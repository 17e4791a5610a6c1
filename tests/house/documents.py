"""Reads the code blocks of the documents, and builds code that changes the tree without touching the tree.

A block is fenced and has a language. A comment before it says what it is: `<!-- file: PATH -->` a complete new file,
`<!-- edit: PATH -->` a change of an existing file as a diff without line numbers, `<!-- example: NAME -->` a file of
the example. Blocks of `text`, `mermaid` and `console` are only shown.
"""
import dataclasses
import json
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"


@dataclasses.dataclass
class Block:
    language: str
    text: str
    line: int
    kind: str = ""  # file, edit, example
    path: str = ""


def blocks(document):
    pattern = r"(?:<!-- (file|edit|example): (\S+) -->\n)?^```(\w+)\n(.*?)^```$"
    text = (ROOT / document).read_text()
    for found in re.finditer(pattern, text, re.M | re.S):
        kind, path, language, body = found.groups(default="")
        yield Block(language, body, text.count("\n", 0, found.start(4)) + 1, kind, path)


def apply_edit(before, diff):
    """`before` with the lines of `diff` changed; context and removed lines must occur exactly once, together."""
    lines = diff.splitlines(keepends=True)
    old = "".join(line[1:] or "\n" for line in lines if line[:1] in (" ", "-", "\n"))
    new = "".join(line[1:] or "\n" for line in lines if line[:1] in (" ", "+", "\n"))
    assert before.count(old) == 1, f"expected these lines once, found them {before.count(old)} times:\n{old}"
    return before.replace(old, new)


class Overlay:
    """Files as a document changes them, in front of the tree's own."""

    def __init__(self, folder, document):
        self.folder = folder
        self.changed = []
        for block in blocks(document):
            if block.kind not in ("file", "edit"):
                continue
            target = folder / block.path
            target.parent.mkdir(parents=True, exist_ok=True)
            if block.kind == "file":
                assert not (ROOT / block.path).exists(), f"{document}: {block.path} is new in the document only"
                target.write_text(block.text)
            else:
                current = target if target.exists() else ROOT / block.path
                target.write_text(apply_edit(current.read_text(), block.text))
            if block.path not in self.changed:
                self.changed.append(block.path)
        assert self.changed, f"{document} changes no file"

    def build(self, also=()):
        """Compiles the changed sources and those in `also`, links them in front of the libraries; the test binary."""
        sources = [path for path in (*self.changed, *also) if path.endswith(".cpp")]
        objects = [self.compile(path) for path in sources]
        libraries = [BUILD / "lib" / f"lib{name}.a" for name in ("sdx_testing", "sdx_capi", "sdx_core", "sdx_re2")]
        program = self.folder / "document_tests"
        run(["c++", *objects, *(path for path in libraries if path.exists()), "-lgtest",
             "-lgtest_main", "-lpthread", "-l:libre2.a", "-l:libutf8proc.a", "-ldl", "-o", program])
        return program

    def compile(self, path):
        database = json.loads((BUILD / "compile_commands.json").read_text())
        source = self.folder / path if (self.folder / path).exists() else ROOT / path
        alike = [entry for entry in database if is_like(entry["file"], ROOT / path)]
        sibling = min(alike, key=lambda entry: pathlib.Path(entry["file"]).parent != (ROOT / path).parent)
        command = shlex.split(sibling["command"].replace(sibling["file"], str(source)))
        target = self.folder / (path.replace("/", "_") + ".o")
        command[command.index("-o") + 1] = str(target)
        first_include = next(i for i, word in enumerate(command) if word.startswith("-I"))
        command.insert(first_include, f"-I{self.folder / 'src'}")
        run(command, cwd=sibling["directory"])
        return target


def is_like(file, path):
    """Whether `file` is compiled as `path` would be: itself, or for a new one a source of src, a test as it is.

    Where tests are compiled together (SDX_JOINED_TESTS), what joins them stands for each.
    """
    file = pathlib.Path(file)
    if file.parent.name == "joined_tests":
        return path.name.endswith("_test.cpp")
    if path.exists():
        return file == path
    both = [name.endswith("_test.cpp") for name in (file.name, path.name)]
    return file.is_relative_to(ROOT / "src") and both[0] == both[1] and ".isa." not in file.name


def run(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout
