#include "lci/net/ofi/library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace lci::net::ofi {
namespace {

template <class Function>
void find(void* handle, const char* name, Function* function, absl::Status* status) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  if (*function == nullptr && status->ok()) {
    *status = absl::UnavailableError(absl::StrCat("libfabric has no ", name));
  }
}

const absl::StatusOr<library>& loaded() {
  // 1 is the version of the interface that its headers describe, the same since 2015.
  static const absl::StatusOr<library> once = load_library_from("libfabric.so.1");
  return once;
}

}  // namespace

absl::StatusOr<library> load_library_from(const char* file) {
  void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::UnavailableError(absl::StrCat(
        "libfabric can't be loaded; install it (Debian: libfabric1) or choose another backend: ",
        dlerror()));
  }
  library made;
  absl::Status status;
  find(handle, "fi_getinfo", &made.getinfo, &status);
  find(handle, "fi_freeinfo", &made.freeinfo, &status);
  find(handle, "fi_dupinfo", &made.dupinfo, &status);
  find(handle, "fi_fabric", &made.fabric, &status);
  find(handle, "fi_strerror", &made.strerror, &status);
  if (!status.ok()) return status;
  return made;
}

absl::Status load_library() { return loaded().status(); }

const library& libfabric() { return *loaded(); }

const char* describe(int64_t code) {
  return libfabric().strerror(static_cast<int>(std::abs(code)));
}

}  // namespace lci::net::ofi
