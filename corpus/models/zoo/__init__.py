"""Small models of four kinds, written the way research code is: they train, and they keep torch.compile busy."""
