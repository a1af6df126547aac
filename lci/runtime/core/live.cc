#include "lci/runtime/core/live.h"

#include <pthread.h>
#include <unistd.h>

#include <deque>
#include <mutex>

#include "lci/runtime/core/throw.h"

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

// All objects of the process.
//
// Invariant: no thread holds the lock while a child is made, so that the child finds the list whole
// and the lock free.
class live_list {
 public:
  static live_list& of_process() {
    // Never destroyed, as above.
    static live_list* const list = [] {
      auto* const made = new live_list;
      // Fails only without memory; a child is then not refused.
      ::pthread_atfork(&before_fork, &in_parent, &in_child);
      return made;
    }();
    return *list;
  }

  void add(live_object* object) {
    const std::lock_guard<std::mutex> guard(mutex_);
    object->next_ = first_;
    if (first_ != nullptr) first_->previous_ = object;
    first_ = object;
  }

  void remove(live_object* object) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (object->next_ != nullptr) object->next_->previous_ = object->previous_;
    (object->previous_ != nullptr ? object->previous_->next_ : first_) = object->next_;
  }

  // Of the process that made the objects that this one has inherited; 0: it has inherited none.
  pid_t owner() const { return owner_; }

 private:
  static void before_fork() {
    live_list& list = of_process();
    list.mutex_.lock();
    list.forking_ = ::getpid();
  }
  static void in_parent() { of_process().mutex_.unlock(); }
  // Does only what a signal handler may do, as the child of a process with several threads must.
  static void in_child() {
    live_list& list = of_process();
    for (live_object* each = list.first_; each != nullptr; each = each->next_) {
      if (!each->is_live() && !each->is_watched()) continue;  // the parent has inherited it, too
      each->mark_ = live_object::inherited;
      list.owner_ = list.forking_;
    }
    list.mutex_.unlock();
  }

  std::mutex mutex_;
  live_object* first_ = nullptr;  // guarded by mutex_
  pid_t forking_ = 0;             // guarded by mutex_
  pid_t owner_ = 0;               // written while the process has one thread
};

void* live_object::operator new(size_t size) { return ::operator new(size); }

void* live_object::operator new(size_t size, std::align_val_t alignment) {
  return ::operator new(size, alignment);
}

live_object::live_object() { live_list::of_process().add(this); }

live_object::~live_object() { live_list::of_process().remove(this); }

void live_object::refuse_inherited(const char* what) {
  throw_logic_error("process ", ::getpid(), " is a child that process ",
                    live_list::of_process().owner(), " made by fork(), and may not use the ", what,
                    " of that process, whose messages it would take. Communicate in process ",
                    live_list::of_process().owner(), ", or fork before LCI is initialized");
}

}  // namespace lci::rt
