#include "lci/runtime/check/posted_operation.h"

#include "lci/base/strings.h"

namespace lci::rt {

std::string describe(const posted_operation& operation) {
  using kind = posted_operation::kind;
  const auto of = [&operation](const char* what) {
    return base::StrCat(what, " of ", operation.size, operation.size == 1 ? " byte" : " bytes");
  };
  const auto tag = [&operation] {
    return operation.tag == ANY_TAG ? std::string("any tag") : base::StrCat("tag ", operation.tag);
  };
  switch (operation.what) {
    case kind::send:
      return base::StrCat(of("a send"), " to rank ", operation.rank, " with ", tag());
    case kind::am:
      return base::StrCat(of("an active message"), " to rank ", operation.rank, " with ", tag(),
                          " for remote completion ", operation.rcomp);
    case kind::receive:
      return base::StrCat(
          of("a receive"), " from ",
          operation.rank < 0 ? std::string("any rank") : base::StrCat("rank ", operation.rank),
          " with ", tag());
    case kind::put:
      return base::StrCat(of("a put"), " to byte ", operation.remote_offset, " of memory of rank ",
                          operation.rank);
    case kind::get:
      return base::StrCat(of("a get"), " from byte ", operation.remote_offset,
                          " of memory of rank ", operation.rank);
    case kind::collective:
      return base::StrCat("the collective operation ", operation.call);
  }
  return "an operation";
}

}  // namespace lci::rt
