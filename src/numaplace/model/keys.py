"""Names that numaplace reads from and writes to Pods and nodes: annotations and labels.

Both the decoders and the verbs need them; each stands here once. What they mean is
in docs/reference/annotations.md.
"""

OWN_PREFIX = "numaplace.dev/"

CPUSET_SCHEDULER = "cpuset-scheduler"
ACK_NUMA_SPEC = "scheduling.alibabacloud.com/numa-topology-spec"
KOORDINATOR_NUMA_SPEC = "scheduling.koordinator.sh/numa-topology-spec"
MEMORY_LOCALITY = "koordinator.sh/memoryLocality"
JSON_KEYS = (ACK_NUMA_SPEC, KOORDINATOR_NUMA_SPEC, MEMORY_LOCALITY)  # annotations whose value is a JSON object

POLICY = OWN_PREFIX + "policy"
EXCLUSIVE = OWN_PREFIX + "exclusive"
CPUS = OWN_PREFIX + "cpus"
CPU_RULE = OWN_PREFIX + "cpu-rule"
MEMORY = OWN_PREFIX + "memory"
GPU_HCA = OWN_PREFIX + "gpu-hca"
GATE = OWN_PREFIX + "gate"  # "off": the Pod does not want to wait for a plan
ALLOCATION = OWN_PREFIX + "allocation"  # written by the planner only
OBSERVED = OWN_PREFIX + "observed"  # written by the node's agent only
OWN_KEYS = frozenset({POLICY, EXCLUSIVE, CPUS, CPU_RULE, MEMORY, GPU_HCA, GATE, ALLOCATION, OBSERVED})

ALIGN_LEVEL = OWN_PREFIX + "align-level"  # node label: numa or package
TOPOLOGY = OWN_PREFIX + "topology"  # attribute of a NodeResourceTopology: the topology document
IN_USE = OWN_PREFIX + "in-use"  # attribute of a NodeResourceTopology: what runs, by Pod UID
RESERVED = OWN_PREFIX + "reserved"  # attribute of a NodeResourceTopology: CPUs that are not for Pods, as ranges
RENEWED = OWN_PREFIX + "renewed"  # annotation of a NodeResourceTopology: when its agent was last alive
SETTINGS = OWN_PREFIX + "settings"  # annotation of the planners' Lease: how the one that leads is set up
PLAN_GATE = OWN_PREFIX + "plan"  # scheduling gate of a Pod that waits for its place
PLANNED = OWN_PREFIX + "Planned"  # condition of a Pod that has waited
NODE_NAME_FIELD = "metadata.name"  # what matchFields of a node affinity can name
HOSTNAME = "kubernetes.io/hostname"
