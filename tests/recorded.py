"""Where the data recorded on real machines lies, if it is here at all.

It is no part of the project: `NUMAPLACE_SHARED_DATA` names the folder, else
`../shared/data` beside the checkout is looked at. Tests read it in place and are
skipped with the same sentence when it is missing.
"""

import os
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

ROOT = Path(__file__).resolve().parent.parent
VARIABLE = "NUMAPLACE_SHARED_DATA"
MISSING = f"data recorded on real machines is not here; set {VARIABLE} to its folder to run these"


def find_shared_data() -> Path | None:
    """The folder of recorded data, or None; a variable that names no folder is a usage error."""
    named = os.environ.get(VARIABLE)
    if named:
        folder = Path(named)
        if not folder.is_dir():
            raise pytest.UsageError(f"{VARIABLE}={named} is not a folder")
        return folder
    beside = ROOT.parent / "shared" / "data"
    return beside if beside.is_dir() else None


def require_shared_data() -> Path:
    """The folder of recorded data; without it the calling test, or the importing module, is skipped."""
    folder = find_shared_data()
    if folder is None:
        pytest.skip(MISSING, allow_module_level=True)
    return folder


def recorded_files(pattern: str) -> list[ParameterSet]:
    """Parameters for `parametrize`: each file that matches, named by its path; one skipped parameter without data.

    `pattern` is a glob inside the folder. With data it must match something: an empty table would test nothing.
    """
    folder = find_shared_data()
    if folder is None:
        return [pytest.param(Path(pattern), id=pattern, marks=pytest.mark.skip(reason=MISSING))]
    files = sorted(folder.glob(pattern))
    if not files:
        raise pytest.UsageError(f"{folder} holds no {pattern}")
    return [pytest.param(file, id=str(file.relative_to(folder))) for file in files]
