#ifndef LCI_DS_PER_THREAD_H_
#define LCI_DS_PER_THREAD_H_

#include <cstddef>
#include <memory>

#include "lci/ds/atomics.h"
#include "lci/ds/mpmc_array.h"

namespace lci::ds {

// A place for each thread that ever used an object: as many places as threads ever lived at one
// time (see base::thread_number). A place remains when its thread ends, and a later thread takes it
// over with its contents; places are destroyed with the object.
//
// Thread safety: every member by any thread at any time. Wait-free, except for the first call of
// mine() with a thread number, which makes the place.
template <class Place, class Atomics = std_atomics>
class per_thread {
 public:
  per_thread() = default;
  per_thread(const per_thread&) = delete;
  per_thread& operator=(const per_thread&) = delete;
  ~per_thread() {
    for (size_t number = 0; number < size(); ++number) delete find(number);
  }

  // Returns the calling thread's place. make() returns a std::unique_ptr<Place>. The first call may
  // throw std::bad_alloc, or what make() throws.
  template <class Make>
  Place& mine(const Make& make) {
    const size_t number = Atomics::thread_number();
    Place* const place = places_.get(number);
    return __builtin_expect(place != nullptr, 1) ? *place : add(number, make);
  }

  // Null if no thread with that number has used the object.
  Place* find(size_t number) const { return places_.get(number); }

  // One more than the greatest number that may have a place.
  size_t size() const { return size_.load(std::memory_order_acquire); }

 private:
  template <class Make>
  __attribute__((noinline)) Place& add(size_t number, const Make& make) {
    std::unique_ptr<Place> made = make(number);
    places_.set(number, made.get());
    size_t size = size_.load(std::memory_order_relaxed);
    while (size <= number && !size_.compare_exchange_weak(size, number + 1)) {
    }
    return *made.release();
  }

  mpmc_array<Place*, Atomics> places_;
  typename Atomics::template atomic<size_t> size_{0};
};

}  // namespace lci::ds

#endif  // LCI_DS_PER_THREAD_H_
