// Objects behind handles that the program copies as it likes. Whether an object may be used can be
// asked for some time after it has been freed, so that the use of a freed handle is an exception,
// and so is the use of the parent's objects in a child of fork().
#ifndef LCI_RUNTIME_CORE_LIVE_H_
#define LCI_RUNTIME_CORE_LIVE_H_

#include <cstddef>
#include <cstdint>
#include <new>

namespace lci::rt {

// Keeps the memory of a freed object until a thousand more have been freed. Nothing but this memory
// is used any more. `alignment` 0: the default. Any thread.
void quarantine(void* memory, size_t alignment);

// First base of what stands behind a handle. A check costs a load and a comparison.
//
// fork() gives the child copies of these objects, but the connections, queues and shared memory
// behind them belong to the parent: a child that polled would take the messages of its parent. In
// the child, a handler of pthread_atfork therefore marks every object of the parent as inherited,
// and no object is live. So the check costs nothing more than before.
//
// Thread safety: construction and destruction by any thread at any time; they take a lock that the
// whole process shares, so objects of this class are not made per message.
class live_object {
 public:
  live_object(const live_object&) = delete;
  live_object& operator=(const live_object&) = delete;

  // Neither freed nor inherited, nor watched.
  bool is_live() const { return mark_ == live; }
  // Live, and watched: the short ways of operations, which know only live objects, leave such an
  // object to the long ones. So watching costs nothing where it is off.
  bool is_watched() const { return mark_ == watched; }
  void watch() { mark_ = watched; }

  // Throws std::logic_error, naming `what`, fork and both process ids, if the object belongs to the
  // process that this one was forked from. For the error paths of checks with is_live().
  void check_process(const char* what) const {
    if (mark_ == inherited) refuse_inherited(what);
  }

  // Not inlined: the compiler warns where it sees only one of new and delete.
  static void* operator new(size_t size);
  static void* operator new(size_t size, std::align_val_t alignment);
  // Without the size: only so do they serve a constructor that throws, too.
  static void operator delete(void* memory) { end(memory, 0); }
  static void operator delete(void* memory, std::align_val_t alignment) {
    end(memory, static_cast<size_t>(alignment));
  }

 protected:
  live_object();
  ~live_object();

 private:
  friend class live_list;

  static constexpr uint64_t live = 0x4c4349206c697665;       // "LCI live"
  static constexpr uint64_t watched = 0x4c43492073656521;    // "LCI see!"
  static constexpr uint64_t inherited = 0x4c434920666f726b;  // "LCI fork"

  [[noreturn]] static void refuse_inherited(const char* what);

  static void end(void* memory, size_t alignment) {
    // The object is over, and the compiler knows it: only a volatile write is certain to happen.
    *static_cast<volatile uint64_t*>(memory) = 0;
    quarantine(memory, alignment);
  }

  uint64_t mark_ = live;
  // Of the list of all objects of the process; guarded by its lock.
  live_object* previous_ = nullptr;
  live_object* next_ = nullptr;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_LIVE_H_
