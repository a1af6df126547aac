#include "lci/net/shared_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace lci::net {

absl::StatusOr<shared_library> shared_library::open(const char* file) {
  void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::UnavailableError(dlerror());
  return shared_library(file, handle);
}

void* shared_library::look_up(const char* name) {
  void* found = dlsym(handle_, name);
  if (found == nullptr && status_.ok()) {
    status_ = absl::UnavailableError(absl::StrCat(file_, " has no ", name));
  }
  return found;
}

}  // namespace lci::net
