"""Elementary functions over the primitive operations of the loop IR, one family a file.

Every function takes and gives expressions of float32 or float64 and is straight-line: no branch,
no table in memory, no call. The coefficients come from `tools/minimax.py`; beside each table
stands what was fitted, on which interval and to which error.
"""
