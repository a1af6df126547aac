// The public operations on completion objects.

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lci/api/comp.hpp"
#include "lci/api/graph.hpp"
#include "lci/api/runtime.hpp"
#include "lci/base/strings.h"
#include "lci/runtime/bindings/checked_mode.h"
#include "lci/runtime/bindings/make_comp.h"
#include "lci/runtime/completion/checked.h"
#include "lci/runtime/completion/graph.h"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/poll.h"
#include "lci/runtime/device/vain_tests.h"
#include "lci/runtime/device/wait.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {

using rt::checked;

namespace {

// There must be a runtime, though an object needs it only where the runtime records.
template <class Op>
const runtime_impl_t& runtime_of(const Op& op) {
  return *rt::resolve(op.get_runtime());
}

template <class Op>
comp_attr_t attributes(const Op& op, attr_comp_type_t type) {
  comp_attr_t attr;
  attr.comp_type = type;
  attr.name = op.get_name();
  attr.user_context = op.get_user_context();
  return attr;
}

void check_positive(int value, const char* what) {
  if (value < 1) rt::throw_invalid_argument(what, " is ", value, ", not at least 1");
}

// Ends the registrations that the object has in the runtime, or in the global one if that is empty,
// so that a message for it is dropped instead of using freed memory. Returns their names.
std::vector<rcomp_t> end_registrations(const comp_impl_t& comp, runtime_t runtime) {
  if (runtime.is_empty()) runtime = rt::global_runtime();
  // An object may be freed after its runtime, and a child of fork() must not take a lock of its
  // parent.
  if (runtime.is_empty()) return {};
  if (!runtime.p_impl->is_live() && !runtime.p_impl->is_watched()) return {};
  return runtime.p_impl->forget_comp(comp);
}

}  // namespace

void free_comp_x::operator()() const {
  comp_impl_t* impl = checked(rt::handle_at(get_comp(), "free_comp"), "free_comp");
  if (impl->attr.comp_type == attr_comp_type_t::graph &&
      static_cast<rt::graph*>(impl)->is_running()) {
    rt::throw_logic_error("free_comp: graph \"", impl->attr.name, "\" is running");
  }
  const bool is_checked = rt::is_checked_mode();
  if (__builtin_expect(is_checked, 0)) rt::check_unused(*impl);
  const std::vector<rcomp_t> names = end_registrations(*impl, get_runtime());
  if (__builtin_expect(is_checked, 0)) {
    rt::report_registered(*impl, names);
    rt::note_freed(*impl);
  }
  delete impl;
  *get_comp() = comp_t();
}

void comp_signal_x::operator()() const { checked(get_comp(), "comp_signal")->signal(get_status()); }

rcomp_t register_rcomp_x::operator()() const {
  runtime_impl_t* runtime = rt::resolve(get_runtime());
  comp_impl_t* impl =
      get_comp().is_empty() ? &runtime->no_comp() : checked(get_comp(), "register_rcomp");
  const rcomp_t rcomp =
      get_rcomp() != 0 ? get_rcomp() : runtime->reserve_rcomps(1, "register_rcomp");
  runtime->set_rcomp(rcomp, impl);
  return rcomp;
}

rcomp_t reserve_rcomps_x::operator()() const {
  return rt::resolve(get_runtime())->reserve_rcomps(get_n(), "reserve_rcomps");
}

void deregister_rcomp_x::operator()() const {
  rt::resolve(get_runtime())->set_rcomp(get_rcomp(), nullptr);
}

comp_t alloc_handler_x::operator()() const {
  if (get_handler() == nullptr) rt::throw_invalid_argument("alloc_handler: handler is null");
  const runtime_impl_t& runtime = runtime_of(*this);
  comp_attr_t attr = attributes(*this, attr_comp_type_t::handler);
  const global_attr_t defaults = get_g_default_attr();
  attr.zero_copy_am = get_zero_copy_am().get_value_or(defaults.zero_copy_am);
  attr.lend_am = get_lend_am().get_value_or(defaults.lend_am);
  return rt::make_comp<rt::handler>(runtime, attr, get_handler());
}

comp_t alloc_cq_x::operator()() const {
  const runtime_impl_t& runtime = runtime_of(*this);
  comp_attr_t attr = attributes(*this, attr_comp_type_t::cq);
  const global_attr_t defaults = get_g_default_attr();
  attr.cq_type = get_cq_type().get_value_or(defaults.cq_type);
  attr.zero_copy_am = get_zero_copy_am().get_value_or(defaults.zero_copy_am);
  attr.cq_default_length = get_default_length().get_value_or(defaults.cq_default_length);
  check_positive(attr.cq_default_length, "cq_default_length");
  if (attr.cq_type == attr_cq_type_t::lcrq)
    return rt::make_comp<rt::growing_completion_queue>(runtime, attr);
  return rt::make_comp<rt::fixed_completion_queue>(runtime, attr);
}

