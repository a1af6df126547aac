#ifndef LCI_NET_SHARED_LIBRARY_H_
#define LCI_NET_SHARED_LIBRARY_H_

#include <string>
#include <string_view>

#include "lci/base/status.h"

namespace lci::net {

// A shared library that a backend loads only when it is used. It stays loaded for good: those that
// are loaded so (libfabric, libibverbs) can't be unloaded.
class shared_library {
 public:
  // Loads `file`, which the loader searches for. The process keeps its signal actions. The error
  // says which `packages` of Debian have the library, which is called `name`, and contains the
  // loader's message; it is ResourceExhausted if this process can open no more files.
  static base::StatusOr<shared_library> open(const char* file, std::string_view name,
                                             std::string_view packages);

  // Null, and status() is an error that names it, if there is no such function.
  template <class Function>
  void find(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(look_up(name));
  }

  // Of all find() so far.
  const base::Status& status() const { return status_; }

 private:
  shared_library(const char* file, void* handle) : file_(file), handle_(handle) {}
  void* look_up(const char* name);

  std::string file_;
  void* handle_;
  base::Status status_;
};

}  // namespace lci::net

#endif  // LCI_NET_SHARED_LIBRARY_H_
