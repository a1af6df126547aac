#ifndef LCI_NET_MPSC_FREE_LIST_H_
#define LCI_NET_MPSC_FREE_LIST_H_

#include <atomic>

namespace lci::net {

// Packets (with a member `Packet* next`) that nobody reads any more. Any thread puts them in; one
// at a time takes all of them.
//   R: a release in put, so that A: an acquire in take_all sees every use of a packet that ended
//   before it was put.
template <class Packet>
class mpsc_free_list {
 public:
  void put(Packet& finished) {
    Packet* head = head_.load(std::memory_order_relaxed);
    do {
      finished.next = head;
    } while (!head_.compare_exchange_weak(head, &finished, std::memory_order_release,  // R
                                          std::memory_order_relaxed));
  }
  bool empty() const { return head_.load(std::memory_order_relaxed) == nullptr; }
  // Takes all packets, and calls f(packet) for each, which may use its `next`.
  template <class F>
  void take_all(const F& f) {
    for (Packet* each = head_.exchange(nullptr, std::memory_order_acquire);
         each != nullptr;) {  // A
      Packet* const next = each->next;
      f(*each);
      each = next;
    }
  }

 private:
  std::atomic<Packet*> head_{nullptr};
};

}  // namespace lci::net

#endif  // LCI_NET_MPSC_FREE_LIST_H_