status_t cq_pop_x::operator()() const {
  status_t status;
  if (rt::pop(*checked<rt::completion_queue>(get_comp(), "cq_pop"), &status)) {
    rt::note_found();
  } else {
    rt::thread_tests::own.add();
    status = status_t(errorcode_t::retry);
  }
  return status;
}

comp_t alloc_counter_x::operator()() const {
  const runtime_impl_t& runtime = runtime_of(*this);
  comp_attr_t attr = attributes(*this, attr_comp_type_t::counter);
  // Nobody could give back the buffer of a message that is only counted.
  attr.lend_am = true;
  return rt::make_comp<rt::counter>(runtime, attr);
}

int64_t counter_get_x::operator()() const {
  const auto* const counter = checked<rt::counter>(get_comp(), "counter_get");
  const int64_t value = counter->get();
  rt::thread_tests::own.add_value(counter, value);
  return value;
}

void counter_set_x::operator()() const {
  checked<rt::counter>(get_comp(), "counter_set")->set(get_value());
}

comp_t alloc_sync_x::operator()() const {
  const runtime_impl_t& runtime = runtime_of(*this);
  comp_attr_t attr = attributes(*this, attr_comp_type_t::sync);
  const global_attr_t defaults = get_g_default_attr();
  attr.sync_threshold = get_threshold().get_value_or(defaults.sync_threshold);
  attr.zero_copy_am = get_zero_copy_am().get_value_or(defaults.zero_copy_am);
  check_positive(attr.sync_threshold, "sync_threshold");
  return rt::make_comp<rt::synchronizer>(runtime, attr);
}

// Graphs.

comp_t alloc_graph_x::operator()() const {
  if (get_comp() == COMP_NULL_RETRY) {
    rt::throw_invalid_argument("alloc_graph: comp is COMP_NULL_RETRY");
  }
  const runtime_impl_t& runtime = runtime_of(*this);
  return rt::make_comp<rt::graph>(runtime, attributes(*this, attr_comp_type_t::graph),
                                  get_comp().p_impl);
}

graph_node_t graph_add_node_x::operator()() const {
  return checked<rt::graph>(get_comp(), "graph_add_node")
      ->add_node(get_fn(), get_value(), get_free_cb());
}

void graph_add_edge_x::operator()() const {
  checked<rt::graph>(get_comp(), "graph_add_edge")->add_edge(get_src(), get_dst(), get_fn());
}

void graph_node_mark_complete_x::operator()() const {
  status_t status = get_status();
  if (status.error.errorcode == errorcode_t::retry_init) status.set_done();
  rt::graph::mark_complete(get_node(), status);
}

void graph_start_x::operator()() const { checked<rt::graph>(get_comp(), "graph_start")->start(); }

status_t graph_test_x::operator()() const {
  const status_t status = checked<rt::graph>(get_comp(), "graph_test")->test();
  rt::thread_tests::own.add(!status.is_retry());
  return status;
}

// Synchronizers.

namespace {

// Takes the statuses of a synchronizer that is ready. Without `out`, the program cannot see that an
// operation has failed: an exception says so.
void take(rt::synchronizer* sync, status_t* out, runtime_t runtime, const char* call) {
  const std::optional<status_t> failed = sync->take(out);
  if (__builtin_expect(!failed || out != nullptr, 1)) return;
  const std::string what =
      base::StrCat("lci: ", call, ": an operation with rank ", failed->rank, " has failed");
  if (runtime.is_empty()) runtime = rt::global_runtime();
  if (failed->rank >= 0 && !runtime.is_empty() && runtime.p_impl->has_failed(failed->rank)) {
    throw peer_failure_error(failed->rank, what + ", which is gone");
  }
  throw std::runtime_error(what + "; the log of that rank or of this one says why");
}

}  // namespace

bool sync_test_x::operator()() const {
  auto* sync = checked<rt::synchronizer>(get_comp(), "sync_test");
  if (!sync->ready()) {
    rt::thread_tests::own.add();
    return false;
  }
  rt::note_found();
  take(sync, get_p_out(), get_runtime(), "sync_test");
  return true;
}

void sync_wait_x::operator()() const {
  auto* sync = checked<rt::synchronizer>(get_comp(), "sync_wait");
  device_impl_t* device =
      get_do_progress() ? rt::resolve(get_runtime(), get_device()).device : nullptr;
  if (!sync->ready()) {
    observe::wait_info what = {"sync_wait"};
    what.object = static_cast<const comp_impl_t*>(sync);
    what.read_object = &rt::synchronizer::read_signals;
    rt::wait_until(device, what, [sync] { return sync->ready(); });
  }
  take(sync, get_p_out(), get_runtime(), "sync_wait");
}

}  // namespace lci
