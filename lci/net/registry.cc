// All backends of this library. Listed rather than registering themselves: the linker drops
// unreferenced objects from a static library.
#include "lci/net/registry.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "lci/base/check.h"
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

// The first value of a backend that has only a name: no enumerator comes near it.
constexpr int first_named = 1000;

}  // namespace

attr_backend_t id_of(const backend_entry& entry) {
  if (entry.id != attr_backend_t::none) return entry.id;
  const auto* const found = std::find(std::begin(all_backends), std::end(all_backends), &entry);
  LCI_CHECK(found != std::end(all_backends), "backend ", entry.name, " is not in this binary");
  return static_cast<attr_backend_t>(first_named + (found - std::begin(all_backends)));
}

const backend_entry* find_backend(attr_backend_t id, bool one_host) {
  if (id == attr_backend_t::none && (!one_host || mixed::has_host_override())) {
    return &mixed::backend;
  }
  const backend_entry* best = nullptr;
  for (const backend_entry* entry : all_backends) {
    if (id != attr_backend_t::none) {
      if (id_of(*entry) == id) return entry;
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

const backend_entry*& registered_backend(attr_backend_t id) {
  const auto found = std::find_if(std::begin(all_backends), std::end(all_backends),
                                  [id](const backend_entry* entry) { return entry->id == id; });
  LCI_CHECK(found != std::end(all_backends), "no backend has id ", static_cast<int>(id));
  return *found;
}

}  // namespace lci::net
