"""The PCI, GPU and RDMA files of a described machine, and the links between them.

Only what discovery reads is written. Paths and formats: docs/sources.md.
"""

from numaplace.decide.discover.sources import HCA, NVIDIA, PCI
from numaplace.model.cpuset import CpuSet
from numaplace.model.devices import NVIDIA_VENDOR, Gpu, Hca, PciDevice, Port
from numaplace.model.ids import NumaId
from numaplace.model.topology import Topology


def device_files(machine: Topology) -> dict[str, str]:
    """Every PCI function, GPU and HCA, path to text."""
    files: dict[str, str] = {}
    for function in machine.pci:
        files |= _function_files(function, machine)
    for minor, gpu in enumerate(gpu for gpu in machine.gpus if gpu.vendor == NVIDIA_VENDOR):
        files |= _nvidia_files(gpu, minor)
    for hca in machine.hcas:
        folder = f"{_parent_folder(hca)}/infiniband/{hca.name}"
        files[f"{folder}/node_type"] = "1: CA\n"
        for port in hca.ports:
            files |= _port_files(folder, port)
    return files


def device_links(machine: Topology) -> dict[str, str]:
    """The symbolic links of the device tree, each to the path it leads to."""
    links = {}
    for function in machine.pci:
        folder = _folder(function)
        links[f"{PCI}/{function.address}"] = folder
        if function.driver:
            links[f"{folder}/driver"] = f"sys/bus/pci/drivers/{function.driver}"
        if function.physical:
            links[f"{folder}/physfn"] = f"{PCI}/{function.physical}"
    for hca in machine.hcas:
        parent = _parent_folder(hca)
        links[f"{HCA}/{hca.name}"] = f"{parent}/infiniband/{hca.name}"
        if hca.pci:
            links[f"{parent}/infiniband/{hca.name}/device"] = parent
    return links


def _function_files(function: PciDevice, machine: Topology) -> dict[str, str]:
    folder = _folder(function)
    return {
        f"{folder}/class": f"{function.class_code:#08x}\n",
        f"{folder}/vendor": f"0x{function.vendor}\n",
        f"{folder}/device": f"0x{function.device}\n",
        f"{folder}/numa_node": f"{-1 if function.numa is None else function.numa}\n",
        f"{folder}/local_cpulist": f"{_local_cpus(function.numa, machine)}\n",
    }


def _local_cpus(numa: NumaId | None, machine: Topology) -> CpuSet:
    # The kernel prints every CPU where it does not know the domain.
    return machine.online if numa is None else machine.numa(numa).cpus


def _nvidia_files(gpu: Gpu, minor: int) -> dict[str, str]:
    folder = f"{NVIDIA}/gpus/{gpu.pci}"
    rows = [("Model", gpu.model), ("GPU UUID", gpu.uuid), ("Bus Type", "PCIe"), ("Bus Location", gpu.pci)]
    rows.append(("Device Minor", str(minor)))
    files = {f"{folder}/information": "".join(f"{key}: \t\t {value}\n" for key, value in rows if value)}
    if gpu.memory_numa is not None:
        files[f"{folder}/numa_status"] = f"Node: {gpu.memory_numa}\nStatus: online\n"
    if gpu.mig:
        files[f"{NVIDIA}/capabilities/gpu{minor}/mig/gi1/access"] = "DeviceFileMinor: 12\n"
    return files


def _port_files(hca_folder: str, port: Port) -> dict[str, str]:
    folder = f"{hca_folder}/ports/{port.number}"
    files = {
        f"{folder}/state": "4: ACTIVE\n" if port.active else "1: DOWN\n",
        f"{folder}/phys_state": "5: LinkUp\n" if port.active else "3: Disabled\n",
        f"{folder}/link_layer": f"{port.link_layer or 'Unknown'}\n",
    }
    if port.link_gbps is not None:
        files[f"{folder}/rate"] = f"{port.link_gbps:g} Gb/sec\n"
    return files


def _folder(function: PciDevice) -> str:
    return "/".join(("sys/devices", *function.path, function.address))


def _parent_folder(hca: Hca) -> str:
    return "/".join(("sys/devices", *hca.path, hca.pci)) if hca.pci else "sys/devices/virtual"
