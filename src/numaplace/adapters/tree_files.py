"""A Tree written out as a folder of files and links, for tests of readers and for fake nodes.

`adapters/sysfs` reads such a folder back like any root.
"""

import os
import shutil
from pathlib import Path, PurePosixPath

from numaplace.decide.discover import Tree
from numaplace.decide.discover.sources import UNREADABLE
from numaplace.decide.discover.unreadable import unreadable_text
from numaplace.model.errors import InputError


def write_tree(tree: Tree, folder: Path) -> None:
    """Make `folder`, which must not exist yet, and all of the tree in it; whole, or not at all.

    Links are relative, so the folder may be moved. InputError where it exists already,
    where nothing can be written, or where a path of the tree leads out of it.
    """
    for path in (*tree.files, *tree.links, *tree.links.values()):
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts:
            raise InputError(str(folder), found=f"the path {path[:80]!r} in the tree", wanted="paths inside the folder")
    if folder.is_symlink() or folder.exists():
        raise InputError(str(folder), found="something that exists", wanted="the name of a new folder")
    draft = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        draft.mkdir(parents=True)
        try:
            _fill(draft, tree)
            draft.rename(folder)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(str(folder), found=reason, wanted="a place where folders and links can be made") from error


def _fill(root: Path, tree: Tree) -> None:
    files = dict(tree.files)
    if tree.faults:
        files[UNREADABLE] = unreadable_text(tree.faults).encode()
    for path, content in files.items():
        _below(root, path).write_bytes(content)
    for path, target in tree.links.items():
        link = _below(root, path)
        link.symlink_to(os.path.relpath(root / target, link.parent))


def _below(root: Path, path: str) -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    return place
