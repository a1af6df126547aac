/// @file
/// Matching engines.
#ifndef LCI_API_MATCHING_ENGINE_HPP_
#define LCI_API_MATCHING_ENGINE_HPP_

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/resource_operations.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_devices
/// @{

/// Allocates a matching engine. Local; but a send names the matching engine of the receiver by the
/// order of allocation: all ranks allocate theirs in the same order, and no message may be sent
/// before the receiver has allocated its matching engine. A runtime makes at most 65535 matching
/// engines in its life, its own included.
///
/// Options: `runtime`, `make_key`, and the attributes of a matching engine; see
/// option::matching_engine_attr_options.
class [[nodiscard]] alloc_matching_engine_x
    : public option::runtime_option<alloc_matching_engine_x>,
      public option::make_key_option<alloc_matching_engine_x>,
      public option::matching_engine_attr_options<alloc_matching_engine_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] alloc_matching_engine_x() = default;
  /// Allocates the matching engine.
  /// @return the matching engine. The program frees it by free_matching_engine.
  /// @throws std::runtime_error if the runtime can make no more matching engines.
  matching_engine_t operator()() const;
};
/// alloc_matching_engine_x with the default of every option.
/// @relates alloc_matching_engine_x
inline matching_engine_t alloc_matching_engine() { return alloc_matching_engine_x()(); }

/// Frees a matching engine in which no send or receive waits. Local.
///
/// Required: `matching_engine`. Options: `runtime`.
LCI_DECLARE_FREE(matching_engine)

/// Returns the default matching engine of a runtime. Thread-safe.
///
/// Options: `runtime`.
LCI_DECLARE_GET_DEFAULT(matching_engine)

/// Uses a matching engine by itself, without communication: pairs values of two kinds. Entries of
/// this operation and those of sends and receives do not match each other. Thread-safe.
///
/// Required: `matching_engine`, `key`, `value`, `entry_type`. Options: `runtime`.
class [[nodiscard]] matching_engine_insert_x
    : public option::runtime_option<matching_engine_insert_x>,
      public argument::matching_engine_argument<matching_engine_insert_x, matching_engine_t>,
      public argument::key_argument<matching_engine_insert_x, matching_entry_key_t>,
      public argument::value_argument<matching_engine_insert_x, matching_entry_val_t>,
      public argument::entry_type_argument<matching_engine_insert_x, matching_entry_type_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] matching_engine_insert_x(matching_engine_t matching_engine,
                                         matching_entry_key_t key, matching_entry_val_t value,
                                         matching_entry_type_t entry_type)
      : matching_engine_argument(matching_engine),
        key_argument(key),
        value_argument(value),
        entry_type_argument(entry_type) {}
  /// Inserts the entry, or finds its match.
  /// @return the value of the oldest waiting entry with this key and the other type, which is
  ///   removed; or null, and then this entry waits.
  /// @throws std::invalid_argument if `value` is null, or the handle is empty or freed.
  matching_entry_val_t operator()() const;
};
/// matching_engine_insert_x with the default of every option.
/// @relates matching_engine_insert_x
inline matching_entry_val_t matching_engine_insert(matching_engine_t matching_engine,
                                                   matching_entry_key_t key,
                                                   matching_entry_val_t value,
                                                   matching_entry_type_t entry_type) {
  return matching_engine_insert_x(matching_engine, key, value, entry_type)();
}

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_MATCHING_ENGINE_HPP_
