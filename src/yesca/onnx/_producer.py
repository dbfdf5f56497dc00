"""What files say of who made them."""

from __future__ import annotations

from ..version import yesca

producer_name = "yesca"
producer_version = yesca
