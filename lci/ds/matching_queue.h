#ifndef LCI_DS_MATCHING_QUEUE_H_
#define LCI_DS_MATCHING_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "lci/ds/atomics.h"
#include "lci/ds/matching_links.h"
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
    const entry_type other = type == entry_type::send ? entry_type::recv : entry_type::send;
    matching_link* const found = take_link(list(other), [&](matching_link* l) {
      return node_of(l).key == key && same(node_of(l).value);
    });
    if (found != nullptr) {
      void* const value = node_of(found).value;
      nodes_.recycle(&node_of(found));
      return value;
    }
    node* const added = nodes_.make();
    try {
      added->value = make();
    } catch (...) {
      nodes_.recycle(added);
      throw;
    }
    added->key = key;
    append_link(list(type), added);
    return nullptr;
  }

  // As in matching_table, but in the order of insertion: first the sends, then the receives.
  template <class Take>
  void remove_if(const Take& take) {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    for (const entry_type type : {entry_type::send, entry_type::recv}) {
      filter_links(
          list(type), [&](matching_link* l) { return take(node_of(l).value, type); },
          [this](matching_link* l) { nodes_.recycle(&node_of(l)); });
    }
  }
  template <class Use>
  void for_each(const Use& use) {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    for (const entry_type type : {entry_type::send, entry_type::recv}) {
      for (matching_link* l = *list(type); l != nullptr; l = l->next) {
        use(node_of(l).key, node_of(l).value, type);
      }
    }
  }

 private:
  struct node : matching_link {
    uint64_t key;
    void* value;
  };
  static node& node_of(matching_link* link) { return *static_cast<node*>(link); }

  matching_link** list(entry_type type) { return &lists_[static_cast<size_t>(type)]; }

  basic_spinlock<Atomics> lock_;
  matching_link* lists_[2] = {};      // by type; guarded by lock_
  object_pool<node, Atomics> nodes_;  // of both lists
};

using matching_queue = basic_matching_queue<std_atomics>;

}  // namespace lci::ds

#endif  // LCI_DS_MATCHING_QUEUE_H_
