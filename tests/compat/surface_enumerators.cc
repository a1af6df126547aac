// Enumerations, with the value of every enumerator, and what the functions call them.
#include <cstring>

#include "surface.h"

#define NAMED(function_, enum_, name_)                                        \
  surface::check(std::strcmp(lci::function_(lci::enum_::name_), #name_) == 0, \
                 #function_ "(" #enum_ "::" #name_ ")", " is not \"" #name_ "\"")

void surface::check_enumerators() {
  ENUMERATOR(errorcode_t, done_min, 0);
  ENUMERATOR(errorcode_t, done, 1);
  ENUMERATOR(errorcode_t, done_backlog, 2);
  ENUMERATOR(errorcode_t, done_max, 3);
  ENUMERATOR(errorcode_t, posted_min, 4);
  ENUMERATOR(errorcode_t, posted, 5);
  ENUMERATOR(errorcode_t, posted_backlog, 6);
  ENUMERATOR(errorcode_t, posted_max, 7);
  ENUMERATOR(errorcode_t, retry_min, 8);
  ENUMERATOR(errorcode_t, retry, 9);
  ENUMERATOR(errorcode_t, retry_init, 10);
  ENUMERATOR(errorcode_t, retry_lock, 11);
  ENUMERATOR(errorcode_t, retry_nopacket, 12);
  ENUMERATOR(errorcode_t, retry_nomem, 13);
  ENUMERATOR(errorcode_t, retry_backlog, 14);
  ENUMERATOR(errorcode_t, retry_max, 15);
  ENUMERATOR(errorcode_t, fatal, 16);

  ENUMERATOR(direction_t, OUT, 0);
  ENUMERATOR(direction_t, IN, 1);
  ENUMERATOR(comp_semantic_t, memory, 0);
  ENUMERATOR(comp_semantic_t, network, 1);

  ENUMERATOR(matching_policy_t, none, 0);
  ENUMERATOR(matching_policy_t, rank_only, 1);
  ENUMERATOR(matching_policy_t, tag_only, 2);
  ENUMERATOR(matching_policy_t, rank_tag, 3);
  ENUMERATOR(matching_policy_t, max, 4);
  ENUMERATOR(matching_entry_type_t, send, 0);
  ENUMERATOR(matching_entry_type_t, recv, 1);

  // Other backends than these follow them.
  ENUMERATOR(attr_backend_t, none, 0);
  ENUMERATOR(attr_backend_t, ibv, 1);
  ENUMERATOR(attr_backend_t, ofi, 2);
  ENUMERATOR(attr_backend_t, ucx, 3);
  CHECK(static_cast<int>(lci::attr_backend_t::shm) > 3);

  ENUMERATOR(net_opcode_t, SEND, 0);
  ENUMERATOR(net_opcode_t, RECV, 1);
  ENUMERATOR(net_opcode_t, WRITE, 2);
  ENUMERATOR(net_opcode_t, REMOTE_WRITE, 3);
  ENUMERATOR(net_opcode_t, READ, 4);
  ENUMERATOR(net_opcode_t, ERROR, 5);

  ENUMERATOR(broadcast_algorithm_t, none, 0);
  ENUMERATOR(broadcast_algorithm_t, direct, 1);
  ENUMERATOR(broadcast_algorithm_t, tree, 2);
  ENUMERATOR(broadcast_algorithm_t, ring, 3);
  ENUMERATOR(reduce_scatter_algorithm_t, none, 0);
  ENUMERATOR(reduce_scatter_algorithm_t, direct, 1);
  ENUMERATOR(reduce_scatter_algorithm_t, tree, 2);
  ENUMERATOR(reduce_scatter_algorithm_t, ring, 3);
  ENUMERATOR(allreduce_algorithm_t, none, 0);
  ENUMERATOR(allreduce_algorithm_t, direct, 1);
  ENUMERATOR(allreduce_algorithm_t, tree, 2);
  ENUMERATOR(allreduce_algorithm_t, ring, 3);

  ENUMERATOR(attr_rdv_protocol_t, auto_select, 0);
  ENUMERATOR(attr_rdv_protocol_t, write, 1);
  ENUMERATOR(attr_rdv_protocol_t, writeimm, 2);
  ENUMERATOR(attr_matching_engine_type_t, queue, 0);
  ENUMERATOR(attr_matching_engine_type_t, map, 1);
  ENUMERATOR(attr_comp_type_t, sync, 0);
  ENUMERATOR(attr_comp_type_t, counter, 1);
  ENUMERATOR(attr_comp_type_t, cq, 2);
  ENUMERATOR(attr_comp_type_t, handler, 3);
  ENUMERATOR(attr_comp_type_t, graph, 4);
  ENUMERATOR(attr_comp_type_t, custom, 5);
  ENUMERATOR(attr_cq_type_t, array_atomic, 0);
  ENUMERATOR(attr_cq_type_t, lcrq, 1);
  ENUMERATOR(attr_ibv_odp_strategy_t, none, 0);
  ENUMERATOR(attr_ibv_odp_strategy_t, explicit_odp, 1);
  ENUMERATOR(attr_ibv_odp_strategy_t, implicit_odp, 2);
  ENUMERATOR(attr_ibv_prefetch_strategy_t, none, 0);
  ENUMERATOR(attr_ibv_prefetch_strategy_t, prefetch, 1);
  ENUMERATOR(attr_ibv_prefetch_strategy_t, prefetch_write, 2);
  ENUMERATOR(attr_ibv_prefetch_strategy_t, prefetch_no_fault, 3);
  ENUMERATOR(attr_ibv_td_strategy_t, none, 0);
  ENUMERATOR(attr_ibv_td_strategy_t, all_qp, 1);
  ENUMERATOR(attr_ibv_td_strategy_t, per_qp, 2);

  // These are bits, and convert to the uint64_t that the attribute ofi_lock_mode is.
  CHECK(lci::LCI_NET_TRYLOCK_SEND == 1);
  CHECK(lci::LCI_NET_TRYLOCK_RECV == 2);
  CHECK(lci::LCI_NET_TRYLOCK_POLL == 4);
  CHECK(lci::LCI_NET_LOCK_MR == 8);
  CHECK(lci::LCI_NET_LOCK_ALL == 15);
  CHECK(lci::LCI_NET_TRYLOCK_MAX == 16);
  const uint64_t mode =
      lci::LCI_NET_TRYLOCK_SEND | lci::LCI_NET_TRYLOCK_RECV | lci::LCI_NET_TRYLOCK_POLL;
  CHECK(mode == 7);

  NAMED(get_errorcode_str, errorcode_t, done_min);
  NAMED(get_errorcode_str, errorcode_t, done);
  NAMED(get_errorcode_str, errorcode_t, done_backlog);
  NAMED(get_errorcode_str, errorcode_t, done_max);
  NAMED(get_errorcode_str, errorcode_t, posted_min);
  NAMED(get_errorcode_str, errorcode_t, posted);
  NAMED(get_errorcode_str, errorcode_t, posted_backlog);
  NAMED(get_errorcode_str, errorcode_t, posted_max);
  NAMED(get_errorcode_str, errorcode_t, retry_min);
  NAMED(get_errorcode_str, errorcode_t, retry);
  NAMED(get_errorcode_str, errorcode_t, retry_init);
  NAMED(get_errorcode_str, errorcode_t, retry_lock);
  NAMED(get_errorcode_str, errorcode_t, retry_nopacket);
  NAMED(get_errorcode_str, errorcode_t, retry_nomem);
  NAMED(get_errorcode_str, errorcode_t, retry_backlog);
  NAMED(get_errorcode_str, errorcode_t, retry_max);
  NAMED(get_errorcode_str, errorcode_t, fatal);

  NAMED(get_net_opcode_str, net_opcode_t, SEND);
  NAMED(get_net_opcode_str, net_opcode_t, RECV);
  NAMED(get_net_opcode_str, net_opcode_t, WRITE);
  NAMED(get_net_opcode_str, net_opcode_t, REMOTE_WRITE);
  NAMED(get_net_opcode_str, net_opcode_t, READ);
  NAMED(get_net_opcode_str, net_opcode_t, ERROR);

  NAMED(get_broadcast_algorithm_str, broadcast_algorithm_t, none);
  NAMED(get_broadcast_algorithm_str, broadcast_algorithm_t, direct);
  NAMED(get_broadcast_algorithm_str, broadcast_algorithm_t, tree);
  NAMED(get_broadcast_algorithm_str, broadcast_algorithm_t, ring);
  NAMED(get_reduce_scatter_algorithm_str, reduce_scatter_algorithm_t, none);
  NAMED(get_reduce_scatter_algorithm_str, reduce_scatter_algorithm_t, direct);
  NAMED(get_reduce_scatter_algorithm_str, reduce_scatter_algorithm_t, tree);
  NAMED(get_reduce_scatter_algorithm_str, reduce_scatter_algorithm_t, ring);
  NAMED(get_allreduce_algorithm_str, allreduce_algorithm_t, none);
  NAMED(get_allreduce_algorithm_str, allreduce_algorithm_t, direct);
  NAMED(get_allreduce_algorithm_str, allreduce_algorithm_t, tree);
  NAMED(get_allreduce_algorithm_str, allreduce_algorithm_t, ring);
}
