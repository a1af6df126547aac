#include "lci/base/check.h"

#include "lci/base/strings.h"

namespace lci::base {

void fail_check(const char* file, int line, const char* condition, const std::string& message) {
  throw check_error(StrCat(file, ":", line, ": check failed: ", condition, ": ", message));
}

}  // namespace lci::base
