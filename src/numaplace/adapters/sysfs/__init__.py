"""Files of /sys and /proc: read from a live root, a folder or an archive, and written as one.

What is read is decided in `decide/discover/sources`; what it means, in the rest of
that folder. Here are only the ways to get at it.
"""

from numaplace.adapters.sysfs.capture import write_capture
from numaplace.adapters.sysfs.hostname import read_host_names
from numaplace.adapters.sysfs.read import read_tree

__all__ = ["read_host_names", "read_tree", "write_capture"]
