"""The map: machines drawn with what lies where, as one HTML page that needs nothing else."""
