"""Numbers with their units, as people read them."""


def size_name(size):
    """8 B, 64 KiB, 1 MiB."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return "%d %s" % (size // unit, name)
    return "%d B" % size


def size_of(text):
    """Bytes: of "24K", "4M" or "8"; ValueError."""
    unit = {"K": 1 << 10, "M": 1 << 20}.get(text[-1:].upper())
    return int(text) if unit is None else int(text[:-1]) * unit


def plural(count, one, many=None):
    return "%d %s" % (count, one if count == 1 else many or one + "s")
