"""Learning-to-rank papers, reproduced by one command."""

__version__ = "0.1.0"
