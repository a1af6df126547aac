#ifndef LCI_RUNTIME_CORE_ROSTER_H_
#define LCI_RUNTIME_CORE_ROSTER_H_

#include <algorithm>
#include <mutex>
#include <vector>

namespace lci::rt {

// The living objects of one kind of a runtime, in the order of construction.
//
// Thread safety: every member by any thread at any time; all take the same lock.
template <class T>
class roster {
 public:
  // The last step of the object's construction.
  void add(T* listed) {
    const std::lock_guard<std::mutex> guard(mutex_);
    all_.push_back(listed);
  }
  // The first step of its destruction. Calls at_end() at the moment when the object is no longer
  // listed.
  template <class AtEnd>
  void remove(T* listed, const AtEnd& at_end) {
    const std::lock_guard<std::mutex> guard(mutex_);
    all_.erase(std::find(all_.begin(), all_.end(), listed));
    at_end();
  }
  // Calls body(objects) while no object ends. The body does not construct or destroy any.
  template <class Body>
  void with_all(const Body& body) {
    const std::lock_guard<std::mutex> guard(mutex_);
    body(all_);
  }

 private:
  std::mutex mutex_;
  std::vector<T*> all_;  // guarded by mutex_
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_ROSTER_H_
