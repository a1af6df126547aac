#include "lci/coll/signature.h"

#include "lci/base/strings.h"

namespace lci::coll {

const char* name_of(operation_kind kind) {
  switch (kind) {
    case operation_kind::none:
      break;
    case operation_kind::barrier:
      return "barrier";
    case operation_kind::broadcast:
      return "broadcast";
    case operation_kind::reduce:
      return "reduce";
    case operation_kind::reduce_scatter:
      return "reduce_scatter";
    case operation_kind::allreduce:
      return "allreduce";
    case operation_kind::allgather:
      return "allgather";
    case operation_kind::alltoall:
      return "alltoall";
    case operation_kind::finalization:
      return "free_runtime";
  }
  return "nothing";
}

std::string to_text(const signature& described) {
  std::string text = name_of(described.kind);
  switch (described.kind) {
    case operation_kind::none:
    case operation_kind::barrier:
    case operation_kind::finalization:
      return text;
    default:
      break;
  }
  base::StrAppend(&text, " of ", described.size, " bytes");
  if (described.item_size != 0) {
    base::StrAppend(&text, " in items of ", described.item_size, " bytes");
  }
  if (described.root >= 0) {
    base::StrAppend(&text, described.kind == operation_kind::reduce ? " to" : " from", " rank ",
                    described.root);
  }
  return text;
}

}  // namespace lci::coll
