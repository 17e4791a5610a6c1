#!/usr/bin/env python3
"""Compares random models of one operator, and of chains that fusions look for, with onnx.reference and ONNX Runtime.

Sardonyx runs each model without optimization and with all of it. What disagrees and is not settled (settled.py,
docs/disputed_results.md) is printed, reduced, and stored in a folder that --again runs. The same seed and number of
cases give the same models; --seconds ends a longer run.

usage: compare_runtimes.py [--seed N] [--cases N] [--seconds N] [--operators A,B] [--chains] [--newest] [--older N]
              [--jobs N] [--findings FOLDER] [--case NAME | --again FOLDER]
"""
import argparse
import collections
import itertools
import json
import pathlib
import queue
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools")]
HANG = 60  # seconds after which a case counts as hanging


def names(options):
    """Names of cases without end: each cell in turn, then each chain."""
    import chains
    import random_cases
    operators = set(filter(None, options.operators.split(",")))
    cells = [] if options.chains else list(random_cases.cells(operators, options.newest))
    newest = set(random_cases.cells(operators, newest_only=True))
    if not operators:
        cells += [f"chain/{name}" for name in sorted(chains.CHAINS) for _ in range(CHAIN_SHARE)]
    if not cells:
        raise SystemExit(f"expected operators with cases, found {options.operators!r}")
    seen = collections.Counter()
    for turn in range(options.cases) if options.cases else itertools.count():
        for cell in cells:
            if options.older and turn >= options.older and cell not in newest and not cell.startswith("chain/"):
                continue
            yield f"{cell}/{seen[cell]}"
            seen[cell] += 1


CHAIN_SHARE = 4  # cases of a chain for one of each cell


def child(seed, findings):
    """Reads names of cases, one a line, and prints a line before and after each."""
    import peer
    peer.require()
    import judge
    import random_cases
    import shrink
    for line in sys.stdin:
        name = line.strip()
        print("begin", name, flush=True)
        try:
            case = random_cases.make(name, seed)
        except Exception as error:  # noqa: BLE001  (a recipe that fails is a fault of the recipe)
            print("broken", json.dumps([name, f"{type(error).__name__}: {error}"]), flush=True)
            continue
        verdict = judge.judge(case, stage=lambda peer: print("stage", peer, flush=True))
        report = {"name": name, "peers": verdict.peers, "settled": verdict.settled, "faults": verdict.faults}
        if verdict.faults and findings and verdict.faults[0][0] != "nobody":
            case, verdict = shrink.shrunk(case, verdict, judge.judge)
            words = "\n".join(f"{peer}: {text}" for peer, text in verdict.faults)
            report["small"] = str(shrink.store(case, findings, words))
            report["node"] = " -> ".join(describe(node) for node in case.model.graph.node)
        print("done", json.dumps(report), flush=True)


def describe(node):
    import onnx
    attributes = ", ".join(f"{a.name}={onnx.helper.get_attribute_value(a)!r}"[:80] for a in node.attribute)
    return f"{node.op_type}({attributes})"


def pump(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put("")


class Worker:
    """A process that runs cases; what ends it is a finding, and a new one goes on behind it."""

    def __init__(self, options, take, report):
        self.options, self.take, self.report = options, take, report

    def start(self):
        command = [sys.executable, "-W", "ignore", __file__, "--child", "--seed", str(self.options.seed)]
        command += ["--findings", self.options.findings] if self.options.findings else []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.PIPE, errors="replace")
        self.lines, self.errors = queue.Queue(), []
        threading.Thread(target=pump, args=(self.process.stdout, self.lines), daemon=True).start()
        threading.Thread(target=lambda p=self.process: self.errors.append(p.stderr.read()), daemon=True).start()

    def run(self):
        self.start()
        while name := self.take():
            self.process.stdin.write(name + "\n")
            self.process.stdin.flush()
            if not self.answered(name):
                self.process.kill()
                self.process.wait()
                self.start()
        self.process.stdin.close()
        self.process.wait()

    def answered(self, name):
        stage = "ours"
        while True:
            try:
                line = self.lines.get(timeout=HANG * (5 if self.options.findings else 1))
            except queue.Empty:
                self.report({"name": name, "peers": [], "settled": [], "faults": [["ours", "hangs"]]})
                return False
            word, _, rest = line.strip().partition(" ")
            if word == "done":
                self.report(json.loads(rest))
                return True
            if word == "broken":
                name, words = json.loads(rest)
                self.report({"name": name, "peers": [], "settled": [], "faults": [["recipe", words]]})
                return True
            if word == "stage":
                stage = rest
            elif word != "begin":
                code = self.process.wait()
                time.sleep(0.2)
                words = f"the process ended with {code}: {''.join(self.errors)[-2000:]}"
                settled = [[stage, "its process ended"]] if stage == "stock" else []
                self.report({"name": name, "peers": [], "settled": settled,
                             "faults": [] if settled else [[stage, words]]})
                return False


