"""A real control plane on loopback: etcd, kube-apiserver, kube-scheduler and kube-controller-manager.

Certificates everywhere and RBAC on. Nodes are objects (`nodes.py`); what the chart runs in Pods
`kubelet.py` can run, and nothing runs other Pods.
Who uses it gets an identity of its own from `identities.py`.
"""

import asyncio
import base64
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from numaplace.adapters.kube.access import Access
from numaplace.adapters.kube.credentials import Credential, Fixed
from tests.cluster.authority import Authority
from tests.cluster.build import find_programs
from tests.cluster.programs import READY_S, Probe, Program, free_ports

ETCD, API_SERVER, SCHEDULER, CONTROLLERS = "etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager"
# Nodes that are only objects have no heartbeat, so nothing may find them missing.
_UNWANTED = "-node-lifecycle-controller"
_SCHEDULER_CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": False},
}


class ControlPlane:
    """Starts all programs on entering, ends them hard and removes their folder on leaving.

    `scheduler` is laid over the scheduler's configuration (profiles, extenders).
    `programs` may be ended and started one by one with `kill` and `start`. What the
    users of `audited` ask is kept (`audit.py`).
    """

    def __init__(self, *, scheduler: Mapping[str, Any] | None = None, audited: Sequence[str] = ()) -> None:
        self.binaries = find_programs()
        self.folder = Path(tempfile.mkdtemp(prefix="numaplace-cluster-"))
        self.authority = Authority(self.folder)
        self.ports = dict(zip((ETCD, "peer", API_SERVER, SCHEDULER, CONTROLLERS), free_ports(5), strict=True))
        self.server = f"https://127.0.0.1:{self.ports[API_SERVER]}"
        self._scheduler = {**_SCHEDULER_CONFIG, **(scheduler or {})}
        self.programs: dict[str, Program] = {}
        self._audited = audited

    @property
    def audit_log(self) -> Path:
        """What the audited users asked, one JSON document a line."""
        return self.folder / "audit.log"

    def __enter__(self) -> Self:
        try:
            for program in (self._etcd(), self._api_server()):
                self.programs[program.name] = program
                program.start()
            deadline_s = time.monotonic() + READY_S
            self.programs[API_SERVER].wait(deadline_s)
            for program in (self._scheduler_program(), self._controllers()):
                self.programs[program.name] = program
                program.start()
            for program in self.programs.values():
                program.wait(deadline_s)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    async def start(self, name: str) -> None:
        """Start a program that was ended, and wait until it is ready."""
        program = self.programs[name]
        program.start()  # not in a thread: a program ends with the thread that started it
        await asyncio.to_thread(program.wait, time.monotonic() + READY_S)

    def kill(self, name: str) -> None:
        """End a program at once."""
        self.programs[name].kill()

    def access(self, user: str, group: str | None = None) -> Access:
        """Access as `user`; what it may do is another question."""
        return Access(
            server=self.server,
            credentials=Fixed(self.authority.client(user, group)),
            authorities=self.authority.ca.cert_pem.bytes(),
        )

    def admin(self) -> Access:
        """Access that may do everything: for setting up what is tested, never for what is tested."""
        return self.access("admin", "system:masters")

    def kubeconfig(self, user: str, group: str | None = None) -> Path:
        """A kubeconfig with a certificate of `user`."""
        return self._kubeconfig(user, self.server, self.authority.client(user, group))

    def kubeconfig_through(self, proxy: Access, name: str) -> Path:
        """A kubeconfig for a proxy, which has credentials of its own."""
        return self._kubeconfig(name, proxy.server, self.authority.client(name))

    def _kubeconfig(self, name: str, server: str, credential: Credential) -> Path:
        path = self.folder / f"{name.replace(':', '-')}.kubeconfig"
        path.touch(mode=0o600)
        chain, key = credential.certificate or (b"", b"")
        cluster = {
            "server": server,
            "certificate-authority-data": base64.b64encode(self.authority.ca.cert_pem.bytes()).decode(),
        }
        user = {
            "client-certificate-data": base64.b64encode(chain).decode(),
            "client-key-data": base64.b64encode(key).decode(),
        }
        path.write_bytes(
            msgspec.json.encode(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "test",
                    "clusters": [{"name": "test", "cluster": cluster}],
                    "users": [{"name": "test", "user": user}],
                    "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
                }
            )
        )
        return path

    def _end(self) -> None:
        """The last started first; etcd last, since the others complain without it."""
        for program in reversed(self.programs.values()):
            program.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _program(self, name: str, ready: Probe, **flags: object) -> Program:
        options = [f"--{flag.replace('_', '-')}={value}" for flag, value in flags.items()]
        return Program(name, [self.binaries / name, *options], self.folder, ready)

    def _etcd(self) -> Program:
        client, peer = (f"https://127.0.0.1:{self.ports[name]}" for name in (ETCD, "peer"))
        chain, key = self.authority.server("etcd", "127.0.0.1")
        own = self.authority.certificate
        trust = self.authority.client("probe")
        return self._program(
            ETCD,
            Probe(self.ports[ETCD], "/readyz", Access(client, authorities=own.read_bytes()).tls(trust)),
            data_dir=self.folder / "etcd-data",
            listen_client_urls=client,
            advertise_client_urls=client,
            listen_peer_urls=peer,
            initial_advertise_peer_urls=peer,
            initial_cluster=f"default={peer}",
            cert_file=chain,
            key_file=key,
            trusted_ca_file=own,
            client_cert_auth="true",
            peer_cert_file=chain,
            peer_key_file=key,
            peer_trusted_ca_file=own,
            peer_client_cert_auth="true",
            unsafe_no_fsync="true",  # what is stored need not outlive the machine
            log_level="warn",
        )

    def _api_server(self) -> Program:
        chain, key = self.authority.server(API_SERVER, "127.0.0.1", "localhost", "kubernetes.default.svc")
        etcd_chain, etcd_key = self.authority.server("apiserver-to-etcd", "127.0.0.1")
        trusting = Access(self.server, authorities=self.authority.certificate.read_bytes())
        signing = self.authority.key("service-accounts")
        own = self.authority.certificate
        return self._program(
            API_SERVER,
            Probe(self.ports[API_SERVER], "/readyz", trusting.tls(Credential())),
            bind_address="127.0.0.1",
            secure_port=self.ports[API_SERVER],
            # A loopback address may not be advertised, unless nobody reconciles the endpoints.
            advertise_address="127.0.0.1",
            endpoint_reconciler_type="none",
            tls_cert_file=chain,
            tls_private_key_file=key,
            client_ca_file=own,
            authorization_mode="Node,RBAC",
            # The taint would be taken away by the kubelet's conditions, which object-only nodes never get.
            disable_admission_plugins="TaintNodesByCondition",
            etcd_servers=f"https://127.0.0.1:{self.ports[ETCD]}",
            etcd_cafile=own,
            etcd_certfile=etcd_chain,
            etcd_keyfile=etcd_key,
            service_account_issuer=self.server,
            service_account_key_file=signing,
            service_account_signing_key_file=signing,
            service_cluster_ip_range="10.0.0.0/16",
            max_requests_inflight=3000,
            max_mutating_requests_inflight=1000,
            **self._audit_flags(),
        )

    def _audit_flags(self) -> dict[str, object]:
        """Keep who asked what, at the end of each request, watches at their beginning."""
        if not self._audited:
            return {}
        policy = self.folder / "audit-policy.json"
        rule = {"level": "Metadata", "users": list(self._audited), "omitStages": ["RequestReceived"]}
        head = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}
        policy.write_bytes(msgspec.json.encode({**head, "rules": [rule, {"level": "None"}]}))
        return {"audit_policy_file": policy, "audit_log_path": self.audit_log, "audit_log_mode": "blocking"}

    def _scheduler_program(self) -> Program:
        own = self.kubeconfig("system:kube-scheduler")
        config = self.folder / "scheduler.json"
        client = {"kubeconfig": str(own), "qps": 5000, "burst": 5000}  # the apiserver shall be the limit
        config.write_bytes(msgspec.json.encode({**self._scheduler, "clientConnection": client}))
        return self._program(
            SCHEDULER,
            Probe(self.ports[SCHEDULER], "/readyz"),
            config=config,
            bind_address="127.0.0.1",
            secure_port=self.ports[SCHEDULER],
            authentication_kubeconfig=own,
            authorization_kubeconfig=own,
            authentication_skip_lookup="true",  # there is no front proxy whose authority could be looked up
            authorization_always_allow_paths="/healthz,/readyz,/livez,/metrics",
        )

    def _controllers(self) -> Program:
        own = self.kubeconfig("system:kube-controller-manager")
        return self._program(
            CONTROLLERS,
            Probe(self.ports[CONTROLLERS], "/healthz"),
            kubeconfig=own,
            leader_elect="false",
            controllers=f"*,{_UNWANTED}",
            bind_address="127.0.0.1",
            secure_port=self.ports[CONTROLLERS],
            authentication_kubeconfig=own,
            authorization_kubeconfig=own,
            authentication_skip_lookup="true",
            use_service_account_credentials="true",
            service_account_private_key_file=self.folder / "service-accounts.key",
            root_ca_file=self.authority.certificate,
            kube_api_qps=500,
            kube_api_burst=500,
        )
