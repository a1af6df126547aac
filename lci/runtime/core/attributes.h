#ifndef LCI_RUNTIME_CORE_ATTRIBUTES_H_
#define LCI_RUNTIME_CORE_ATTRIBUTES_H_

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "lci/api/attr.hpp"
#include "lci/base/status.h"

namespace lci::rt {

// The built-in defaults of all attributes, overridden by the variables LCI_ATTR_<NAME>. The error
// names the variable, its value, what is accepted, and what the attribute means.
base::StatusOr<global_attr_t> attributes_from_environment();

/// Warns of attributes that have another value than their built-in default and no effect in this
/// library, each once. Programs may set them because other implementations of the interface have a
/// use for them. Rank 0 warns, the others, which mostly have the same to say, inform. Thread-safe;
/// blocking.
class effect_reports {
 public:
  explicit effect_reports(int rank) : rank_(rank) {}

  void check(const net_context_attr_t& attr);
  void check(const device_attr_t& attr);

 private:
  template <class T>
  void check(const char* name, std::string_view meaning, const T& value, const T& builtin);

  const int rank_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> reported_;  // guarded by mutex_
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_ATTRIBUTES_H_
