// Lists of entries that wait in a matching_table or a matching_queue.
#ifndef LCI_DS_MATCHING_LINKS_H_
#define LCI_DS_MATCHING_LINKS_H_

#include "lci/ds/object_pool.h"

namespace lci::ds {

// An entry of a list. A list is identified by its first entry.
struct matching_link {
  matching_link* next;
  matching_link* last;  // last entry of the list; valid only in the first entry
};

// Policies that chain the values of a matching_table into lists. make(make_value) returns a link
// that represents the result of make_value(). If make_value() throws, make() throws the same and
// has changed nothing. value_of(link) returns the value, and recycle(link) releases the link.

// For any values: links of a pool represent them, except for those in line.
template <class Atomics>
class pooled_links {
 public:
  static constexpr bool in_values = false;

  template <class MakeValue>
  matching_link* make(const MakeValue& make_value) {
    node* const made = nodes_.make();
    try {
      made->value = make_value();
    } catch (...) {
      nodes_.recycle(made);
      throw;
    }
    return made;
  }
  static void* value_of(matching_link* link) { return static_cast<node*>(link)->value; }
  void recycle(matching_link* link) { nodes_.recycle(static_cast<node*>(link)); }

 private:
  struct node : matching_link {
    void* value;
  };
  object_pool<node, Atomics> nodes_;
};

// For values of type matching_link*, of objects that have it as a base; the table owns the links
// while the objects wait. Nothing is allocated, and an item in line holds a list.
class own_links {
 public:
  static constexpr bool in_values = true;

  template <class MakeValue>
  static matching_link* make(const MakeValue& make_value) {
    return static_cast<matching_link*>(make_value());
  }
  static void* value_of(matching_link* link) { return link; }
  static void recycle(matching_link*) {}
};

// Lists: *list is the first entry, or null. Thread safety: that of a plain value.

inline void append_link(matching_link** list, matching_link* added) {
  matching_link* const first = *list;
  added->next = nullptr;
  if (first == nullptr) {
    added->last = added;
    *list = added;
  } else {
    first->last->next = added;
    first->last = added;
  }
}

// Removes and returns the first entry for which same(link) is true; null if there is none.
template <class Same>
matching_link* take_link(matching_link** list, const Same& same) {
  matching_link* const first = *list;
  matching_link* before = nullptr;
  for (matching_link* l = first; l != nullptr; before = l, l = l->next) {
    if (!same(l)) continue;
    if (before != nullptr) {
      before->next = l->next;
      if (first->last == l) first->last = before;
    } else {
      *list = l->next;
      if (l->next != nullptr) l->next->last = l->last;
    }
    return l;
  }
  return nullptr;
}

// Removes the entries for which drop(link) is true, and then calls recycle(link) for each of them.
template <class Drop, class Recycle>
void filter_links(matching_link** list, const Drop& drop, const Recycle& recycle) {
  matching_link* next = *list;
  *list = nullptr;
  while (next != nullptr) {
    matching_link* const l = next;
    next = l->next;
    if (drop(l)) {
      recycle(l);
    } else {
      append_link(list, l);
    }
  }
}

}  // namespace lci::ds

#endif  // LCI_DS_MATCHING_LINKS_H_
