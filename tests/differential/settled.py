"""Disagreements that are settled: whose result is not compared where, and why. docs/disputed_results.md is the page.

A row says that `peer` ("reference", "stock", or "both") may differ where an operator of the model is one of
`operators` and `when` holds for the case. A row whose disagreement is gone can be removed: run.py --unused lists rows
that excused nothing.
"""
import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(eq=False)
class Settled:
    operators: str
    peer: str
    reason: str
    when: Callable | None = None
    words: str = ""  # a part of the fault's words
    used: int = 0


ROWS = []


def reason_of(case, peer, words, _peers):
    operators = {node.op_type for node in case.model.graph.node}
    for row in ROWS:
        if (peer == row.peer or (row.peer == "both" and peer in ("reference", "stock"))) \
                and operators & set(row.operators.split()) and row.words in words \
                and (row.when is None or row.when(case)):
            row.used += 1
            return row.reason
    return ""
