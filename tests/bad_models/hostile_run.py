"""Runs hostile calls of operators (hostile_nodes.py, resized_inputs.py, one_number.py), each in a process of its own.

Each must end soon, with a result or with an error that names the place, and in the same way with and without
optimization.

usage: hostile_run.py [--seeds FROM:TO | --resized CASES | --numbers CASES] [--limits]
                      [--jobs N] [--operator PART] [--case NAME/SEED]
"""
import argparse
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).parent
ABORT = -1  # the seed of a case that ends its process, for the test of this file
SLOW = 5  # seconds of computing that a case may take
LIMITS = {"max_load_memory": 1 << 28, "max_run_memory": 1 << 28, "load_timeout_ms": 2000, "run_timeout_ms": 1000}
# Words of the C++ library, which say nothing to a user.
FOREIGN = re.compile(r"std::|bad_alloc|basic_string|vector::|map::at|stoi|length_error|out_of_range|unknown exception"
                     r"|sardonyx::|\.cpp|\.h:")
RANDOM = {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomUniform", "RandomNormalLike",
          "RandomUniformLike"}


def session_of(case, level):
    import sardonyx
    options = sardonyx.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = level
    for name, limit in LIMITS.items():
        options.add_session_config_entry(f"sardonyx.{name}", str(limit))
    return sardonyx.InferenceSession(case.model.SerializeToString(), options)


def outcome(case, level):
    """(exception or "", message or outputs)"""
    try:
        return "", session_of(case, level).run(None, case.feeds)
    except Exception as error:  # noqa: BLE001  (which it is, is looked at)
        return f"{type(error).__module__.split('.')[0]}.{type(error).__name__}", str(error)


def places(case):
    """Nodes that a pass made are named after the author's value."""
    graph = case.model.graph
    names = [v.name for v in [*graph.input, *graph.output, *graph.initializer]]
    return ["'it'", "node #", *(f"'{name}'" for name in names), *(f"'{name}_" for name in names), "opset"]


def faults_of(case, kind, message):
    if not kind.startswith("sardonyx."):
        yield f"an exception that is not ours: {kind}: {message}"
    # A few operators have this class in ONNX Runtime; what nobody foresaw has it, too, and does not say "expected".
    if kind.endswith(".RuntimeException") and "expected" not in message or FOREIGN.search(message):
        yield f"an error that says nothing to users: {kind}: {message}"
    if len(message) > 2000:
        yield f"a message of {len(message)} characters: {message[:300]}"
    if not any(place in message for place in places(case)):
        yield f"an error without a place: {kind}: {message}"


