#include "lci/runtime/live.h"

#include <deque>
#include <mutex>

namespace lci::rt {
namespace {

struct freed {
  void* memory;
  size_t alignment;  // 0: the default

  void release() const {
    if (alignment == 0) {
      ::operator delete(memory);
    } else {
      ::operator delete(memory, std::align_val_t(alignment));
    }
  }
};

class keeper {
 public:
  void keep(const freed& object) {
    const std::lock_guard<std::mutex> guard(mutex_);
    kept_.push_back(object);
    if (kept_.size() <= most) return;
    kept_.front().release();
    kept_.pop_front();
  }

 private:
  static constexpr size_t most = 1000;
  std::mutex mutex_;
  std::deque<freed> kept_;  // guarded by mutex_
};

}  // namespace

void quarantine(void* memory, size_t alignment) {
  // Never destroyed: objects may be freed at any time.
  static keeper* const all = new keeper;
  all->keep({memory, alignment});
}

}  // namespace lci::rt
