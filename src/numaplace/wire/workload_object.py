"""The parts of Kubernetes controllers that say how many Pods they make, and of what kind.

msgspec structs for `wire.manifests`; the template inside is decoded by `wire.pod`.
Defaults are those of the API server.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from numaplace.wire.pod_object import Metadata, Part

Template = dict[str, Any]  # a Pod object without a name


class Head(Part):
    """What every object has."""

    kind: str
    api_version: str | None = None
    metadata: Metadata = msgspec.field(default_factory=Metadata)


class ObjectList(Part):
    """Several objects in one."""

    items: list[Any] | None = None


class PriorityClass(Part):
    """A named priority."""

    value: int
    global_default: bool | None = None


class Controller(Part):
    """A controller: how many copies of which Pod."""

    def copies(self) -> int:
        """How many Pods it runs at one time."""
        raise NotImplementedError

    def pod_template(self) -> Template:
        """The Pod it makes copies of."""
        raise NotImplementedError

    def completions(self) -> int | None:
        """How many Pods run in all before it is done; None if it never is, or does not say."""
        return None

    def is_indexed(self) -> bool:
        """Whether its Pods have numbers."""
        return False


class ReplicatedSpec(Part):
    """A number of equal Pods."""

    template: Template
    replicas: int | None = None


class Replicated(Controller):
    """A Deployment, ReplicaSet, ReplicationController, StatefulSet or DaemonSet."""

    spec: ReplicatedSpec

    def copies(self) -> int:
        """As many as `replicas` says, else one."""
        return 1 if self.spec.replicas is None else self.spec.replicas

    def pod_template(self) -> Template:
        """The template in its spec."""
        return self.spec.template


class JobSpec(Part):
    """Pods that run to an end."""

    template: Template
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    suspend: bool | None = None


class JobTemplate(Part):
    """The Job that a CronJob makes."""

    spec: JobSpec


class CronJobSpec(Part):
    """A Job again and again."""

    job_template: JobTemplate


class RunsToEnd(Controller):
    """A Job, or a CronJob counted as one of its Jobs."""

    def job(self) -> JobSpec:
        """The Job's spec."""
        raise NotImplementedError

    def copies(self) -> int:
        """What runs at one time: never more than there are completions to make, nothing while suspended."""
        job = self.job()
        at_once = 1 if job.parallelism is None else job.parallelism
        if job.suspend:
            return 0
        return at_once if job.completions is None else min(at_once, job.completions)

    def pod_template(self) -> Template:
        """The template in the Job's spec."""
        return self.job().template

    def completions(self) -> int | None:
        """As many as the Job says."""
        return self.job().completions

    def is_indexed(self) -> bool:
        """Whether each completion has a number."""
        return self.job().completion_mode == "Indexed"


class Job(RunsToEnd):
    """A Job."""

    spec: JobSpec

    def job(self) -> JobSpec:
        """Its own spec."""
        return self.spec


class CronJob(RunsToEnd):
    """A CronJob."""

    spec: CronJobSpec

    def job(self) -> JobSpec:
        """The spec of the Job it makes."""
        return self.spec.job_template.spec


CONTROLLERS: Mapping[str, type[Controller]] = {
    "Deployment": Replicated,
    "ReplicaSet": Replicated,
    "ReplicationController": Replicated,
    "StatefulSet": Replicated,
    "DaemonSet": Replicated,
    "Job": Job,
    "CronJob": CronJob,
}
