"""`sardonyx generate`: continues a text, and tells how fast."""
import json
import sys
import time
from pathlib import Path

import numpy as np

from sardonyx.commands.decoder import Decoder, Folder
from sardonyx.commands.failure import Failure
from sardonyx.commands.files import undisturbed
from sardonyx.commands.terminal import styled

_INTERRUPTED = 130


def _tokenizer(folder):
    try:
        import tokenizers
    except ImportError:
        raise Failure(f"generate needs the Python package tokenizers, which {sys.executable} does not have: install it "
                      f"with {sys.executable} -m pip install tokenizers", "NOT_IMPLEMENTED") from None
    file = Path(folder) / "tokenizer.json"
    if not file.exists():
        raise Failure(f"{folder}: expected a file tokenizer.json", "NO_SUCHFILE")
    try:
        return tokenizers.Tokenizer.from_file(str(file))
    except Exception as failure:  # the library has no type of its own
        raise Failure(f"{file}: {failure}") from None


def choose(scores, temperature, top_k, top_p, generator):
    """A token by its scores [vocabulary]: the likeliest if `temperature` is 0, else a random one."""
    if temperature == 0:
        return int(np.argmax(scores))
    order = np.argsort(-scores, kind="stable")[: top_k or None]
    weights = np.exp((scores[order] - scores[order[0]]).astype(np.float64) / temperature)
    weights /= weights.sum()
    kept = int(np.searchsorted(np.cumsum(weights), top_p)) + 1
    weights = weights[:kept] / weights[:kept].sum()
    return int(order[generator.choice(len(weights), p=weights)])


class Text:
    """The text of tokens, given out as far as no later token changes it."""

    def __init__(self, tokenizer):
        self._tokenizer, self._tokens, self._shown = tokenizer, [], ""

    def add(self, token):
        """What is new."""
        self._tokens.append(token)
        whole = self._tokenizer.decode(self._tokens)
        if whole.endswith("\ufffd"):  # part of a character
            return ""
        new, self._shown = whole[len(self._shown):], whole
        return new

    @property
    def whole(self):
        return self._tokenizer.decode(self._tokens)


def _peak_megabytes():
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


class Figures:
    """What a generation took."""

    def __init__(self, prompt):
        self.prompt, self.tokens, self.prompt_seconds, self.seconds = prompt, 0, 0.0, 0.0

    def as_dict(self):
        steps = self.tokens - 1  # the prompt's run gives the first one
        return {"prompt_tokens": self.prompt, "tokens": self.tokens,
                "prompt_tokens_per_second": self.prompt / self.prompt_seconds if self.prompt_seconds else None,
                "tokens_per_second": steps / self.seconds if steps > 0 and self.seconds else None,
                "peak_megabytes": _peak_megabytes()}

    def text(self):
        figures = self.as_dict()

        def rate(name):
            return "" if figures[name] is None else f" at {figures[name]:.1f} per second"

        return (f"prompt: {self.prompt} tokens{rate('prompt_tokens_per_second')}; made: {self.tokens} tokens"
                f"{rate('tokens_per_second')}; memory: {figures['peak_megabytes']:.0f} MB")


def _generate(request, decoder, folder, prompt, text, figures):
    """Shows the text as it comes, unless it is wanted as JSON."""
    generator = np.random.default_rng(request.seed)
    start = time.perf_counter()
    scores = decoder.run(prompt)
    figures.prompt_seconds = time.perf_counter() - start
    while True:
        token = choose(scores, request.temperature, request.top_k, request.top_p, generator)
        figures.tokens += 1
        if token in folder.ends:
            return
        new = text.add(token)
        if not request.json:
            print(new, end="", flush=True)
        if figures.tokens == request.tokens:
            return
        start = time.perf_counter()
        scores = decoder.run([token])
        figures.seconds += time.perf_counter() - start


def run(request):
    """Returns the exit code."""
    folder = Folder(request.folder)
    tokenizer = _tokenizer(request.folder)
    prompt = tokenizer.encode(request.prompt).ids
    if not prompt:
        raise Failure("expected a text to continue, found one without tokens")
    decoder = Decoder(folder, len(prompt) + request.tokens, request.threads)
    text, figures, code = Text(tokenizer), Figures(len(prompt)), 0
    try:
        _generate(request, decoder, folder, prompt, text, figures)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    with undisturbed():
        if request.json:
            print(json.dumps({"text": text.whole} | figures.as_dict(), indent=2, ensure_ascii=False))
        else:
            print(flush=True)
            print(styled("dim", figures.text(), sys.stderr), file=sys.stderr)
    return code
