#include <cstddef>
#include <iterator>

#include "lci/api/types.hpp"

namespace lci {
namespace {

// The name of an enumerator, of all in their order.
template <class Enum, size_t count>
const char* name_in(const char* const (&names)[count], Enum value) {
  const auto number = static_cast<size_t>(value);
  return number < count ? names[number] : "unknown";
}

}  // namespace

const char* get_errorcode_str(errorcode_t code) {
  static constexpr const char* names[] = {
      "done_min",       "done",        "done_backlog",  "done_max",  "posted_min", "posted",
      "posted_backlog", "posted_max",  "retry_min",     "retry",     "retry_init", "retry_lock",
      "retry_nopacket", "retry_nomem", "retry_backlog", "retry_max", "fatal"};
  static_assert(std::size(names) == static_cast<size_t>(errorcode_t::fatal) + 1);
  return name_in(names, code);
}

const char* get_net_opcode_str(net_opcode_t opcode) {
  static constexpr const char* names[] = {"SEND", "RECV", "WRITE", "REMOTE_WRITE", "READ", "ERROR"};
  static_assert(std::size(names) == static_cast<size_t>(net_opcode_t::ERROR) + 1);
  return name_in(names, opcode);
}

const char* get_broadcast_algorithm_str(broadcast_algorithm_t algorithm) {
  static constexpr const char* names[] = {"none", "direct", "tree", "ring"};
  static_assert(std::size(names) == static_cast<size_t>(broadcast_algorithm_t::ring) + 1);
  return name_in(names, algorithm);
}

// The algorithms of all collectives have the same names and numbers.
const char* get_reduce_scatter_algorithm_str(reduce_scatter_algorithm_t algorithm) {
  return get_broadcast_algorithm_str(static_cast<broadcast_algorithm_t>(algorithm));
}
const char* get_reduce_scatter_algorithm_str(broadcast_algorithm_t algorithm) {
  return get_broadcast_algorithm_str(algorithm);
}
const char* get_allreduce_algorithm_str(allreduce_algorithm_t algorithm) {
  return get_broadcast_algorithm_str(static_cast<broadcast_algorithm_t>(algorithm));
}
const char* get_allreduce_algorithm_str(broadcast_algorithm_t algorithm) {
  return get_broadcast_algorithm_str(algorithm);
}

}  // namespace lci
