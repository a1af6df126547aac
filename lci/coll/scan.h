// Scan and exscan, as one rank carries them out in an arena. Arguments are those of
// lci/api/reduce.hpp, checked.
#ifndef LCI_COLL_SCAN_H_
#define LCI_COLL_SCAN_H_

#include <memory>

#include "lci/coll/operations.h"
#include "lci/coll/piped_operation.h"

namespace lci::coll {

enum class scan_kind { inclusive, exclusive };

// Every rank offers its items, and combines those of the ranks before it. It waits for no others,
// unless they read its own memory, or its pieces.
class scan final : public piped_operation {
 public:
  scan(const ticket& own, const reduction& what, scan_kind kind)
      : piped_operation(own, own.where->sizes().combined_in_area), what_(what), kind_(kind) {
    if (may_use_pieces(what.size, what.item_size)) {
      use_pieces(operation_kind::scan, what.size, pieces().count);
    }
  }

 private:
  bool step() override;
  bool step_in_pieces();
  division pieces() const { return divide(what_.size, what_.item_size); }
  // The ranks whose items are combined: those before this number.
  int ranks() const { return kind_ == scan_kind::inclusive ? rank() + 1 : rank(); }
  void combine_own();

  const reduction what_;
  const scan_kind kind_;
  // Of an operation in place whose operands the ranks behind this one still read; made once.
  std::unique_ptr<char[]> result_;
};

}  // namespace lci::coll

#endif  // LCI_COLL_SCAN_H_
