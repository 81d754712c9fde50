"""Access from inside a Pod: the service account that the kubelet mounts."""

import os
import time
from pathlib import Path

from numaplace.adapters.kube.access import Access
from numaplace.adapters.kube.credentials import TokenFile
from numaplace.model.errors import InputError

MOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def is_in_cluster() -> bool:
    """Whether this process runs in a Pod."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def in_cluster(mount: Path = MOUNT) -> Access:
    """Access with the mounted token (read again as it rotates) and authorities.

    InputError when this process is in no Pod, or in one without a service account.
    """
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise InputError("KUBERNETES_SERVICE_HOST", found="nothing", wanted="the address that Pods are given")
    try:
        authorities = (mount / "ca.crt").read_bytes()
        namespace = (mount / "namespace").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise InputError(str(mount), found=str(error), wanted="the mount of a service account") from error
    return Access(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        credentials=TokenFile(mount / "token", time.monotonic),
        namespace=namespace or "default",
        authorities=authorities,
    )
