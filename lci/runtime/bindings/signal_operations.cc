// The public operations on signals.
#include <chrono>

#include "lci/api/runtime.hpp"
#include "lci/api/signal.hpp"
#include "lci/base/log.h"
#include "lci/runtime/completion/checked.h"
#include "lci/runtime/completion/signal.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/vain_tests.h"
#include "lci/runtime/device/wait.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {
namespace {

// When a wait has become a long one.
class patience {
 public:
  explicit patience(size_t milliseconds)
      : left_(milliseconds), end_(clock::now() + std::chrono::milliseconds(milliseconds)) {}
  // True once each time that it has run out.
  bool is_over() {
    if (left_ == 0 || clock::now() < end_) return false;
    left_ *= 2;
    end_ += std::chrono::milliseconds(left_);
    return true;
  }

 private:
  using clock = std::chrono::steady_clock;
  size_t left_;
  clock::time_point end_;
};

}  // namespace

comp_t alloc_signal_x::operator()() const {
  runtime_impl_t* const runtime = rt::resolve(get_runtime());
  comp_attr_t attr;
  attr.comp_type = attr_comp_type_t::signal;
  attr.name = get_name();
  attr.user_context = get_user_context();
  attr.lend_am = true;  // of a message it only counts that it came
  attr.signal_nbits_event =
      get_signal_nbits_event().get_value_or(get_g_default_attr().signal_nbits_event);
  attr.signal_num_event = get_num_event();
  if (attr.signal_nbits_event < 1 || attr.signal_nbits_event > 40) {
    rt::throw_invalid_argument("attribute signal_nbits_event is ", attr.signal_nbits_event,
                               ", not 1 to 40");
  }
  const int64_t most = (int64_t{1} << attr.signal_nbits_event) - 1;
  if (get_num_event() < 1 || get_num_event() > most) {
    rt::throw_invalid_argument("alloc_signal: num_event is ", get_num_event(), ", not 1 to ", most,
                               ", for which signal_nbits_event has room");
  }
  return new rt::event_signal(attr, *runtime, runtime->counters());
}

bool signal_test_x::operator()() const {
  const bool is_over =
      rt::checked<rt::event_signal>(get_comp(), "signal_test")->test("signal_test");
  rt::thread_tests::own.add(is_over);
  return is_over;
}

void signal_wait_x::operator()() const {
  const rt::event_signal* const signal = rt::checked<rt::event_signal>(get_comp(), "signal_wait");
  if (signal->test("signal_wait")) return;
  const rt::target target = rt::resolve(get_runtime(), get_device());
  device_impl_t* const device = get_do_progress() ? target.device : nullptr;
  patience patience(target.runtime->attr().signal_patience);
  unsigned looks = 0;
  rt::wait_until(device, {"signal_wait"}, [&] {
    if (signal->test("signal_wait")) return true;
    // The clock costs as much as a poll.
    if (__builtin_expect(++looks % 1024 == 0, 0) && patience.is_over()) {
      LCI_LOG(warn, "signal_wait has waited for long: ", signal->describe());
    }
    return false;
  });
}

void signal_reset_x::operator()() const {
  rt::checked<rt::event_signal>(get_comp(), "signal_reset")->reset();
}

int64_t signal_missing_x::operator()() const {
  const rt::event_counter& counter =
      rt::checked<rt::event_signal>(get_comp(), "signal_missing")->counter();
  return counter.missing_events(counter.get());
}

}  // namespace lci
