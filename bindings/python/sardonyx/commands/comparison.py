"""A model before and after: size, speed here and in ONNX Runtime, accuracy."""
import math
from dataclasses import dataclass, field

from sardonyx.commands import files, speed
from sardonyx.commands.terminal import (
    Progress,
    byte_text,
    columns,
    decibel_text,
    share_text,
    styled,
    time_text,
)
from sardonyx.model import Model


@dataclass
class Side:
    """One model. Times are in milliseconds; None where nothing was measured."""

    size: int
    here_ms: float | None = None
    peer_ms: float | None = None


@dataclass
class Comparison:
    """`accuracy`: of the new model here, `peer_accuracy`: in ONNX Runtime; `peer_note`: why that is missing."""

    before: Side
    after: Side
    accuracy: object
    peer_accuracy: object = None
    peer_version: str = ""
    peer_note: str = ""
    notes: list = field(default_factory=list)


def compare(request, output, samples, reference):
    """The Comparison of the model of the request and the one that was written."""
    session, is_half = speed.make_session(output, request.threads), getattr(request, "to", "") in ("fp16", "bf16")
    with Progress("comparing with the original"):
        accuracy = reference.evaluate(session)
    result = Comparison(Side(files.size_of(request.file, Model(request.file))),
                        Side(files.size_of(output, Model(str(output)))), accuracy)
    feed = samples.feed(samples.comparison[0])
    sessions = [speed.make_session(request.file, request.threads), session]
    runtime, peers = speed.peer(), []
    if runtime is None:
        result.peer_note = "the package onnxruntime is not installed beside sardonyx: not compared with ONNX Runtime"
    else:
        result.peer_version = runtime.__version__
        try:
            # Its optimizer ends the process for some models with recurrent nodes of half precision.
            ending = speed.end_of_peer(output, feed) if is_half else None
            if ending is not None:
                raise RuntimeError(f"it ends its process ({ending})")
            peers = [speed.make_peer_session(runtime, path, request.threads) for path in (request.file, output)]
            with Progress("running the model in ONNX Runtime"):
                result.peer_accuracy = reference.evaluate(peers[1])
        except Exception as failure:  # whatever it is, it is ONNX Runtime's answer, which is shown
            peers, result.peer_note = [], f"ONNX Runtime does not run it: {str(failure).splitlines()[0][:300]}"
    if request.seconds > 0:
        with Progress("measuring speed"):
            times = speed.times_in_turns([*sessions, *peers], feed, request.seconds)
        result.before.here_ms, result.after.here_ms = times[:2]
        if peers:
            result.before.peer_ms, result.after.peer_ms = times[2:]
    _note(result, accuracy, is_half, request.command == "quantize")
    return result


def _note(result, accuracy, is_half, has_integers):
    for name in accuracy.not_finite:
        result.notes.append(f"output '{name}' has NaN or infinity, and not in the original: leave nodes in float with "
                            "--exclude, or ask for a --target-sqnr")
    for name in accuracy.other_shapes:
        result.notes.append(f"output '{name}' has another shape than in the original for some samples: it is not "
                            "compared (see --compare)")
    if result.after.here_ms and result.after.here_ms > 1.02 * result.before.here_ms:
        why = "half precision is widened to floats where this machine has no faster products of it" if is_half else (
            "this machine multiplies floats as fast as its integers for these shapes")
        smaller = "; it is smaller all the same" if result.after.size < result.before.size else ""
        result.notes.append(f"the new model is slower here: {why}{smaller}")
    peer = result.peer_accuracy
    if peer and math.isfinite(peer.sqnr) and peer.sqnr < accuracy.sqnr - 1:
        why = "its kernels round otherwise"
        if is_half:
            why = "it rounds to half precision between more of the nodes"
        elif has_integers:
            why = "its kernels for this machine lose digits in sums of 8-bit products (--reduce-range yes avoids that)"
        result.notes.append(f"in ONNX Runtime its SQNR is {decibel_text(peer.sqnr)}, lower than here: {why}")


def table(result):
    """Lines for people."""
    has_peer = result.before.peer_ms is not None
    heads = ["", "size", "time here"] + ["in ONNX Runtime"] * has_peer + ["SQNR", "same top-1"]
    rows = [heads]
    for name, side in (("before", result.before), ("after", result.after)):
        row = [name, byte_text(side.size), _time(side.here_ms)] + [_time(side.peer_ms)] * has_peer
        is_after = side is result.after
        rows.append(row + ([decibel_text(result.accuracy.sqnr), share_text(result.accuracy.agreement)]
                           if is_after else ["", ""]))
    rows.append(["", _times(result.before.size, result.after.size, "smaller", "larger"),
                 _times(result.before.here_ms, result.after.here_ms, "faster", "slower")]
                + [_times(result.before.peer_ms, result.after.peer_ms, "faster", "slower")] * has_peer)
    return columns(rows)


def _time(milliseconds):
    return "-" if milliseconds is None else time_text(milliseconds)


def _times(before, after, better, worse):
    if not before or not after:
        return ""
    return f"{before / after:.2f}x {better}" if before >= after else f"{after / before:.2f}x {worse}"


def show(result, reference):
    print("\n" + styled("bold", "Before and after"))
    print(table(result))
    if reference.ranked is not None:
        print(styled("dim", "  same top-1: the largest element is at the same place (of output "
                     f"{reference.ranked_text})"))
    if result.peer_accuracy is not None:
        print(styled("dim", f"  in ONNX Runtime {result.peer_version} the new model has an SQNR of "
                     f"{decibel_text(result.peer_accuracy.sqnr)} and {share_text(result.peer_accuracy.agreement)} of "
                     "the same top-1"))
    for note in [result.peer_note, *result.notes]:
        if note:
            print(styled("dim", f"  {note}"))


def as_json(result):
    """What --json shows of it; numbers that are not finite are null."""
    def side(one):
        return {"bytes": one.size, "ms": one.here_ms, "onnxruntime_ms": one.peer_ms}

    def accuracy(one):
        return None if one is None else {
            "sqnr_db": finite(one.sqnr), "exact": one.sqnr == math.inf, "top1_agreement": one.agreement,
            "outputs": {name: finite(value) for name, value in one.by_output.items()}, "not_finite": one.not_finite}
    return {"before": side(result.before), "after": side(result.after), "accuracy": accuracy(result.accuracy),
            "onnxruntime": {"version": result.peer_version, "accuracy": accuracy(result.peer_accuracy),
                            "note": result.peer_note}, "notes": result.notes}


def finite(value):
    return value if value is not None and math.isfinite(value) else None
