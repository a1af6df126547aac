#ifndef LCI_DS_MATCHING_QUEUE_H_
#define LCI_DS_MATCHING_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "lci/ds/atomics.h"
#include "lci/ds/matching_type.h"
#include "lci/ds/object_pool.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// Has the promises and the interface of matching_table, implemented as two ordered lists, of sends
// and of receives, with a linear search under one lock. For few entries, or for keys that a hash
// table would not spread.
//
// Thread safety: every member by any thread at any time, except construction and destruction. They
// block only for each other. Nothing is allocated unless more entries wait than ever before.
//
// Invariants, under lock_
//   1. Each list is in the order of insertion.
//   2. No entry of one list would match one of the other.
template <class Atomics>
class basic_matching_queue {
 public:
  using entry_type = matching_type;

  basic_matching_queue() = default;
  basic_matching_queue(const basic_matching_queue&) = delete;
  basic_matching_queue& operator=(const basic_matching_queue&) = delete;

  // As in matching_table.
  void* insert(uint64_t key, void* value, entry_type type) {
    return insert(
        key, type, [](const void*) { return true; }, [value] { return value; });
  }
  template <class Same, class Make>
  void* insert(uint64_t key, entry_type type, const Same& same, const Make& make) {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    list& others = type == entry_type::send ? receives_ : sends_;
    node* before = nullptr;
    for (node* n = others.first; n != nullptr; before = n, n = n->next) {
      if (n->key != key || !same(n->value)) continue;
      void* found = n->value;
      remove(&others, before, n);
      return found;
    }
    node* added = nodes_.make();
    try {
      added->value = make();
    } catch (...) {
      nodes_.recycle(added);
      throw;
    }
    added->key = key;
    added->next = nullptr;
    list& own = type == entry_type::send ? sends_ : receives_;
    (own.last == nullptr ? own.first : own.last->next) = added;
    own.last = added;
    return nullptr;
  }

  // As in matching_table, but in the order of insertion: first the sends, then the receives.
  template <class Take>
  void remove_if(const Take& take) {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    remove_if(&sends_, entry_type::send, take);
    remove_if(&receives_, entry_type::recv, take);
  }
  template <class Use>
  void for_each(const Use& use) {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    for (node* n = sends_.first; n != nullptr; n = n->next) use(n->key, n->value, entry_type::send);
    for (node* n = receives_.first; n != nullptr; n = n->next) {
      use(n->key, n->value, entry_type::recv);
    }
  }

 private:
  struct node {
    uint64_t key;
    void* value;
    node* next;
  };
  struct list {
    node* first = nullptr;
    node* last = nullptr;
  };

  // `before` is the node before it, or null.
  void remove(list* from, node* before, node* removed) {
    (before == nullptr ? from->first : before->next) = removed->next;
    if (from->last == removed) from->last = before;
    nodes_.recycle(removed);
  }

  template <class Take>
  void remove_if(list* from, entry_type type, const Take& take) {
    node* before = nullptr;
    for (node* n = from->first; n != nullptr;) {
      node* const next = n->next;
      if (take(n->value, type)) {
        remove(from, before, n);
      } else {
        before = n;
      }
      n = next;
    }
  }

  basic_spinlock<Atomics> lock_;
  list sends_;                        // guarded by lock_
  list receives_;                     // guarded by lock_
  object_pool<node, Atomics> nodes_;  // of both lists
};

using matching_queue = basic_matching_queue<std_atomics>;

}  // namespace lci::ds

#endif  // LCI_DS_MATCHING_QUEUE_H_
