// Types, constants, and what lci.hpp itself includes.
#include "surface.h"

// Names that lci.hpp alone declares: no other header is included here.

namespace {
[[maybe_unused]] std::unique_ptr<std::vector<std::string>> included_memory;
[[maybe_unused]] std::function<void(std::runtime_error)> included_functional;
[[maybe_unused]] uint64_t included_cstdint;

using namespace surface::argument;
}  // namespace

void surface::check_types() {
  CHECK(std::strlen("cstring") == 7);

  TYPE(lci::tag_t, uint64_t);
  TYPE(lci::rcomp_t, uint32_t);
  TYPE(lci::net_imm_data_t, uint32_t);
  TYPE(lci::matching_entry_key_t, uint64_t);
  TYPE(lci::matching_entry_val_t, void*);
  TYPE(lci::graph_node_t, void*);
  TYPE(lci::comp_handler_t, void (*)(lci::status_t));
  TYPE(lci::reduce_op_t, void (*)(const void*, const void*, void*, size_t));
  TYPE(lci::graph_node_run_cb_t, lci::status_t(*)(void*));
  TYPE(lci::graph_node_free_cb_t, void (*)(void*));
  TYPE(lci::graph_edge_run_cb_t, void (*)(lci::status_t, void*, void*));

  TYPE(decltype(lci::ANY_SOURCE), int);
  TYPE(decltype(lci::ANY_TAG), lci::tag_t);
  TYPE(decltype(lci::GRAPH_START), lci::graph_node_t);
  TYPE(decltype(lci::GRAPH_END), lci::graph_node_t);
  TYPE(decltype(lci::GRAPH_NODE_DUMMY_CB), lci::graph_node_run_cb_t);
  CHECK(std::is_convertible_v<decltype(lci::DEFAULT_NAME), const char*>);
  CHECK(lci::ANY_SOURCE == -1);
  CHECK(lci::ANY_TAG == ~lci::tag_t{0});
  CHECK(lci::GRAPH_NODE_DUMMY_CB == nullptr);
  CHECK(lci::GRAPH_START != nullptr);
  CHECK(lci::GRAPH_END != nullptr);
  CHECK(lci::GRAPH_START != lci::GRAPH_END);
  CHECK(lci::DEFAULT_NAME != nullptr);

  CHECK(std::is_same_v<std::decay_t<decltype(lci::COMP_NULL)>, lci::comp_t>);
  CHECK(std::is_same_v<std::decay_t<decltype(lci::COMP_NULL_RETRY)>, lci::comp_t>);
  CHECK(lci::COMP_NULL.is_empty());
  CHECK(lci::COMP_NULL_RETRY.is_empty());
  CHECK(lci::COMP_NULL == lci::comp_t());
  CHECK(lci::COMP_NULL_RETRY != lci::COMP_NULL);
  CHECK(lci::COMP_NULL_EXPECT_DONE == lci::COMP_NULL);
  CHECK(lci::COMP_NULL_EXPECT_DONE_OR_RETRY == lci::COMP_NULL_RETRY);

  CHECK(std::is_same_v<std::decay_t<decltype(lci::MR_HOST)>, lci::mr_t>);
  CHECK(std::is_same_v<std::decay_t<decltype(lci::MR_DEVICE)>, lci::mr_t>);
  CHECK(std::is_same_v<std::decay_t<decltype(lci::MR_UNKNOWN)>, lci::mr_t>);
  CHECK(lci::MR_HOST == lci::mr_t());
  CHECK(lci::MR_HOST.is_empty());
  CHECK(lci::MR_DEVICE.is_empty());
  CHECK(lci::MR_UNKNOWN.is_empty());
  CHECK(lci::MR_DEVICE != lci::MR_HOST);
  CHECK(lci::MR_UNKNOWN != lci::MR_HOST);
  CHECK(lci::MR_UNKNOWN != lci::MR_DEVICE);

  // The name of a remote memory region travels as bytes.
  CHECK(std::is_trivially_copyable_v<lci::rmr_t>);
  CHECK(std::is_same_v<decltype(lci::rmr_t::base), uintptr_t>);
  CHECK(std::is_same_v<decltype(lci::rmr_t::mr_base), uintptr_t>);
  CHECK(std::is_same_v<decltype(lci::rmr_t::opaque_rkey), uint64_t>);
  CHECK(lci::rmr_t().is_empty());
  CHECK(lci::rmr_t().base == 0);
  CHECK(lci::rmr_t().mr_base == 0);
  CHECK(lci::rmr_t().opaque_rkey == 0);
  CHECK(lci::RMR_NULL.is_empty());

  TYPE(decltype(lci::net_status_t::opcode), lci::net_opcode_t);
  TYPE(decltype(lci::net_status_t::rank), int);
  TYPE(decltype(lci::net_status_t::user_context), void*);
  TYPE(decltype(lci::net_status_t::length), size_t);
  TYPE(decltype(lci::net_status_t::imm_data), lci::net_imm_data_t);

  CHECK(std::is_base_of_v<std::runtime_error, lci::peer_failure_error>);
  CHECK(std::is_constructible_v<lci::peer_failure_error, int, const std::string&>);
  CHECK(lci::peer_failure_error(3, "gone").failed_rank() == 3);
  CHECK(noexcept(lci::peer_failure_error(3, "gone").failed_rank()) ||
        noexcept(std::declval<const lci::peer_failure_error&>().failed_rank()));
  CHECK(std::strcmp(lci::peer_failure_error(3, "gone").what(), "gone") == 0);

  // The allocator of received messages.
  CHECK(std::is_abstract_v<lci::allocator_base_t>);
  CHECK(std::has_virtual_destructor_v<lci::allocator_base_t>);
  CHECK(std::is_same_v<decltype(allocator->allocate(size)), void*>);
  CHECK(std::is_same_v<decltype(allocator->deallocate(buffer)), void>);
  CHECK(std::is_base_of_v<lci::allocator_base_t, lci::allocator_default_t>);
  CHECK(std::is_same_v<decltype(lci::g_allocator_default), lci::allocator_default_t>);
  CHECK(std::is_default_constructible_v<lci::allocator_default_t>);

  // The base of a program's own completion objects.
  CHECK(std::is_abstract_v<lci::comp_impl_t>);
  CHECK(std::has_virtual_destructor_v<lci::comp_impl_t>);
  CHECK(std::is_same_v<lci::comp_impl_t::attr_t, lci::comp_attr_t>);
  CHECK(std::is_same_v<decltype(lci::comp_impl_t::attr), lci::comp_attr_t>);
  CHECK(std::is_same_v<decltype(&lci::comp_impl_t::signal),
                       void (lci::comp_impl_t::*)(lci::status_t)>);

  // An option that may be set or not.
  using option = lci::option_t<int>;
  CHECK(!option().is_set());
  CHECK(option(4).is_set());
  CHECK(option(4).get_value() == 4);
  CHECK(option(4).get_value_or(5) == 4);
  CHECK(option().get_value_or(5) == 5);
  CHECK(!option(4, false).is_set());
  CHECK(option(4, false).get_value_or(5) == 5);
  CHECK(option(4, true).get_value_or(5) == 4);
  CHECK(option(4) + 1 == 5);
  CHECK(option(4).m_value == 4);
  CHECK(option(4).m_is_set);
  int out = 1;
  CHECK(!option().get_set_value(&out));
  CHECK(out == 1);
  CHECK(option(4).get_set_value(&out));
  CHECK(out == 4);
  CHECK(std::is_convertible_v<int, option>);
  CHECK(std::is_convertible_v<option, int>);
  CHECK(lci::option_t<std::string>("name").get_value_or("") == "name");

  // Functions of the process.
  TYPE(decltype(lci::global_initialize()), void);
  TYPE(decltype(lci::global_finalize()), void);
  TYPE(decltype(lci::get_rank_me()), int);
  TYPE(decltype(lci::get_rank_n()), int);
  TYPE(decltype(lci::get_g_default_attr()), lci::global_attr_t);
  TYPE(decltype(lci::set_g_default_attr(std::declval<const lci::global_attr_t&>())), void);
  TYPE(decltype(lci::g_default_attr), lci::global_attr_t);
}
