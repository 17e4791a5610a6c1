"""`sardonyx generate`: folders of onnxruntime-genai's builder and of optimum, figures, Ctrl-C, errors.

The models are tiny and random (tiny_decoder.py).
"""

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import sardonyx
from sardonyx.commands import __main__, generate
from tiny_decoder import BYTES, SHAPE, as_genai, make_tokenizer, write_model

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
TOOL = BUILD / "bin/sardonyx"
ENVIRONMENT = {**os.environ, "SARDONYX_PYTHON": sys.executable}
PROMPT = "Once upon a time"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    write_model(path)
    return path


@pytest.fixture
def folder(model, tmp_path):
    """The model and the tokenizer, without a configuration."""
    for file in model.parent.iterdir():
        os.link(file, tmp_path / file.name)
    make_tokenizer().save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def as_optimum(folder, ends=None):
    (folder / "config.json").write_text(json.dumps({"eos_token_id": ends, "num_key_value_heads": 2, "head_dim": 8}))
    return folder


def run(folder, prompt=PROMPT, **options):
    """(exit code, standard output, standard error) of the Python part."""
    request = {
        "command": "generate",
        "json": False,
        "folder": str(folder),
        "prompt": prompt,
        "tokens": 12,
        "threads": 1,
        "temperature": 0,
        "top_k": 0,
        "top_p": 1,
        "seed": 0,
    }
    path = folder / "request.json"
    path.write_text(json.dumps(request | options))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = __main__.main(str(path))
    return code, out.getvalue(), err.getvalue()


def tokens_without_cache(path, prompt, count):
    """The likeliest tokens, each from a run over all tokens before it."""
    session = sardonyx.InferenceSession(str(path))
    empty = {
        i.name: np.zeros((1, SHAPE.cache_heads, 0, SHAPE.head_size), np.float32)
        for i in session.get_inputs()
        if i.name.startswith("past")
    }
    tokens = list(prompt)
    for _ in range(count):
        feeds = {"input_ids": np.array([tokens]), "attention_mask": np.ones((1, len(tokens)), np.int64)}
        tokens.append(int(session.run(["logits"], feeds | empty)[0][0, -1].argmax()))
    return tokens[len(prompt) :]


def test_all_folders_give_what_runs_without_a_cache_give(folder, model):
    tokenizer = make_tokenizer()
    want = tokenizer.decode(tokens_without_cache(model, tokenizer.encode(PROMPT).ids, 12))
    for make in (lambda: as_optimum(folder), lambda: as_genai(folder, False), lambda: as_genai(folder, True)):
        make()
        code, out, err = run(folder)
        assert (code, out.rstrip("\n")) == (0, want)
        assert "prompt: 16 tokens at " in err and "made: 12 tokens at " in err and "memory: " in err


def test_a_text_ends_with_the_token_that_ends_it(folder, model):
    tokenizer = make_tokenizer()
    found = tokens_without_cache(model, tokenizer.encode(PROMPT).ids, 6)
    end = found[-1]
    as_genai(folder, True, ends=[BYTES + 1, end])
    result = json.loads(run(folder, json=True)[1])
    kept = found[: found.index(end)]
    assert result["text"] == tokenizer.decode(kept)
    assert result["tokens"] == len(kept) + 1


def test_random_choices_follow_the_seed(folder):
    as_genai(folder, True)
    texts = [json.loads(run(folder, json=True, temperature=5, top_k=50, seed=seed)[1])["text"] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_choices_keep_to_the_likeliest():
    scores = np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32))
    generator = np.random.default_rng(0)

    def chosen(**options):
        options = {"temperature": 1, "top_k": 0, "top_p": 1, "generator": generator} | options
        return {generate.choose(scores, **options) for _ in range(300)}

    assert chosen() == {0, 1, 2, 3}
    assert chosen(top_k=2) == {0, 1}
    assert chosen(top_p=0.6) == {0, 1}
    assert chosen(top_p=0.0) == {0}
    assert chosen(temperature=0) == {0}


def test_characters_come_whole():
    tokenizer = make_tokenizer()
    text = generate.Text(tokenizer)
    pieces = [text.add(token) for token in tokenizer.encode("aäx€").ids]
    assert pieces == ["a", "", "ä", "x", "", "", "€"]


def test_the_tool_streams_and_ctrl_c_stops_it(folder):
    as_genai(folder, False)
    command = [TOOL, "generate", folder, PROMPT, "--tokens", "100000", "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert process.stdout.read(1), "text comes before the end"
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)  # as Ctrl-C, which reaches both processes through the terminal
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"made: " in err and b"Traceback" not in err


def test_errors_name_what_is_missing(folder):
    for setup, part in (
        (lambda: None, ""),
        (lambda: (folder / "tokenizer.json").unlink(), "expected a file tokenizer.json"),
        (lambda: (folder / "model.onnx").unlink(), "expected genai_config.json or one of model.onnx"),
    ):
        setup()
        code, _, err = run(folder)
        assert (code == 0) == (not part) and part in err, err
    (folder / "tokenizer.json").write_text("{}")
    as_genai(folder, True)
    config = json.loads((folder / "genai_config.json").read_text())
    config["model"] = {"encoder": {}}
    (folder / "genai_config.json").write_text(json.dumps(config))
    code, _, err = run(folder)
    assert code == 3 and "not implemented" in err


def test_a_python_without_tokenizers_is_told_so(folder, monkeypatch):
    as_genai(folder, True)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    code, _, err = run(folder)
    assert code == 3 and "-m pip install tokenizers" in err
