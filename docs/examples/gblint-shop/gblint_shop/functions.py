"""Functions of the compiled extension `shop_native`: its source is not Python, so it does not tell."""

FUNCTIONS = {
    "shop_native.fused_norm": {"returns": "tensor"},
    "shop_native.overflows": {"returns": "bool tensor"},
    "shop_native.flush": {"breaks": "writes what has piled up to disk"},
    "shop_native.Journal": {"returns": "logger"},
}
