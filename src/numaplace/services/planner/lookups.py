"""Lookups: namespaces, claims, volumes and storage classes as they are now, and which Pods read them.

The keeper's own. A Pod's claims are looked up when the Pod or one of them changes, so
that planning sees values and never asks.
"""

from collections.abc import Mapping
from dataclasses import replace

from numaplace.decide.rules import looked_up
from numaplace.model.catalog import NAMESPACE_NAME, Catalog, Claim, Entry, Namespace, StorageClass, Volume
from numaplace.model.ids import PodUid
from numaplace.model.live_pod import LivePod
from numaplace.model.refusal import Refusal

_ClaimKey = tuple[str, str]


class Lookups:
    """What the node rules look up beside nodes and Pods."""

    def __init__(self) -> None:
        self.namespaces: dict[str, Mapping[str, str]] = {}  # labels by name
        self._claims: dict[_ClaimKey, Claim] = {}
        self._ahead: dict[_ClaimKey, Claim] = {}  # bound to a volume that is not told of yet
        self._volumes: dict[str, Volume] = {}
        self._classes: dict[str, StorageClass] = {}
        self._catalog = Catalog(self._claims, self._volumes, self._classes)
        self._users: dict[_ClaimKey, set[PodUid]] = {}
        self._used_by: dict[PodUid, frozenset[_ClaimKey]] = {}
        self._claim_of: dict[str, _ClaimKey] = {}  # by the volume that a claim names

    def read(self, pod: LivePod) -> LivePod:
        """The Pod, with what its claims come to now."""
        asks = pod.asks
        claims = () if isinstance(asks, Refusal) else asks.rules.claims
        self._note_use(pod.uid, frozenset((pod.namespace, name) for name in claims))
        return pod if isinstance(asks, Refusal) or not claims else replace(pod, asks=looked_up(asks, self._catalog))

    def forget(self, uid: PodUid) -> None:
        """The Pod is gone."""
        self._note_use(uid, frozenset())

    def _note_use(self, uid: PodUid, claims: frozenset[_ClaimKey]) -> None:
        """These claims are what the Pod uses now."""
        before = self._used_by.pop(uid, frozenset())
        for key in before - claims:
            self._users[key].discard(uid)
            if not self._users[key]:
                del self._users[key]
        for key in claims - before:
            self._users.setdefault(key, set()).add(uid)
        if claims:
            self._used_by[uid] = claims

    def see(self, entry: Entry) -> frozenset[PodUid]:
        """Something is there, new or changed; the Pods that must be read anew."""
        match entry:
            case Namespace(name, labels):
                self.namespaces[name] = labels
            case Claim():
                self._see_claim(entry)
            case Volume(name):
                self._volumes[name] = entry
                for claim in [one for one in self._ahead.values() if one.volume == name]:
                    self._see_claim(claim)
            case StorageClass(name):
                self._classes[name] = entry
        return self._readers(entry)

    def _see_claim(self, claim: Claim) -> None:
        """One that is bound just now stays as it was until its volume is known: another watch tells of that."""
        key = (claim.namespace, claim.name)
        before = self._claims.get(key)
        if claim.bound and before is not None and not before.bound and claim.volume not in self._volumes:
            self._ahead[key] = claim
            return
        self._ahead.pop(key, None)
        self._claims[key] = claim
        if claim.volume:
            self._claim_of[claim.volume] = key

    def lose(self, entry: Entry) -> frozenset[PodUid]:
        """Something of this name is there no more; the Pods that must be read anew."""
        match entry:
            case Namespace(name):
                self.namespaces.pop(name, None)
            case Claim(namespace, name):
                self._ahead.pop((namespace, name), None)
                known = self._claims.pop((namespace, name), None)
                if known is not None and self._claim_of.get(known.volume) == (namespace, name):
                    del self._claim_of[known.volume]
            case Volume(name):
                self._volumes.pop(name, None)
            case StorageClass(name):
                self._classes.pop(name, None)
        return self._readers(entry)

    def labels_of(self, namespace: str) -> Mapping[str, str]:
        """The labels of a namespace; of one that is not told only its name is known."""
        return self.namespaces.get(namespace, {NAMESPACE_NAME: namespace})

    def _readers(self, entry: Entry) -> frozenset[PodUid]:
        match entry:
            case Claim(namespace, name):
                return frozenset(self._users.get((namespace, name), ()))
            case Volume(name):
                key = self._claim_of.get(name)
                return frozenset() if key is None else frozenset(self._users.get(key, ()))
            case StorageClass():
                return frozenset(uid for users in self._users.values() for uid in users)
        return frozenset()
