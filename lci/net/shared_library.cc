#include "lci/net/shared_library.h"

#include <dlfcn.h>

#include "lci/base/strings.h"

namespace lci::net {

base::StatusOr<shared_library> shared_library::open(const char* file) {
  void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return base::UnavailableError(dlerror());
  return shared_library(file, handle);
}

void* shared_library::look_up(const char* name) {
  void* found = dlsym(handle_, name);
  if (found == nullptr && status_.ok()) {
    status_ = base::UnavailableError(base::StrCat(file_, " has no ", name));
  }
  return found;
}

}  // namespace lci::net
