#include "lci/api/types.hpp"

namespace lci {

const char* get_errorcode_str(errorcode_t code) {
  switch (code) {
    case errorcode_t::done_min:
      return "done_min";
    case errorcode_t::done:
      return "done";
    case errorcode_t::done_backlog:
      return "done_backlog";
    case errorcode_t::done_max:
      return "done_max";
    case errorcode_t::posted_min:
      return "posted_min";
    case errorcode_t::posted:
      return "posted";
    case errorcode_t::posted_backlog:
      return "posted_backlog";
    case errorcode_t::posted_max:
      return "posted_max";
    case errorcode_t::retry_min:
      return "retry_min";
    case errorcode_t::retry:
      return "retry";
    case errorcode_t::retry_init:
      return "retry_init";
    case errorcode_t::retry_lock:
      return "retry_lock";
    case errorcode_t::retry_nopacket:
      return "retry_nopacket";
    case errorcode_t::retry_nomem:
      return "retry_nomem";
    case errorcode_t::retry_backlog:
      return "retry_backlog";
    case errorcode_t::retry_max:
      return "retry_max";
    case errorcode_t::fatal:
      return "fatal";
  }
  return "unknown";
}

const char* get_net_opcode_str(net_opcode_t opcode) {
  switch (opcode) {
    case net_opcode_t::SEND:
      return "SEND";
    case net_opcode_t::RECV:
      return "RECV";
    case net_opcode_t::WRITE:
      return "WRITE";
    case net_opcode_t::REMOTE_WRITE:
      return "REMOTE_WRITE";
    case net_opcode_t::READ:
      return "READ";
    case net_opcode_t::ERROR:
      return "ERROR";
  }
  return "unknown";
}

const char* get_broadcast_algorithm_str(broadcast_algorithm_t algorithm) {
  switch (algorithm) {
    case broadcast_algorithm_t::none:
      return "none";
    case broadcast_algorithm_t::direct:
      return "direct";
    case broadcast_algorithm_t::tree:
      return "tree";
    case broadcast_algorithm_t::ring:
      return "ring";
  }
  return "unknown";
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
