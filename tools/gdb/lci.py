"""Pretty printers of gdb for the statuses and handles of LCI.

gdb loads this file by itself with the liblci.so of a package in /usr. Otherwise:  (gdb) source tools/gdb/lci.py
"""

import gdb
import gdb.printing

ANY_TAG = (1 << 64) - 1

# Handles that hold no address, as in lci/api/resource.hpp.
SPECIAL = {
    "comp_t": {1: "COMP_NULL_RETRY"},
    "mr_t": {1: "MR_DEVICE", 2: "MR_UNKNOWN"},
}
HANDLES = (
    "comp_t device_t endpoint_t group_t matching_engine_t mr_t net_context_t packet_pool_t persistent_coll_t plan_t "
    "runtime_t thread_devices_t thread_team_t"
).split()


def enumerator(value):
    """The name of an enumerator without its type; the number if it has no name."""
    return str(value).rsplit("::", 1)[-1]


def attributes_of(pointer):
    """The description of a completion object, such as 'cq "inbox"'; empty if its memory or type is not there."""
    try:
        attr = pointer.dereference()["attr"]
        return '%s "%s"' % (enumerator(attr["comp_type"]), attr["name"].string())
    except (gdb.error, UnicodeDecodeError):
        return ""


class ErrorPrinter:
    """error_t and progress_result_t: the name of the code."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return enumerator(self.value["errorcode"])


class StatusPrinter:
    """status_t: the code, and the fields of the operation."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return enumerator(self.value["error"]["errorcode"])

    def children(self):
        for name in ("rank", "buffer", "size"):
            yield name, self.value[name]
        tag = self.value["tag"]
        yield "tag", "ANY_TAG" if int(tag) == ANY_TAG else tag
        yield "user_context", self.value["user_context"]


class HandlePrinter:
    """comp_t, device_t and so on: the address of the resource, and what is known of it."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        kind = self.value.type.strip_typedefs().name.rsplit("::", 1)[-1]
        pointer = self.value["p_impl"]
        address = int(pointer)
        if address == 0:
            return "empty"
        if address in SPECIAL.get(kind, {}):
            return SPECIAL[kind][address]
        known = attributes_of(pointer) if kind == "comp_t" else ""
        return " ".join(filter(None, ["0x%x" % address, known]))


class RmrPrinter:
    """rmr_t: the memory as its own rank addresses it, and the key of the network."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        if int(self.value["opaque_rkey"]) == 0:
            return "empty"
        return "base 0x%x, rkey 0x%x" % (int(self.value["base"]), int(self.value["opaque_rkey"]))


def printers():
    collection = gdb.printing.RegexpCollectionPrettyPrinter("lci")
    collection.add_printer("error_t", "^lci::(error_t|progress_result_t)$", ErrorPrinter)
    collection.add_printer("status_t", "^lci::status_t$", StatusPrinter)
    collection.add_printer("rmr_t", "^lci::rmr_t$", RmrPrinter)
    collection.add_printer("handle", "^lci::(%s)$" % "|".join(HANDLES), HandlePrinter)
    return collection


# replace: the file may be loaded with the library and by hand.
gdb.printing.register_pretty_printer(gdb.current_objfile(), printers(), replace=True)
