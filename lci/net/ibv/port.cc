#include "lci/net/ibv/port.h"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/strings.h"

namespace lci::net::ibv {
namespace {

// ::ffff:a.b.c.d
bool is_ipv4(const ibv_gid& gid) {
  static constexpr uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid.raw, prefix, sizeof(prefix)) == 0;
}

// fe80::
bool is_of_link(const ibv_gid& gid) { return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80; }

bool is_empty(const ibv_gid& gid) {
  static constexpr ibv_gid empty = {};
  return std::memcmp(gid.raw, empty.raw, sizeof(empty.raw)) == 0;
}

int value_of(const ibv_gid_entry& entry) {
  if (is_empty(entry.gid)) return 0;
  if (entry.gid_type != IBV_GID_TYPE_ROCE_V2) return is_ipv4(entry.gid) ? 2 : 1;
  return is_ipv4(entry.gid) ? 5 : is_of_link(entry.gid) ? 3 : 4;
}

// Proportional to the bits per second.
uint64_t speed(const ibv_port_attr& port) {
  return uint64_t{port.active_speed} * port.active_width;
}

base::StatusOr<std::vector<ibv_gid_entry>> list_gids(const verbs& library, ibv_context* context) {
  std::vector<ibv_gid_entry> entries(1024);
  const ssize_t count = library.query_gid_table(context, entries.data(), entries.size());
  if (count < 0) return failure("reading the table of GIDs", static_cast<int>(count));
  entries.resize(static_cast<size_t>(count));
  return entries;
}

base::Status choose_address(const verbs& library, const net_context_attr_t& wanted, port* made) {
  const bool by_gid =
      made->is_roce() || wanted.ibv_gid_idx >= 0 || wanted.ibv_force_gid_auto_select;
  if (!by_gid) {
    if (made->attributes.lid != 0) return base::OkStatus();
  }
  const auto entries = list_gids(library, made->context.get());
  if (!entries.ok()) return entries.status();
  made->gid_index =
      wanted.ibv_gid_idx >= 0 ? wanted.ibv_gid_idx : choose_gid(*entries, made->number);
  for (const ibv_gid_entry& entry : *entries) {
    if (entry.port_num != made->number || static_cast<int>(entry.gid_index) != made->gid_index ||
        is_empty(entry.gid)) {
      continue;
    }
    made->gid = entry.gid;
    return base::OkStatus();
  }
  return base::NotFoundError(wanted.ibv_gid_idx >= 0
                                 ? base::StrCat("has no GID of index ", wanted.ibv_gid_idx,
                                                " (attribute ibv_gid_idx; -1 has one chosen)")
                                 : "has no GID; has its interface an IP address?");
}

base::StatusOr<port> open_number(const verbs& library, ibv_device* device, int number,
                                 const net_context_attr_t& wanted) {
  port made;
  made.context = own(library.open_device(device), library.close_device);
  if (made.context == nullptr) return failure("opening it", errno);
  if (const int code = library.query_device(made.context.get(), &made.limits); code != 0) {
    return failure("asking for its limits", code);
  }
  if (number < 1 || number > made.limits.phys_port_cnt) {
    return base::NotFoundError(base::StrCat("has ", made.limits.phys_port_cnt, " ports"));
  }
  made.number = static_cast<uint8_t>(number);
  made.name = base::StrCat(library.get_device_name(device), ":", number);
  if (const int code = library.query_port(made.context.get(), made.number, &made.attributes);
      code != 0) {
    return failure("asking for its state", code);
  }
  if (made.attributes.state != IBV_PORT_ACTIVE) {
    return base::UnavailableError("is not active; is its interface up, with a cable?");
  }
  if (base::Status status = choose_address(library, wanted, &made); !status.ok()) {
    return status;
  }
  return made;
}

// Returns 1 if the device cannot be queried; opening the port then fails, too.
int count_ports(const verbs& library, ibv_device* device) {
  const owned<ibv_context> opened = own(library.open_device(device), library.close_device);
  ibv_device_attr limits = {};
  if (opened == nullptr || library.query_device(opened.get(), &limits) != 0) return 1;
  return limits.phys_port_cnt;
}

struct port_name {
  std::string_view device;
  int port = 0;  // 0: any
};

base::StatusOr<port_name> parse_name(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return port_name{text, 0};
  port_name parsed{text.substr(0, colon), 0};
  if (!base::SimpleAtoi(text.substr(colon + 1), &parsed.port) || parsed.port < 1) {
    return base::InvalidArgumentError(
        base::StrCat("attribute device_name is '", text, "', not as 'mlx5_0' or 'mlx5_0:1'"));
  }
  return parsed;
}

}  // namespace

int choose_gid(const std::vector<ibv_gid_entry>& entries, uint32_t port) {
  const ibv_gid_entry* best = nullptr;
  for (const ibv_gid_entry& entry : entries) {
    if (entry.port_num != port || value_of(entry) == 0) continue;
    if (best == nullptr || value_of(entry) > value_of(*best)) best = &entry;
  }
  return best == nullptr ? -1 : static_cast<int>(best->gid_index);
}

port_address port::address() const {
  port_address local = {};
  local.lid = attributes.lid;
  local.link_layer = attributes.link_layer;
  local.by_gid = gid_index >= 0 ? 1 : 0;
  if (gid_index >= 0) std::memcpy(local.gid, gid.raw, sizeof(local.gid));
  local.mtu = attributes.active_mtu;
  return local;
}

ibv_ah_attr port::path_to(const port_address& other) const {
  ibv_ah_attr path = {};
  path.port_num = number;
  path.dlid = other.lid;
  if (gid_index >= 0) {
    path.is_global = 1;
    std::memcpy(path.grh.dgid.raw, other.gid, sizeof(other.gid));
    path.grh.sgid_index = static_cast<uint8_t>(gid_index);
    path.grh.hop_limit = 64;
  }
  return path;
}

base::StatusOr<port> open_port(const verbs& library, const net_context_attr_t& wanted) {
  const base::StatusOr<port_name> name = parse_name(wanted.device_name);
  if (!name.ok()) return name.status();
  int count = 0;
  ibv_device** devices = library.get_device_list(&count);
  if (devices == nullptr) return failure("listing RDMA devices", errno);
  const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> freed(devices,
                                                                   library.free_device_list);
  port best;
  std::string reasons;
  for (int i = 0; i < count; ++i) {
    const std::string_view device = library.get_device_name(devices[i]);
    if (!name->device.empty() && device != name->device) {
      base::StrAppend(&reasons, "; ", device, " is not the one asked for");
      continue;
    }
    const int first = name->port != 0 ? name->port : 1;
    const int last = name->port != 0 ? name->port : count_ports(library, devices[i]);
    for (int number = first; number <= last; ++number) {
      base::StatusOr<port> opened = open_number(library, devices[i], number, wanted);
      if (!opened.ok()) {
        base::StrAppend(&reasons, "; ", device, ":", number, ": ", opened.status().message());
      } else if (best.context == nullptr || speed(opened->attributes) > speed(best.attributes)) {
        best = *std::move(opened);
      }
    }
  }
  if (best.context == nullptr) {
    return base::UnavailableError(count == 0 ? "there is no RDMA device"
                                             : base::StrCat("no RDMA device can be used", reasons));
  }
  best.domain = own(library.alloc_pd(best.context.get()), library.dealloc_pd);
  if (best.domain == nullptr) {
    return failure(base::StrCat("making a protection domain of ", best.name), errno);
  }
  return best;
}

}  // namespace lci::net::ibv
