"""Python: silero-vad hears speech with the models that its package carries, in the environment that has torch."""
from client import CACHE, PROGRAMS, ClientError, compare_printed, make_venv

NAME = "silero-vad"
VERSION = "6.2.3"
KIND = "package"
RUNS = "all of its six models at both rates, compared with stock's probabilities and times"
TORCH = CACHE / "transformers_optimum/venv/bin/python"


def install(place):
    if not TORCH.exists():
        raise ClientError("expected an environment with torch: run the client transformers_optimum first")
    make_venv(place, "--no-deps", f"silero-vad=={VERSION}")


def run(place, side):
    (packages,) = place.glob("venv/lib/*/site-packages")
    return compare_printed(place, side, TORCH, "-W", "ignore", PROGRAMS / "python/silero_vad_program.py", cwd=place,
                           env={"PYTHONPATH": str(packages)})
