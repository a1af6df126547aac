#include "lci/net/ofi/library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace lci::net::ofi {
namespace {

struct loaded_library {
  library functions;
  absl::Status status;
};

template <class Function>
void find(void* handle, const char* name, Function* function, absl::Status* status) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  if (*function == nullptr && status->ok()) {
    *status = absl::UnavailableError(absl::StrCat("libfabric has no ", name));
  }
}

loaded_library load() {
  loaded_library made;
  // 1 is the version of the interface that its headers describe, the same since 2015.
  void* handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    made.status = absl::UnavailableError(
        absl::StrCat("libfabric can't be loaded; install it (Debian: libfabric1): ", dlerror()));
    return made;
  }
  find(handle, "fi_getinfo", &made.functions.getinfo, &made.status);
  find(handle, "fi_freeinfo", &made.functions.freeinfo, &made.status);
  find(handle, "fi_dupinfo", &made.functions.dupinfo, &made.status);
  find(handle, "fi_fabric", &made.functions.fabric, &made.status);
  find(handle, "fi_strerror", &made.functions.strerror, &made.status);
  return made;
}

const loaded_library& loaded() {
  static const loaded_library once = load();
  return once;
}

}  // namespace

absl::Status load_library() { return loaded().status; }

const library& libfabric() { return loaded().functions; }

const char* describe(int64_t code) {
  return libfabric().strerror(static_cast<int>(std::abs(code)));
}

}  // namespace lci::net::ofi
