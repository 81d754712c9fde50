"""Random nodes, Pods, claims and volumes that are full of rules, as objects for an API server.

Few labels with few values, so that rules meet each other often.
"""

import random
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

HOSTNAME, ZONE, RACK = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
APPS, TIERS = ("web", "db", "job"), ("front", "back")
TAINTS = (("team", "a", "NoSchedule"), ("team", "b", "NoExecute"), ("slow", "", "PreferNoSchedule"))
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

Thing = dict[str, Any]


@dataclass
class RandomCluster:
    """What there is before any Pod is judged; names of namespaces are given, so that two runs do not meet."""

    draw: random.Random
    spaces: tuple[str, str]
    prefix: str
    node_names: list[str] = field(default_factory=list)
    claim_names: list[str] = field(default_factory=list)

    def maybe(self, chance: float) -> bool:
        return self.draw.random() < chance

    # --- nodes

    def nodes(self, count: int) -> list[Thing]:
        return [self._node(f"{self.prefix}-n{i:02}") for i in range(count)]

    def _node(self, name: str) -> Thing:
        self.node_names.append(name)
        labels = {HOSTNAME: name} if self.maybe(0.95) else {}
        if self.maybe(0.85):
            labels[ZONE] = self.draw.choice("abc")
        if self.maybe(0.2):
            labels[OLD_ZONE] = self.draw.choice("abc")
        if self.maybe(0.6):
            labels[RACK] = self.draw.choice(("r1", "r2"))
        if self.maybe(0.5):
            labels["disk"] = self.draw.choice(("ssd", "hdd"))
        if self.maybe(0.5):
            labels["cores"] = self.draw.choice(("8", "64", "many"))
        taints = [{"key": k, "value": v, "effect": e} for k, v, e in TAINTS if self.maybe(0.12)]
        amounts = {"cpu": self.draw.choice(("2", "8")), "memory": "16Gi", "pods": self.draw.choice(("3", "20", "20"))}
        return {
            "metadata": {"name": name, "labels": labels},
            "spec": {"unschedulable": self.maybe(0.08), "taints": taints},
            "status": {"capacity": amounts, "allocatable": amounts},
        }

    # --- claims and volumes

    def classes(self) -> list[Thing]:
        return [
            {
                "metadata": {"name": f"{self.prefix}-{mode.lower()}"},
                "provisioner": "no.one/x",
                "volumeBindingMode": mode,
            }
            for mode in ("Immediate", "WaitForFirstConsumer")
        ]

    def claims(self, count: int) -> list[tuple[Thing, Thing | None]]:
        """Claims in the first namespace, most with a volume that is meant for them."""
        return [self._claim(f"c{i}", i) for i in range(count)]

    def _claim(self, name: str, i: int) -> tuple[Thing, Thing | None]:
        self.claim_names.append(name)
        mode = "ReadWriteOncePod" if self.maybe(0.3) else "ReadWriteOnce"
        spec: Thing = {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}}
        kind = ("bound", "bound", "bound", "open", "waits", "lost")[i % 6]
        claim: Thing = {"metadata": {"name": name}, "spec": spec}
        if kind in ("open", "waits"):
            spec["storageClassName"] = f"{self.prefix}-{'immediate' if kind == 'open' else 'waitforfirstconsumer'}"
            return claim, None
        volume_name = f"{self.prefix}-v-{name}"
        spec |= {"storageClassName": "", "volumeName": volume_name}
        if kind == "lost":
            claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
            return claim, None
        labels = {ZONE: self.draw.choice(("a", "b", "a__c"))} if self.maybe(0.4) else {}
        if self.maybe(0.2):
            labels[OLD_ZONE] = self.draw.choice(("a", "b__c"))
        volume: Thing = {
            "metadata": {"name": volume_name, "labels": labels},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": [mode],
                "hostPath": {"path": "/v"},
                "claimRef": {"namespace": self.spaces[0], "name": name},
            },
        }
        if self.maybe(0.5):
            volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": self._node_terms(fields=False)}}
        return claim, volume

    # --- Pods

    def placed(self, count: int) -> list[Thing]:
        """Pods that are on nodes already, whatever their rules say."""
        pods = []
        for i in range(count):
            kinds = self.draw.sample(("ports", "claims"), self.draw.randint(0, 2))
            kinds += ["apart"] if self.maybe(0.06) else []
            pod = self._pod(f"old{i:03}", kinds)
            pod["spec"]["nodeName"] = self.draw.choice(self.node_names)
            pod["spec"]["tolerations"] = [{"operator": "Exists"}]  # or a controller evicts it while others are judged
            pods.append(pod)
        return pods

    def waiting(self, count: int, scheduler: str) -> list[Thing]:
        """Pods with rules of one to three kinds: with more of them, hardly any node is left to differ about."""
        pods = []
        for i in range(count):
            kinds = ("node", "apart", "near", "near", "spread", "spread", "ports", "claims")
            pod = self._pod(f"new{i:03}", self.draw.sample(kinds, self.draw.randint(1, 3)))
            pod["spec"]["schedulerName"] = scheduler
            if self.maybe(0.6):
                pod["spec"]["tolerations"] = [{"operator": "Exists"}]
            pods.append(pod)
        return pods

    def _pod(self, name: str, kinds: Collection[str]) -> Thing:
        labels = {"app": self.draw.choice(APPS)}
        if self.maybe(0.5):
            labels["tier"] = self.draw.choice(TIERS)
        space = self.draw.choice(self.spaces)
        spec, affinity = self._containers("ports" in kinds), dict[str, Thing]()
        if self.maybe(0.3):
            spec["tolerations"] = [self._toleration() for _ in range(self.draw.randint(1, 2))]
        if "node" in kinds and self.maybe(0.4):
            spec["nodeSelector"] = self.draw.choice(({ZONE: "a"}, {"disk": "ssd"}))
        elif "node" in kinds:
            affinity["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": self._node_terms(fields=True)}}
        for kind, field_name in (("near", "podAffinity"), ("apart", "podAntiAffinity")):
            if kind in kinds:
                affinity[field_name] = {REQUIRED: [self._pod_term() for _ in range(self.draw.randint(1, 2))]}
        if affinity:
            spec["affinity"] = affinity
        if "spread" in kinds:
            wanted = {(one["topologyKey"], one["whenUnsatisfiable"]): one for one in (self._spread(), self._spread())}
            spec["topologySpreadConstraints"] = list(wanted.values())
        if "claims" in kinds and space == self.spaces[0]:
            claim = self.draw.choice((*self.claim_names, *self.claim_names, "missing"))
            spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
        return {"metadata": {"name": name, "namespace": space, "labels": labels}, "spec": spec}

    def _containers(self, ports: bool) -> Thing:
        requests = {"cpu": self.draw.choice(("100m", "100m", "100m", "1500m")), "memory": "64Mi"}
        main: Thing = {"name": "main", "image": "none", "resources": {"requests": requests}}
        spec: Thing = {"containers": [main], "terminationGracePeriodSeconds": 3600}
        if ports and self.maybe(0.2):
            spec["hostNetwork"] = True
            main["ports"] = [{"containerPort": 80}]
        elif ports:
            main["ports"] = [self._port()]
            side = {"name": "side", "image": "none", "ports": [self._port()]}
            stays = {"restartPolicy": "Always"} if self.maybe(0.5) else {}
            spec["initContainers"] = [{**side, **stays}] if self.maybe(0.3) else []
        return spec

    def _port(self) -> Thing:
        port: Thing = {"containerPort": 80, "hostPort": self.draw.choice((80, 8080))}
        if self.maybe(0.3):
            port["protocol"] = self.draw.choice(("TCP", "UDP"))
        if self.maybe(0.5):
            port["hostIP"] = self.draw.choice(("127.0.0.1", "10.0.0.1", "0.0.0.0"))
        return port

    def _toleration(self) -> Thing:
        return self.draw.choice(
            (
                {"operator": "Exists"},
                {"key": "team", "operator": "Exists"},
                {"key": "team", "value": "a"},
                {"key": "team", "value": "b", "effect": "NoExecute"},
                {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
            )
        )

    def _node_terms(self, *, fields: bool) -> list[Thing]:
        return [self._node_term(fields) for _ in range(self.draw.randint(1, 2))]

    def _node_term(self, fields: bool) -> Thing:
        if fields and self.maybe(0.1):
            field = {"key": "metadata.name", "operator": "NotIn", "values": [self.draw.choice(self.node_names)]}
            return {"matchFields": [field]}
        if fields and self.maybe(0.05):
            return {}
        return {
            "matchExpressions": [
                self.draw.choice(
                    (
                        {"key": ZONE, "operator": "In", "values": self.draw.sample("abc", 2)},
                        {"key": ZONE, "operator": "NotIn", "values": ["a"]},
                        {"key": RACK, "operator": "Exists"},
                        {"key": RACK, "operator": "DoesNotExist"},
                        {"key": "cores", "operator": "Gt", "values": ["32"]},
                        {"key": "cores", "operator": "Lt", "values": ["32"]},
                    )
                )
                for _ in range(self.draw.randint(1, 2))
            ]
        }

    def _pod_term(self) -> Thing:
        term: Thing = {"topologyKey": self.draw.choice((HOSTNAME, ZONE, ZONE, RACK))}
        if self.maybe(0.95):
            term["labelSelector"] = self._selector()
        match self.draw.randint(0, 5):
            case 0:
                term["namespaces"] = [self.draw.choice(self.spaces)]
            case 1:
                term["namespaceSelector"] = {}
            case 2:
                term["namespaceSelector"] = {"matchLabels": {"team": self.draw.choice(("a", "b"))}}
        if self.maybe(0.15) and "matchLabels" in term.get("labelSelector", {}):
            term[self.draw.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["tier"]
        return term

    def _selector(self) -> Thing:
        match self.draw.randint(0, 6):
            case 0:
                return {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}
            case 1:
                return {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}
            case 2:
                return {}
        return {"matchLabels": {"app": self.draw.choice(APPS)}}

    def _spread(self) -> Thing:
        one: Thing = {
            "maxSkew": self.draw.choice((1, 1, 2)),
            "topologyKey": self.draw.choice((HOSTNAME, ZONE, ZONE, RACK)),
            "whenUnsatisfiable": "DoNotSchedule" if self.maybe(0.9) else "ScheduleAnyway",
        }
        if self.maybe(0.95):
            one["labelSelector"] = self._selector()
        if one["whenUnsatisfiable"] == "DoNotSchedule" and self.maybe(0.3):
            one["minDomains"] = self.draw.choice((1, 2, 4))
        if self.maybe(0.3):
            one["nodeAffinityPolicy"] = self.draw.choice(("Honor", "Ignore"))
        if self.maybe(0.3):
            one["nodeTaintsPolicy"] = self.draw.choice(("Honor", "Ignore"))
        if self.maybe(0.2) and "matchLabels" in one.get("labelSelector", {}):
            one["matchLabelKeys"] = ["tier"]
        return one
