#include "lci/net/ofi/library.h"

#include <cstdlib>

#include "lci/base/strings.h"
#include "lci/net/shared_library.h"

namespace lci::net::ofi {
namespace {

const base::StatusOr<library>& loaded() {
  // Version 1 is the interface that the headers describe, unchanged since 2015.
  static const base::StatusOr<library> once = load_library_from("libfabric.so.1");
  return once;
}

}  // namespace

base::StatusOr<library> load_library_from(const char* file) {
  base::StatusOr<shared_library> opened = shared_library::open(file, "libfabric", "libfabric1");
  if (!opened.ok()) return opened.status();
  library made;
  opened->find("fi_getinfo", &made.getinfo);
  opened->find("fi_freeinfo", &made.freeinfo);
  opened->find("fi_dupinfo", &made.dupinfo);
  opened->find("fi_fabric", &made.fabric);
  opened->find("fi_strerror", &made.strerror);
  if (!opened->status().ok()) return opened->status();
  return made;
}

base::Status load_library() { return loaded().status(); }

const library& libfabric() { return *loaded(); }

const char* describe(int64_t code) {
  return libfabric().strerror(static_cast<int>(std::abs(code)));
}

}  // namespace lci::net::ofi
