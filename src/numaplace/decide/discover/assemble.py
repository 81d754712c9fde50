"""From the files of a machine to its Topology: every source in turn, then joined.

Called by the agent, by `show` and by whoever plans on captured or described
machines. Firmware that lies makes findings, never an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from numaplace.decide.discover.caches import assemble_llcs
from numaplace.decide.discover.cpus import assemble_cpus
from numaplace.decide.discover.facts import Facts, parse_facts
from numaplace.decide.discover.gpus import assemble_gpus
from numaplace.decide.discover.hcas import assemble_hcas
from numaplace.decide.discover.kfd import assemble_kfd
from numaplace.decide.discover.kinds import assemble_kinds
from numaplace.decide.discover.numas import assemble_numas
from numaplace.decide.discover.nvidia import assemble_nvidia
from numaplace.decide.discover.pci import Function, assemble_pci
from numaplace.decide.discover.reading import Reading
from numaplace.decide.discover.sources import CPU, FACTS, PCI
from numaplace.decide.discover.tree import Tree
from numaplace.model.cpuset import CpuSet, union
from numaplace.model.devices import Gpu, Hca, NvLink
from numaplace.model.finding import Finding, FindingCode
from numaplace.model.ids import NumaId, PciAddress
from numaplace.model.topology import Numa, Topology


@dataclass(frozen=True, slots=True)
class Discovery:
    """A machine, and what is wrong or doubtful in what it says of itself."""

    topology: Topology
    findings: tuple[Finding, ...]


def assemble(tree: Tree, overrides: Mapping[str, NumaId] | None = None) -> Discovery:
    """Read a machine out of its files.

    `overrides` is the operator's word on the NUMA domain of a device, by PCI address or
    HCA name; it beats the facts in the tree, which beat the kernel. Never raises, whatever
    the files hold: what cannot be read is left out or unknown, and a finding.
    """
    reading = Reading(tree)
    facts = _facts(reading, overrides or {})
    nvidia, amd = assemble_nvidia(reading), assemble_kfd(reading)
    cpus = assemble_cpus(reading)
    if not cpus.online:
        reading.doubt(FindingCode.NOTHING_FOUND, CPU, "no CPU is named anywhere: this is no machine's /sys and /proc")
    own_memory = {card.memory_numa for card in nvidia.values()} | set(facts.memory_numas.values())
    numas = assemble_numas(reading, cpus.online, {id for id in own_memory if id is not None})
    facts = _with_known_numas(reading, facts, numas)
    functions = assemble_pci(reading, numas, cpus.online, facts.numas)
    gpus = assemble_gpus(reading, functions, numas, facts, nvidia, amd)
    hcas = assemble_hcas(reading, functions, numas, facts)
    _doubt_others(reading, functions, gpus, hcas)
    _doubt_cores(reading, cpus.cores, numas)
    topology = Topology(
        online=cpus.online,
        numas=numas,
        packages=cpus.packages,
        dies=cpus.dies,
        cores=cpus.cores,
        llcs=assemble_llcs(reading, cpus.online, cpus.packages),
        core_kinds=assemble_kinds(reading, cpus.online),
        pci=tuple(function.device for function in functions.values()),
        gpus=gpus,
        hcas=hcas,
        nvlinks=_links(gpus, (*amd.links, *facts.nvlinks)),
    )
    return Discovery(topology, reading.findings())


def _facts(reading: Reading, overrides: Mapping[str, NumaId]) -> Facts:
    facts, findings = parse_facts(reading.text(FACTS) or "", FACTS)
    for finding in findings:
        reading.doubt(finding.code, finding.where, finding.text)
    return replace(facts, numas={**facts.numas, **overrides})


def _with_known_numas(reading: Reading, facts: Facts, numas: tuple[Numa, ...]) -> Facts:
    """The facts without words on domains that do not exist."""
    known = {numa.id for numa in numas}
    for device, id in facts.numas.items():
        if id not in known:
            text = f"the operator puts it on NUMA domain {id}, which does not exist"
            reading.doubt(FindingCode.NUMA_CONFLICT, device, text)
    return replace(facts, numas={device: id for device, id in facts.numas.items() if id in known})


def _links(gpus: tuple[Gpu, ...], told: tuple[NvLink, ...]) -> tuple[NvLink, ...]:
    """The links between cards that exist, a pair once; the facts' word comes last and counts."""
    known = {gpu.pci for gpu in gpus}
    links = {(link.a, link.b): link for link in told if link.a in known and link.b in known}
    return tuple(links[pair] for pair in sorted(links))


def _doubt_others(
    reading: Reading, functions: Mapping[PciAddress, Function], gpus: tuple[Gpu, ...], hcas: tuple[Hca, ...]
) -> None:
    """One finding for all functions of unknown domain that nobody places."""
    placed = {gpu.pci for gpu in gpus} | {hca.pci for hca in hcas}
    unknown = [one for one in functions.values() if one.device.numa is None and one.device.address not in placed]
    if unknown:
        text = f"{len(unknown)} PCI functions that are neither GPU nor HCA do not tell their NUMA domain"
        reading.doubt(FindingCode.NUMA_UNKNOWN, PCI, text)


def _doubt_cores(reading: Reading, cores: tuple[CpuSet, ...], numas: tuple[Numa, ...]) -> None:
    homes = [numa.cpus for numa in numas if numa.cpus]
    split = [
        core for core in cores if not any(core.issubset(home) for home in homes) and not core.isdisjoint(union(homes))
    ]
    if split:
        text = f"{len(split)} cores have SMT siblings in different NUMA domains, such as CPUs {split[0]}"
        reading.doubt(FindingCode.SIBLINGS_ODD, CPU, text)
