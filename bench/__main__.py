"""Every figure that numaplace claims, measured here: `make bench`, or `python -m bench NAME…` for some."""

import sys
from collections.abc import Callable

from bench import capturing, order, placing, reading, waking
from bench.machine import machine_line


def _one_machine() -> None:
    for spec in ("2pkg 8numa 128cpu 16gpu 16hca pix", "8pkg 8numa 128cpu 16gpu 16hca pix nvswitch"):
        print(f"{spec}:")
        placing.one_machine(spec)


def _many_nodes() -> None:
    placing.many_nodes(10_000, 10_000, fill=0.3)
    placing.many_nodes(10_000, 5_000, fill=0.9)
    placing.many_nodes(100_000, 3_000, fill=0.3)


BENCHES: dict[str, tuple[str, Callable[[], None]]] = {
    "reading": ("Reading a machine: sysfs tree to topology", reading.study),
    "one-machine": ("One Pod on one machine of 8 numas, 16 GPUs, 16 HCAs", _one_machine),
    "many-nodes": ("One Pod on many nodes of 8 GPUs, mixed shapes, ledger update included", _many_nodes),
    "capture": ("A cluster written down and read again: memory", capturing.study),
    "waking": ("One freed GPU, and thousands of Pods that wait", waking.study),
    "order": ("Order of arrival against the optimum", lambda: order.study(300)),
}


def main(names: list[str]) -> None:
    """Run the named benches, all of them without a name."""
    for name in names or BENCHES:
        title, run = BENCHES[name]
        print(f"\n== {name}: {title}\n   {machine_line()}")
        run()


main(sys.argv[1:])
