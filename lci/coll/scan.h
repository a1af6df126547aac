// Scan and exscan, as one rank carries them out in an arena. Arguments are those of
// lci/api/reduce.hpp, checked.
#ifndef LCI_COLL_SCAN_H_
#define LCI_COLL_SCAN_H_

#include <memory>

#include "lci/coll/operation.h"
#include "lci/coll/operations.h"

namespace lci::coll {

enum class scan_kind { inclusive, exclusive };

// Every rank offers its items, and combines those of the ranks before it. It waits for no others,
// unless they read its own memory.
class scan final : public operation {
 public:
  scan(const ticket& own, const reduction& what, scan_kind kind)
      : operation(own, arena::area_bytes), what_(what), kind_(kind) {}

 private:
  bool step() override;
  void combine_own();

  const reduction what_;
  const scan_kind kind_;
  // Of an operation in place whose operands the ranks behind this one still read; made once.
  std::unique_ptr<char[]> result_;
};

}  // namespace lci::coll

#endif  // LCI_COLL_SCAN_H_
