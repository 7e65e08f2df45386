"""gblint predicts where torch.compile breaks its graph, on source, without running it."""

__version__ = "0.1.0"
