#include <cstddef>
#include <cstdint>
#include <mutex>
#include <queue>

#include "lci/ds/array_queue.h"
#include "lci/ds/lcrq.h"
#include "lct/lct.h"

struct LCT_queue_opaque_t {
  virtual ~LCT_queue_opaque_t() = default;
  // Returns false if the queue is full.
  virtual bool push(void* value) = 0;
  // Returns null if the queue is empty.
  virtual void* pop() = 0;
};

namespace {

class unbounded_queue final : public LCT_queue_opaque_t {
 public:
  bool push(void* value) override {
    values_.push(value);
    return true;
  }
  void* pop() override {
    void* value;
    return values_.try_pop(&value) ? value : nullptr;
  }

 private:
  lci::ds::lcrq<void*> values_;
};

class bounded_queue final : public LCT_queue_opaque_t {
 public:
  explicit bounded_queue(size_t length) : values_(length) {}
  bool push(void* value) override { return values_.try_push(value); }
  void* pop() override {
    void* value;
    return values_.try_pop(&value) ? value : nullptr;
  }

 private:
  lci::ds::array_queue<void*> values_;
};

// Lock of queues that only one thread uses.
struct no_lock {
  void lock() {}
  void unlock() {}
};

template <class Lock>
class container_queue final : public LCT_queue_opaque_t {
 public:
  explicit container_queue(size_t most) : most_(most) {}
  bool push(void* value) override {
    const std::lock_guard<Lock> guard(lock_);
    if (values_.size() >= most_) return false;
    values_.push(value);
    return true;
  }
  void* pop() override {
    const std::lock_guard<Lock> guard(lock_);
    if (values_.empty()) return nullptr;
    void* const value = values_.front();
    values_.pop();
    return value;
  }

 private:
  const size_t most_;
  Lock lock_;
  std::queue<void*> values_;
};

constexpr size_t unbounded = SIZE_MAX;

void check_length(size_t length) {
  LCT_Assert(LCT_log_ctx_default, length > 0, "length is 0; a bounded queue holds at least 1\n");
}

}  // namespace

LCT_queue_t LCT_queue_alloc(LCT_queue_type_t type, size_t length) {
  switch (type) {
    case LCT_QUEUE_ARRAY_ATOMIC_FAA:
    case LCT_QUEUE_ARRAY_ATOMIC_CAS:
    case LCT_QUEUE_ARRAY_ATOMIC_BASIC:
      check_length(length);
      return new bounded_queue(length);
    case LCT_QUEUE_ARRAY_ST:
      check_length(length);
      return new container_queue<no_lock>(length);
    case LCT_QUEUE_ARRAY_MUTEX:
      check_length(length);
      return new container_queue<std::mutex>(length);
    case LCT_QUEUE_STD:
      return new container_queue<no_lock>(unbounded);
    case LCT_QUEUE_STD_MUTEX:
      return new container_queue<std::mutex>(unbounded);
    case LCT_QUEUE_MS:
    case LCT_QUEUE_LCRQ:
    case LCT_QUEUE_LPRQ:
    case LCT_QUEUE_FAAARRAY:
    case LCT_QUEUE_LAZY_INDEX:
      return new unbounded_queue;
  }
  LCT_Assert(LCT_log_ctx_default, false, "the queue type %d is unknown\n", static_cast<int>(type));
  return nullptr;
}

void LCT_queue_free(LCT_queue_t* queue_p) {
  if (queue_p == nullptr || *queue_p == nullptr) {
    LCT_Warn(LCT_log_ctx_default, "the queue to be freed is null\n");
    return;
  }
  delete *queue_p;
  *queue_p = nullptr;
}

void LCT_queue_push(LCT_queue_t queue, void* val) {
  LCT_Assert(LCT_log_ctx_default, queue != nullptr, "the queue is null\n");
  LCT_Assert(LCT_log_ctx_default, val != nullptr,
             "val is null, which a pop could not distinguish from an empty queue\n");
  const bool pushed = queue->push(val);
  LCT_Assert(LCT_log_ctx_default, pushed,
             "the queue is full; give LCT_queue_alloc a greater length, or pop in time\n");
}

void* LCT_queue_pop(LCT_queue_t queue) {
  LCT_Assert(LCT_log_ctx_default, queue != nullptr, "the queue is null\n");
  return queue->pop();
}
