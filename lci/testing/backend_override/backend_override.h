// Puts a backend in the place of a registered one, so that runtimes of a test use it.
#ifndef LCI_TESTING_BACKEND_OVERRIDE_BACKEND_OVERRIDE_H_
#define LCI_TESTING_BACKEND_OVERRIDE_BACKEND_OVERRIDE_H_

#include "lci/net/backend.h"

namespace lci::net {

// During its lifetime, find_backend and list_backends return `replacement` instead of the backend
// with the same id, if none is given. `replacement` outlives this object and every context made
// from it. Overrides of one backend end in the reverse order of their beginning. Thread safety: no
// search for a backend runs concurrently with the constructor or the destructor.
class backend_override {
 public:
  explicit backend_override(const backend_entry& replacement)
      : backend_override(replacement, replacement.id) {}
  // In the place of the backend with this id, instead.
  backend_override(const backend_entry& replacement, attr_backend_t replaced);
  ~backend_override();
  backend_override(const backend_override&) = delete;
  backend_override& operator=(const backend_override&) = delete;

 private:
  const backend_entry*& place_;
  const backend_entry* const original_;
};

}  // namespace lci::net

#endif  // LCI_TESTING_BACKEND_OVERRIDE_BACKEND_OVERRIDE_H_
