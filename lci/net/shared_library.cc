#include "lci/net/shared_library.h"

#include <dlfcn.h>

#include "lci/base/error_text.h"
#include "lci/base/strings.h"
#include "lci/net/signal_actions.h"

namespace lci::net {

base::StatusOr<shared_library> shared_library::open(const char* file, std::string_view name,
                                                    std::string_view packages) {
  const signal_actions kept;
  void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string text = dlerror();
    const int missing = base::missing_descriptor();
    if (missing != 0) return base::ErrnoToStatus(missing, base::StrCat("loading ", file));
    return base::UnavailableError(base::StrCat(name, " can't be loaded; install it (Debian: ",
                                               packages, ") or choose another backend: ", text));
  }
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
