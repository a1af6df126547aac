// Objects behind handles that the program copies as it likes: whether one is still there can be
// asked for some time after it has been freed, so that the use of a freed handle is an exception.
#ifndef LCI_RUNTIME_LIVE_H_
#define LCI_RUNTIME_LIVE_H_

#include <cstddef>
#include <cstdint>
#include <new>

namespace lci::rt {

// Keeps the memory of a freed object, of which nothing else is used any more, until a thousand more
// have been freed. `alignment` 0: the default. Any thread.
void quarantine(void* memory, size_t alignment);

// First base of what stands behind a handle. Costs a load and a comparison where it is asked.
class live_object {
 public:
  bool is_live() const { return mark_ == live; }

  static void* operator new(size_t size) { return ::operator new(size); }
  static void* operator new(size_t size, std::align_val_t alignment) {
    return ::operator new(size, alignment);
  }
  // Without the size: only so do they serve a constructor that throws, too.
  static void operator delete(void* memory) { end(memory, 0); }
  static void operator delete(void* memory, std::align_val_t alignment) {
    end(memory, static_cast<size_t>(alignment));
  }

 protected:
  live_object() = default;
  ~live_object() = default;

 private:
  static constexpr uint64_t live = 0x4c4349206c697665;  // "LCI live"

  static void end(void* memory, size_t alignment) {
    // The object is over, and the compiler knows it: only a volatile write is certain to happen.
    *static_cast<volatile uint64_t*>(memory) = 0;
    quarantine(memory, alignment);
  }

  uint64_t mark_ = live;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_LIVE_H_
