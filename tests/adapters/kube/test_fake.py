"""The fake API server keeps the promises of the real one."""

from tests.adapters.kube.contract import KubeContract


class TestFake(KubeContract):
    """All of the contract, in memory."""
