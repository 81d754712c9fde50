"""GPUs: accelerator cards among the PCI functions, with what drivers and facts add.

A card that only the driver shows is kept too, with everything unknown about its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from numaplace.decide.discover.accelerators import is_accelerator
from numaplace.decide.discover.facts import Facts
from numaplace.decide.discover.kfd import AmdCards
from numaplace.decide.discover.nvidia import NvidiaCard
from numaplace.decide.discover.pci import Function, doubt_numa, doubt_unknown, only_placeable
from numaplace.decide.discover.reading import Reading
from numaplace.decide.discover.sources import NVIDIA, PCI
from numaplace.model.devices import NVIDIA_VENDOR, Gpu, PciDevice
from numaplace.model.finding import FindingCode
from numaplace.model.ids import NumaId, PciAddress
from numaplace.model.topology import Numa

PASSED_THROUGH = "vfio-pci"


def assemble_gpus(
    reading: Reading,
    functions: Mapping[PciAddress, Function],
    numas: Sequence[Numa],
    facts: Facts,
    nvidia: Mapping[PciAddress, NvidiaCard],
    amd: AmdCards,
) -> tuple[Gpu, ...]:
    """The accelerator cards by address; doubts about each go to the findings."""
    gpus = {}
    for address, function in functions.items():
        if address in nvidia or is_accelerator(function.device):
            doubt_numa(reading, function, numas, overridden=address in facts.numas)
            gpus[address] = _gpu(function.device, facts, nvidia.get(address, NvidiaCard()), amd)
    for address in nvidia.keys() - functions.keys():
        numa = facts.numas.get(address, only_placeable(numas))
        if address not in facts.numas:
            doubt_unknown(reading, f"{NVIDIA}/gpus/{address}", numa, numas)
        shown = PciDevice(address, class_code=0, vendor=NVIDIA_VENDOR, device="0000", numa=numa)
        gpus[address] = _gpu(shown, facts, nvidia[address], amd)
    for gpu in gpus.values():
        _doubt_use(reading, gpu)
    known = {numa.id for numa in numas}
    return tuple(_with_known_memory(reading, gpus[address], known) for address in sorted(gpus))


def _gpu(device: PciDevice, facts: Facts, nvidia: NvidiaCard, amd: AmdCards) -> Gpu:
    address = device.address
    return Gpu(
        pci=address,
        numa=device.numa,
        vendor=device.vendor if device.vendor != "0000" else NVIDIA_VENDOR,
        uuid=facts.uuids.get(address, nvidia.uuid or amd.uuids.get(address)),
        model=facts.models.get(address, nvidia.model),
        path=device.path,
        memory_numa=facts.memory_numas.get(address, nvidia.memory_numa),
        mig=facts.mig.get(address, nvidia.mig or address in amd.split),
        fault=facts.gpu_faults.get(address, _fault(device, nvidia)),
    )


def _fault(device: PciDevice, nvidia: NvidiaCard) -> str:
    if device.driver == PASSED_THROUGH:
        return f"bound to {PASSED_THROUGH}, for a virtual machine"
    return "excluded by its driver" if nvidia.excluded else ""


def _doubt_use(reading: Reading, gpu: Gpu) -> None:
    where = f"{PCI}/{gpu.pci}"
    if gpu.fault:
        reading.doubt(FindingCode.DEVICE_FAULT, where, f"must not be used: {gpu.fault}")
    if gpu.mig:
        reading.doubt(FindingCode.GPU_MIG, where, "is split into instances, so it is no whole card")


def _with_known_memory(reading: Reading, gpu: Gpu, known: set[NumaId]) -> Gpu:
    """The card without a memory domain that does not exist."""
    if gpu.memory_numa is None or gpu.memory_numa in known:
        return gpu
    text = f"its memory is said to be NUMA domain {gpu.memory_numa}, which does not exist"
    reading.doubt(FindingCode.NUMA_CONFLICT, f"{PCI}/{gpu.pci}", text)
    return replace(gpu, memory_numa=None)
