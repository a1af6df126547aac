// What other ranks name of this one's: completion objects and signals.
#include <stdexcept>

#include "lci/base/strings.h"
#include "lci/runtime/comp/recorded.h"
#include "lci/runtime/runtime.h"

namespace lci {

// ---- remote completion objects ------------------------------------------------------------------

rcomp_t runtime_impl_t::reserve_rcomps(rcomp_t n) {
  const std::lock_guard<std::mutex> guard(rcomp_mutex_);
  if (n > ~rcomp_t{0} - next_rcomp_) {
    throw std::invalid_argument(base::StrCat("lci: reserve_rcomps: ", n, " more than are left"));
  }
  const rcomp_t first = next_rcomp_;
  next_rcomp_ += n;
  return first;
}

void runtime_impl_t::set_rcomp(rcomp_t rcomp, comp_impl_t* comp) {
  const std::lock_guard<std::mutex> guard(rcomp_mutex_);
  if (rcomp == 0 || rcomp >= next_rcomp_) {
    throw std::invalid_argument(
        base::StrCat("lci: rcomp ", rcomp, " was not given by register_rcomp or reserve_rcomps"));
  }
  if (comp != nullptr && rcomps_.get(rcomp) != nullptr) {
    throw std::logic_error(base::StrCat("lci: register_rcomp: ", rcomp, " is in use"));
  }
  rcomps_.set(rcomp, record_ && comp != nullptr ? recorded_rcomp(comp) : comp);
}

comp_impl_t* runtime_impl_t::recorded_rcomp(comp_impl_t* comp) {
  if (!rt::is_of_type(*comp, attr_comp_type_t::handler)) return comp;
  recorded_rcomps_.push_back(std::make_unique<rt::forwarding_comp>(comp));
  return recorded_rcomps_.back().get();
}

void runtime_impl_t::report_no_rcomp(rcomp_t rcomp, int sender) const {
  throw std::runtime_error(base::StrCat(
      "lci: rank ", rank(), " dropped a message of rank ", sender, " for remote completion ", rcomp,
      ", which is not registered here; register it before a barrier and send after it"));
}

// ---- signals ------------------------------------------------------------------------------------

uint32_t runtime_impl_t::add_signal(rt::event_signal* signal) {
  const uint32_t number = next_signal_.fetch_add(1, std::memory_order_relaxed);
  if (number == 0) throw std::runtime_error("lci: alloc_signal: all numbers have been given");
  signals_.set(number, signal);
  signals_alive_.fetch_add(1, std::memory_order_acq_rel);
  return number;
}

void runtime_impl_t::remove_signal(uint32_t number) {
  signals_.set(number, nullptr);
  signals_alive_.fetch_sub(1, std::memory_order_acq_rel);
}

void runtime_impl_t::report_no_signal(uint32_t number, int sender) const {
  throw std::runtime_error(base::StrCat("lci: rank ", rank(), " dropped an event of rank ", sender,
                                        " for signal number ", number,
                                        ", which has been freed, or never was"));
}

}  // namespace lci
