"""The command `numaplace`: one file a command, imported only when it is used.

`main` is the console script, `kubectl_plugin` the same for kubectl. It turns our own errors into one sentence and exit
status 2; everything else about a command lives in the command's file.
"""

from numaplace.tools.cli.root import kubectl_plugin, main

__all__ = ["kubectl_plugin", "main"]
