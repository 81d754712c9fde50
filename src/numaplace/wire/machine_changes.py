"""What is wrong with single devices of a described machine: faults, and GPUs in MIG mode."""

from collections.abc import Iterable
from dataclasses import replace

from numaplace.model.errors import InputError
from numaplace.model.topology import Topology
from numaplace.wire.machine_cards import address_of, line_of
from numaplace.wire.machine_schema import MachineFields
from numaplace.wire.strict import shown


def changed_devices(fields: MachineFields, machine: Topology, where: str) -> Topology:
    """The machine with these changes; GPUs are named by PCI address, HCAs by name."""
    gpus: set[str] = {gpu.pci for gpu in machine.gpus}
    hcas: set[str] = {hca.name for hca in machine.hcas}
    faults = {}
    for name, text in fields.faults.items():
        place = f"{where}: faults"
        faults[_device(name, gpus | hcas, place)] = line_of(text, place)
    mig = {_device(name, gpus, f"{where}: mig") for name in fields.mig}
    return replace(
        machine,
        gpus=tuple(
            replace(gpu, fault=faults.get(gpu.pci, gpu.fault), mig=gpu.mig or gpu.pci in mig) for gpu in machine.gpus
        ),
        hcas=tuple(replace(hca, fault=faults.get(hca.name, hca.fault)) for hca in machine.hcas),
    )


def _device(name: str, known: Iterable[str], where: str) -> str:
    if name in known:
        return name
    address = address_of(name, where) if ":" in name else None
    if address is None or address not in known:
        raise InputError(where, found=shown(name), wanted=f"one of {' '.join(sorted(known)) or 'no device at all'}")
    return address
