#include "lci/base/wakeup.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace lci::base {

wakeup::~wakeup() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool wakeup::open() {
  descriptor_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return descriptor_ >= 0;
}

void wakeup::arm() {
  if (descriptor_ < 0) return;
  // Earlier rings announce work that the caller is still going to look for.
  uint64_t rung;
  static_cast<void>(!read(descriptor_, &rung, sizeof(rung)));
  armed_.exchange(true, std::memory_order_acq_rel);
}

void wakeup::ring() {
  // The counter is full only if it has been rung before.
  const uint64_t once = 1;
  static_cast<void>(!write(descriptor_, &once, sizeof(once)));
}

}  // namespace lci::base
