// The values of environment variables: NAME=VALUE. Every variable of the library gets the value.
// Each is accepted, or refused with an error that names the variable.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lci/base/env.h"
#include "lci/runtime/core/attributes.h"

namespace {

constexpr const char* attributes[] = {"LCI_ATTR_PACKET_SIZE",      "LCI_ATTR_NPACKETS",
                                      "LCI_ATTR_BACKEND",          "LCI_ATTR_SYNC_THRESHOLD",
                                      "LCI_ATTR_USE_REG_CACHE",    "LCI_ATTR_CQ_TYPE",
                                      "LCI_ATTR_MAX_REGISTRATIONS"};

// The text of an error says which variable is wrong.
template <class Result>
void check(const Result& result, const char* name) {
  if (!result.ok() && result.status().message().find(name) == std::string_view::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string value(reinterpret_cast<const char*>(data), size);
  for (const char* name : attributes) {
    setenv(name, value.c_str(), 1);
    const auto read = lci::rt::attributes_from_environment();
    check(read, name);
    unsetenv(name);
  }
  constexpr const char* name = "LCI_FUZZED";
  setenv(name, value.c_str(), 1);
  check(lci::base::env_bool(name, false), name);
  check(lci::base::env_double(name, 1, 0, 1e9), name);
  check(lci::base::env_size(name, 1, 0, size_t{1} << 40), name);
  return 0;
}
