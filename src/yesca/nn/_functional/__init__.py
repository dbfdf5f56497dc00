"""The parts of `nn.functional`, by family; `functional.py` offers their names."""
