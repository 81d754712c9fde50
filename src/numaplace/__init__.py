"""numaplace places CPU, GPU and RDMA together.

Six bands, imports go downwards only: tools > services > adapters > wire > decide > model.
"""

__version__ = "0.1.0"
