// Completion objects of a rank that records its events.
#ifndef LCI_RUNTIME_COMPLETION_RECORDED_H_
#define LCI_RUNTIME_COMPLETION_RECORDED_H_

#include <algorithm>
#include <type_traits>
#include <utility>

#include "lci/api/comp.hpp"
#include "lci/observe/recorder.h"
#include "lci/runtime/completion/impl.h"

namespace lci::rt {

// An object of a class of the library that records each of its signals. Of a handler the event
// lasts as long as the program's function.
template <class Comp>
class recorded final : public Comp {
 public:
  template <class... Arguments>
  explicit recorded(observe::event_sink to, Arguments&&... arguments)
      : Comp(std::forward<Arguments>(arguments)...), to_(to) {}

  void signal(status_t status) override {
    observe::event made = observe::event_sink::moment(observe::event_kind::signal);
    made.peer = std::max(status.rank, observe::event::no_peer);
    made.size = status.size;
    made.tag = status.tag;
    if (status.error.errorcode == errorcode_t::fatal) made.flags |= observe::event::failed;
    if constexpr (std::is_same_v<Comp, handler>) {
      // The object may be gone when its function returns, and the function may throw.
      const timed end{to_, &made};
      Comp::signal(status);
    } else {
      // As soon as it is signaled, another thread may free it.
      to_.add(made);
      Comp::signal(status);
    }
  }

 private:
  struct timed {
    ~timed() {
      const uint64_t took = observe::recorder::now() - recorded->time;
      recorded->duration = static_cast<uint32_t>(std::min<uint64_t>(took, ~uint32_t{0}));
      to.add(*recorded);
    }
    const observe::event_sink to;
    observe::event* const recorded;
  };

  const observe::event_sink to_;
};

// Signals another object, and has its attributes, but is not of its class.
class forwarding_comp final : public comp_impl_t {
 public:
  explicit forwarding_comp(comp_impl_t* to) : comp_impl_t(to->attr), to_(to) {
    attr.comp_type = attr_comp_type_t::custom;
  }
  void signal(status_t status) override { to_->signal(status); }

 private:
  comp_impl_t* const to_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COMPLETION_RECORDED_H_
