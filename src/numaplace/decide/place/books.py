"""What the Pods of one node take together, added up from the node's book.

One pass over the holders each time the book changes; `room` subtracts it from what
the machine has.
"""

from numaplace.model.allocation import Allocation, NumaCharge
from numaplace.model.cluster import Holder
from numaplace.model.layout import Layout
from numaplace.model.request import CpuMode, PodRequest, Policy
from numaplace.model.topology import Topology


class Books:
    """Sums over the holders added so far; lists run over the placeable numas, masks as in Layout."""

    def __init__(self, topology: Topology, layout: Layout) -> None:
        self.layout = layout
        self.cpus = self.gpus = self.hcas = 0  # owned, as bits
        self.unnamed_gpus = 0  # cards of Pods that run without an allocation
        self.floating_milli = 0
        self.single = self.wide = 0  # units with this mark
        self.confined_milli = [0] * len(layout.numas)
        self.memory = [0] * len(layout.numas)
        self.pages = {size: [0] * len(layout.numas) for size, _ in layout.pages}
        self._numa_at = {id: i for i, id in enumerate(layout.numas)}
        self._gpu_bit = {gpu.pci: 1 << i for i, gpu in enumerate(topology.gpus)}
        self._hca_bit = {hca.name: 1 << i for i, hca in enumerate(topology.hcas)}

    def add(self, holder: Holder) -> None:
        """Add what one Pod takes."""
        request, allocation = holder.request, holder.allocation
        if allocation is None:
            self.floating_milli += request.shared_cpu_milli + 1000 * request.cpus
            self.unnamed_gpus += request.gpus + request.foreign_gpus
            return
        cpus, gpus = self._owned(request, allocation)
        confined = sum(self._charge(charge) for charge in allocation.charges)
        self.floating_milli += max(0, request.shared_cpu_milli - confined)
        self._mark(request, allocation, cpus, gpus)

    def _owned(self, request: PodRequest, allocation: Allocation) -> tuple[int, int]:
        cpus = gpus = 0
        for share in allocation.containers.values():
            cpus |= share.cpus.bits
            for gpu in share.gpus:
                gpus |= self._gpu_bit.get(gpu.pci, 0)
            for hca in share.hcas if request.hcas_exclusive else ():
                self.hcas |= self._hca_bit.get(hca.name, 0)
        self.cpus |= cpus
        self.gpus |= gpus
        return cpus, gpus

    def _charge(self, charge: NumaCharge) -> int:
        """Book a charge; returns the confined milli-CPUs in it."""
        i = self._numa_at.get(charge.numa)
        if i is None:
            return 0
        self.confined_milli[i] += charge.shared_cpu_milli
        self.memory[i] += charge.memory_bytes
        for held in charge.hugepages:
            if held.page_bytes in self.pages:
                self.pages[held.page_bytes][i] += held.pages
        return charge.shared_cpu_milli

    def _mark(self, request: PodRequest, allocation: Allocation, cpus: int, gpus: int) -> None:
        """Mark the units of the allocation; for a Pod that only asked GPUs, those of its GPUs."""
        layout = self.layout
        if request.policy is Policy.NONE and not cpus and not gpus:
            return
        if request.policy is Policy.NONE and request.cpu_mode is CpuMode.FLOATING:
            homes = {home for i, home in enumerate(layout.gpu_home) if gpus >> i & 1 and home >= 0}
            units = layout.units_of(sum(1 << home for home in homes))
        else:
            units = layout.units_of(layout.mask(allocation.numas))
        if units.bit_count() == 1:
            self.single |= units
        elif units:
            self.wide |= units
