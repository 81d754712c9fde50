"""The real API server keeps the contract that the fake is tested by."""

from tests.adapters.kube.contract import KubeContract


class TestReal(KubeContract):
    """All of the contract, against a real API server."""