def different(one, other):
    import numpy as np
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) != len(other) or any(different(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) or one is None or other is None:
        return one != other
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.dtype != other.dtype:
        return True
    if one.dtype.kind in "OUSbiu" or one.size == 0:
        return not np.array_equal(one, other)
    if one.dtype.kind == "V":
        return False
    with np.errstate(all="ignore"):
        one, other = one.astype(np.complex128), other.astype(np.complex128)
        same = np.isclose(one, other, 2e-2, 1e-2, equal_nan=True)
        large = np.abs(one[np.isfinite(one)])
        return not (same | (large.max(initial=0) > 1e6)).all() if one.size else False


def is_tame(case):
    """Whether both forms of the node have to give the same numbers: what is not finite or overflows spreads as the sums
    are ordered."""
    import numpy as np
    import onnx.numpy_helper
    given = [value for value in case.feeds.values() if isinstance(value, np.ndarray)]
    given += [onnx.numpy_helper.to_array(tensor) for tensor in case.model.graph.initializer]
    floats = [value for value in given if value.dtype.kind == "f" and value.size]
    return (case.model.graph.node[0].op_type not in RANDOM
            and all(np.isfinite(value).all() and np.abs(value).max() < 1e4 for value in floats))


def check(case):
    """What is wrong about how `case` ends."""
    import sardonyx
    levels = sardonyx.GraphOptimizationLevel
    (kind, plain), (other, optimized) = (outcome(case, level)
                                         for level in (levels.ORT_DISABLE_ALL, levels.ORT_ENABLE_ALL))
    for found, message in ((kind, plain), (other, optimized)):
        if found:
            yield from faults_of(case, found, message)
    limited = any("sardonyx." in str(words) for found, words in ((kind, plain), (other, optimized)) if found)
    if bool(kind) != bool(other) and not limited:
        yield (f"not optimized: {kind} {plain if kind else 'a result'}; "
               f"optimized: {other} {optimized if other else 'a result'}")
    elif kind and kind != other and not limited:
        yield f"another code, not optimized: {kind} {plain}; optimized: {other} {optimized}"
    elif not kind and is_tame(case) and different(plain, optimized):
        yield f"other results: {str(plain)[:200]} and optimized {str(optimized)[:200]}"


def made(case, seed):
    """By a number as hostile_nodes changes it, =HOW/NAME/WHICH as one_number does, INPUT/WAY as resized_inputs."""
    import hostile_nodes
    import one_number
    import resized_inputs
    if not isinstance(seed, str):
        return hostile_nodes.make(case, seed)
    return (one_number if seed.startswith("=") else resized_inputs).make(case, seed)


def child(names_and_seeds):
    """Prints a line before and after each case, so that the parent knows the one that killed it."""
    import hostile_nodes
    cases = {case.name: case for group in hostile_nodes.parents().values() for case in group}
    print("ready", flush=True)
    for name, seed in names_and_seeds:
        print("begin", json.dumps([name, seed]), flush=True)
        if seed == ABORT:
            os.abort()
        case = made(cases[name], seed)
        start = time.process_time()  # not the clock's: the machine may be busy
        faults = list(check(case))
        if (took := time.process_time() - start) > SLOW:
            faults.append(f"took {took:.1f} s")
        if faults:
            print("fault", json.dumps([name, seed, case.changes, faults]), flush=True)
    print("done", flush=True)


class Hunt:
    """Many cases in a process; what kills it is noted, and a new one goes on behind it."""

    def __init__(self, cases):
        self.cases, self.faults = list(cases), []

    def run(self):
        at = 0
        while at < len(self.cases):
            at = self.run_from(at)
        return self.faults

    def add(self, fault):
        self.faults.append(fault)
        name, seed, changes, words = fault
        print(f"{name}/{seed}: {'; '.join(changes)}", *(f"    {line}" for line in words), sep="\n", flush=True)

    def run_from(self, at):
        process = subprocess.Popen([sys.executable, "-W", "ignore", __file__, "--child"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        errors = []
        lines = queue.Queue()
        threading.Thread(target=lambda: errors.append(process.stderr.read()), daemon=True).start()
        threading.Thread(target=lambda: [lines.put(line) for line in [*iter(process.stdout.readline, ""), ""]],
                         daemon=True).start()
        process.stdin.write(json.dumps(self.cases[at:]))
        process.stdin.close()
        patience, begun = 300, None
        while True:
            try:
                line = lines.get(timeout=patience)
            except queue.Empty:
                line = "hangs"
            word, _, rest = line.strip().partition(" ")
            if word == "begin":
                begun, patience = json.loads(rest), 12 * SLOW
                at += 1
            elif word == "fault":
                self.add(json.loads(rest))
            elif word == "done":
                process.wait()
                return at
            elif word != "ready":
                process.kill()
                code = process.wait()
                for _ in range(50):
                    if not errors:
                        time.sleep(0.1)
                tail = (errors or [""])[0][-6000:]
                if begun is None:
                    raise SystemExit(f"no case could be run:\n{tail}")
                self.add([*begun, [], ["hangs" if word == "hangs" else f"ended with {code}: {tail}"]])
                return at


def all_cases(seeds, part=""):
    import hostile_nodes
    for (_, op), group in sorted(hostile_nodes.parents().items()):
        if part in op:
            for seed in seeds:
                yield group[seed % len(group)].name, seed


def changed_cases(ways, most, part=""):
    """`most` cases of each operator in each of the ways of resized_inputs or one_number."""
    import hostile_nodes
    for (_, op), group in sorted(hostile_nodes.parents().items()):
        if part in op:
            for case in group[:: max(1, len(group) // most)][:most]:
                for change in ways.changes_of(case):
                    yield case.name, change


def hunt(cases, jobs):
    cases = list(cases)
    shares = [Hunt(cases[k::jobs]) for k in range(jobs)]
    threads = [threading.Thread(target=share.run) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [fault for share in shares for fault in share.faults]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:20")
    parser.add_argument("--resized", type=int, default=0, help="cases of each operator whose inputs change shape")
    parser.add_argument("--numbers", type=int, default=0, help="cases of each operator of which each number changes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--operator", default="")
    parser.add_argument("--case", default="", help="NAME/SEED: what it is and how it ends")
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    if options.child:
        child(json.load(sys.stdin))
        return
    if options.case:
        import hostile_nodes
        name, _, seed = options.case.partition("/")
        (parent,) = [c for group in hostile_nodes.parents().values() for c in group if c.name == name]
        case = made(parent, int(seed) if seed.lstrip("-").isdigit() else seed)
        given = {k: (getattr(v, "dtype", None), getattr(v, "shape", None)) for k, v in case.feeds.items()}
        print(case.changes, case.model, given, sep="\n")
        print(*check(case), sep="\n")
        return
    first, _, end = options.seeds.partition(":")
    start = time.monotonic()
    if options.resized or options.numbers:
        import one_number
        import resized_inputs
        cases = list(changed_cases(resized_inputs if options.resized else one_number,
                                   options.resized or options.numbers, options.operator))
    else:
        cases = list(all_cases(range(int(first), int(end)), options.operator))
    faults = hunt(cases, options.jobs)
    print(f"{len(cases)} cases, {len(faults)} with faults, {time.monotonic() - start:.0f} s")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
