#include "lci/runtime/protocol/operation.h"

#include "lci/runtime/completion/signal.h"

namespace lci::rt {

void operation::signal_part(errorcode_t code) const {
  auto* const to = static_cast<event_signal*>(comp);
  if (code == errorcode_t::fatal) {
    to->signal(status(code));
  } else {
    to->arrived(part);
  }
}

}  // namespace lci::rt
