#include "lci/net/ibv/backend.h"

#include <dirent.h>

#include "lci/net/ibv/context.h"
#include "lci/net/ibv/port.h"
#include "lci/net/ibv/verbs.h"

namespace lci::net::ibv {
namespace {

// Reads the kernel's list of devices: on most hosts it is absent or empty, and libibverbs need not
// be loaded.
bool has_devices() {
  DIR* const listed = opendir("/sys/class/infiniband");
  if (listed == nullptr) return false;
  bool any = false;
  while (const dirent* entry = readdir(listed)) any |= entry->d_name[0] != '.';
  closedir(listed);
  return any;
}

bool available() { return usable({}).ok(); }

base::StatusOr<std::vector<backend_fact>> describe() {
  const base::Status status = usable({});
  if (!status.ok()) return status;
  const base::StatusOr<verbs>& loaded = load_verbs();
  if (!loaded.ok()) return loaded.status();
  const base::StatusOr<port> chosen = open_port(*loaded, {});
  if (!chosen.ok()) return chosen.status();
  return std::vector<backend_fact>{
      {"reach", "ranks of any hosts"},
      {"port", chosen->name},
      {"link", chosen->is_roce() ? "RoCE" : "InfiniBand"},
      {"queue pairs at most", std::to_string(chosen->limits.max_qp)},
      {"registrations at most", std::to_string(chosen->limits.max_mr)},
      {"largest message in bytes", std::to_string(chosen->attributes.max_msg_sz)}};
}

}  // namespace

base::Status usable(const context_config& config) {
  if (!has_devices()) {
    return base::UnavailableError(
        "this host has no RDMA device (/sys/class/infiniband is empty); choose another backend");
  }
  const base::StatusOr<verbs>& loaded = load_verbs();
  if (!loaded.ok()) return loaded.status();
  return open_port(*loaded, config).status();
}

const backend_entry backend = {attr_backend_t::ibv, "ibv",   /*preference=*/6, available,
                               rdma_context::make,  describe};

}  // namespace lci::net::ibv
