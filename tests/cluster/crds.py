"""Custom resources of the project, created in a control plane and waited for."""

import asyncio
from pathlib import Path

import yaml

from numaplace.adapters.kube import ConflictError, Kube, NotFoundError, Resource
from numaplace.adapters.kube.resources import REPORTS
from tests.recorded import ROOT

FOLDER = ROOT / "deploy" / "chart" / "crds"
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
_SERVED_S = 30.0


async def create_crds(admin: Kube, folder: Path = FOLDER) -> None:
    """Create what is not there, and return when reports can be written."""
    for path in sorted(folder.glob("*.yaml")):
        try:
            await admin.create(CRDS, yaml.safe_load(path.read_text()))
        except ConflictError:
            continue
    async with asyncio.timeout(_SERVED_S):
        while True:
            try:
                async for _ in admin.pages(REPORTS, dict):
                    return
            except NotFoundError:
                await asyncio.sleep(0.05)
