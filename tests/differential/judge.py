"""Runs a case on all runtimes and says who disagrees with whom."""
import dataclasses

import compare
import engines
import fallbacks
from settled import reason_of


@dataclasses.dataclass
class Verdict:
    name: str
    faults: list  # (peer, words); the peer is ours, reference, stock, or derived (fallbacks.py) where both fail
    peers: list  # those that gave a result
    settled: list = dataclasses.field(default_factory=list)  # (peer, reason)


def attempt(function, *arguments):
    """(outputs, "") or (None, what the error says)"""
    try:
        return function(*arguments), ""
    except Exception as error:  # noqa: BLE001  (which it is, stands in the report)
        return None, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def peers_of(case, stage):
    """{peer: lists of outputs, one of which each element has to equal}"""
    found = {}
    plain, _ = attempt(engines.reference, case)
    wide, _ = attempt(engines.exact, case)
    if plain is not None:
        found["reference"] = [plain, wide] if wide is not None else [plain]
    stage("stock")  # whose process may end
    theirs, _ = attempt(engines.stock, case)
    if theirs is not None:
        found["stock"] = [theirs]
    for other in fallbacks.ALL if not found else ():
        outputs, _ = attempt(other, case)
        if outputs is not None:
            found["derived"] = [outputs]
            break
    stage("ours")
    return found


def judge(case, stage=lambda peer: None):
    """A Verdict. `stage` hears which runtime comes next, before its process may end."""
    faults, results = [], {}
    for level in engines.LEVELS:
        outputs, error = attempt(engines.ours, case, level)
        results[level] = outputs, error
    (plain, error), (best, other_error) = results["0"], results["99"]
    peers = peers_of(case, stage)
    factor, loose = case.call.tolerance, case.call.random
    if bool(error) != bool(other_error):
        faults.append(("ours", f"an error at one level only: {error or other_error}"))
    elif error:
        faults += [(peer, f"refused here: {error}") for peer in peers]
        if not peers:
            faults.append(("nobody", error))
    else:
        if words := compare.type_fault(best, case.model.graph.output):
            faults.append(("ours", words))
        if words := compare.outputs_fault(best, [plain], factor, loose):
            faults.append(("ours", f"levels differ: {words}"))
        for peer, wants in peers.items():
            for level, outputs in (("0", plain), ("99", best)):
                if words := compare.outputs_fault(outputs, wants, factor, loose, case.call.off_by):
                    faults.append((peer, f"level {level}: {words}"))
                    break
    verdict = Verdict(case.name, [], sorted(peers))
    for peer, words in faults:
        reason = reason_of(case, peer, words, verdict.peers)
        (verdict.settled if reason else verdict.faults).append((peer, reason or words))
    return verdict
