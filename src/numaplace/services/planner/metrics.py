"""What the planner counts, as Prometheus reads it; docs/reference/planner.md lists the names."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The counters of one planner, in a registry of its own."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.plans = Counter("numaplace_plans", "Plans tried for one Pod on all nodes", ["answer"], registry=registry)
        self.writes = Histogram(
            "numaplace_write_seconds", "Writes to the API server", ["write"], registry=registry, buckets=_SECONDS
        )
        self.planning = Histogram("numaplace_plan_seconds", "Work on one plan", registry=registry, buckets=_SECONDS)
        self.binding = Histogram(
            "numaplace_binding_seconds", "From the plan to the bound Pod", registry=registry, buckets=_SECONDS
        )
        self.failures = Counter("numaplace_failures", "Plans and writes that failed", ["what"], registry=registry)
        self.troubles = Counter("numaplace_watch_troubles", "Watches that broke", ["resource"], registry=registry)
        self.extender = Histogram(
            "numaplace_extender_seconds", "Answers to kube-scheduler", ["verb"], registry=registry, buckets=_SECONDS
        )
        self.answers = Counter(
            "numaplace_extender_answers", "Answers to kube-scheduler", ["verb", "answer"], registry=registry
        )
        self.waiting = Gauge("numaplace_waiting_pods", "Pods without a place", registry=registry)
        self.outstanding = Gauge("numaplace_outstanding_plans", "Plans on their way", registry=registry)
        self.nodes = Gauge("numaplace_nodes", "Nodes known", registry=registry)

    def text(self) -> bytes:
        """All of it in the text format."""
        return generate_latest(self.registry)
