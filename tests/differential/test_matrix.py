"""Every operator in every version and every type that its schema allows, each compared with a peer or a reference."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import cases  # noqa: E402
import matrix  # noqa: E402
import memory  # noqa: E402
import run  # noqa: E402
from calls import HISTORY, NAMES  # noqa: E402

SHARES = 8
SEED = 3
MORE = 12  # further cases of a cell whose first one nothing computes but Sardonyx


def hunted(tmp_path, names):
    options = run.arguments(["--seed", str(SEED), "--findings", str(tmp_path)])
    return run.hunt(options, iter(names))


@pytest.mark.parametrize("share", range(SHARES))
def test_each_cell_agrees_with_a_peer(tmp_path, share):
    names = list(cases.cells())[share::SHARES]
    summary = hunted(tmp_path, [f"{name}/0" for name in names])
    assert not summary.findings, summary.text()
    # `settled` counts: a peer computed the case, and who is right stands in the table.
    open_cells = {name.rpartition("/")[0] for name, peers in summary.peers.items() if not peers}
    for index in range(1, MORE):
        if not open_cells:
            break
        more = hunted(tmp_path, [f"{name}/{index}" for name in sorted(open_cells)])
        assert not more.findings, more.text()
        open_cells -= {name.rpartition("/")[0] for name, peers in more.peers.items() if peers}
    refused = {name for name in open_cells for op, kind in matrix.REFUSED if f".{op}-" in name
               and name.endswith(f"/{NAMES[kind]}")}
    assert not open_cells - refused


def test_no_operator_is_left_out():
    left_out = {name for (domain, name), group in HISTORY.items()
                if (domain, name) not in cases.RECIPES and not group[-1].deprecated}
    assert left_out == set(cases.NO_CASES)


def test_the_table_of_kernels_has_no_hole():
    holes = [f"{s.name}-{s.since_version}: {matrix.text_of(allowed - mine)}" for s, _, allowed, mine, _ in matrix.rows()
             if allowed - mine - {k for o, k in matrix.REFUSED if o == s.name}]
    assert not holes


def test_copied_types_are_those_measured():
    assert memory.table() == matrix.COPIED.read_text(), "run matrix.py --copied --page"


def test_the_page_is_what_the_tables_say():
    if os.environ.get("SDX_UPDATE"):
        matrix.PAGE.write_text(matrix.page())
    assert matrix.page() == matrix.PAGE.read_text(), "run matrix.py --page"


def test_onnx_runtimes_table_is_that_of_its_package():
    assert matrix.stock_text() == matrix.STOCK.read_text(), "run matrix.py --stock"