def described(report):
    lines = [report["name"], *(f"    {peer}: {words}" for peer, words in report["faults"])]
    if "small" in report:
        lines += [f"    {report['node']}", f"    again: {__file__} --again {report['small']}"]
    return "\n".join(lines)


class Summary:
    def __init__(self):
        self.cases, self.compared, self.settled, self.findings = 0, collections.Counter(), collections.Counter(), []
        self.peers = {}  # of each case: those that computed it
        self.lock = threading.Lock()

    def add(self, report):
        with self.lock:
            self.cases += 1
            self.peers[report["name"]] = report["peers"]
            self.compared.update(report["peers"])
            self.settled.update(f"{peer}: {reason}" for peer, reason in report["settled"])
            if report["faults"]:
                self.findings.append(report)
                print(described(report), flush=True)

    def text(self):
        return "\n".join(described(report) for report in self.findings)

    def print(self, seconds):
        for reason, count in sorted(self.settled.items()):
            print(f"settled {count:6}  {reason}")
        by_operator = collections.Counter(f["name"].split("/")[0] if not f["name"].startswith("chain") else
                                          "/".join(f["name"].split("/")[:2]) for f in self.findings)
        for operator, count in by_operator.most_common():
            print(f"finding {count:6}  {operator}")
        print(f"{self.cases} cases in {seconds:.0f} s, {self.compared['reference']} compared with onnx.reference, "
              f"{self.compared['stock']} with ONNX Runtime, {sum(self.settled.values())} settled disagreements, "
              f"{len(self.findings)} findings")


def hunt(options, source=None):
    summary, lock = Summary(), threading.Lock()
    start, source = time.monotonic(), source or names(options)

    def take():
        with lock:
            if options.seconds and time.monotonic() - start > options.seconds:
                return None
            return next(source, None)

    workers = [threading.Thread(target=Worker(options, take, summary.add).run) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    summary.print(time.monotonic() - start)
    return summary


def one(case):
    import judge
    verdict = judge.judge(case)
    print(case.model, {k: v for k, v in case.feeds.items()}, f"compared with {verdict.peers}", sep="\n")
    print(*(f"settled, {peer}: {words}" for peer, words in verdict.settled), sep="\n")
    print(*(f"{peer}: {words}" for peer, words in verdict.faults), sep="\n")
    sys.exit(bool(verdict.faults))


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=0, help="cases of each operator, version and type; 0: no end")
    parser.add_argument("--seconds", type=float, default=0, help="ends after this time; 0: no end")
    parser.add_argument("--operators", default="", help="only these, and no chains")
    parser.add_argument("--chains", action="store_true", help="only chains")
    parser.add_argument("--newest", action="store_true", help="only the newest version of each operator")
    parser.add_argument("--older", type=int, default=0, help="as --cases, of versions with a newer one; 0: as many")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--findings", default="", help="folder for reduced models")
    parser.add_argument("--case", default="", help="shows one case, with the values of all runtimes")
    parser.add_argument("--again", default="", help="runs a stored case")
    parser.add_argument("--child", action="store_true")
    return parser.parse_args(given)


def main():
    options = arguments()
    if options.child:
        child(options.seed, options.findings)
    elif options.case:
        import random_cases
        one(random_cases.make(options.case, options.seed))
    elif options.again:
        import shrink
        one(shrink.load(options.again))
    else:
        sys.exit(bool(hunt(options).findings))


if __name__ == "__main__":
    main()
