// All backends of this library. Listed rather than registering themselves: the linker drops what
// nobody refers to from a static library.
#include <iterator>
#include <string_view>
#include <vector>

#include "lci/net/backend.h"
#include "lci/net/ibv/backend.h"
#include "lci/net/mixed/backend.h"
#include "lci/net/ofi/backend.h"
#include "lci/net/shm/backend.h"
#include "lci/net/sim/backend.h"

namespace lci::net {
namespace {

const backend_entry* all_backends[] = {
    &shm::backend, &ibv::backend, &ofi::backend, &mixed::backend, &sim::backend,
};

}  // namespace

const backend_entry* find_backend(attr_backend_t id, bool one_host) {
  if (id == attr_backend_t::none && (!one_host || mixed::has_host_override())) {
    return &mixed::backend;
  }
  const backend_entry* best = nullptr;
  for (const backend_entry* entry : all_backends) {
    if (id != attr_backend_t::none) {
      if (entry->id == id) return entry;
    } else if (entry->preference >= 0 &&
               (best == nullptr || entry->preference > best->preference) && entry->available()) {
      best = entry;
    }
  }
  return best;
}

const backend_entry* find_backend(std::string_view name) {
  for (const backend_entry* entry : all_backends) {
    if (entry->name == name) return entry;
  }
  return nullptr;
}

std::vector<const backend_entry*> list_backends() {
  return {std::begin(all_backends), std::end(all_backends)};
}

void replace_backend(const backend_entry& replacement) {
  for (const backend_entry*& entry : all_backends) {
    if (entry->id == replacement.id) entry = &replacement;
  }
}

}  // namespace lci::net
