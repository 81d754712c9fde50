"""The command `numaplace`: one file a command, imported only when it is used.

`main` is the console script. It turns our own errors into one sentence and exit
status 2; everything else about a command lives in the command's file.
"""

from numaplace.tools.cli.root import main

__all__ = ["main"]
