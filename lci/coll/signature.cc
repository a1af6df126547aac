#include "lci/coll/signature.h"

#include <string>
#include <vector>

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
    case operation_kind::gather:
      return "gather";
    case operation_kind::scatter:
      return "scatter";
    case operation_kind::scan:
      return "scan";
    case operation_kind::exscan:
      return "exscan";
    case operation_kind::reduce_scatterv:
      return "reduce_scatterv";
    case operation_kind::allgatherv:
      return "allgatherv";
    case operation_kind::alltoallv:
      return "alltoallv";
    case operation_kind::alloc_group:
      return "alloc_group or split_group";
    case operation_kind::free_group:
      return "free_group";
  }
  return "nothing";
}

const char* name_in_group(operation_kind kind) {
  constexpr size_t kinds = static_cast<size_t>(operation_kind::free_group) + 1;
  static const std::vector<std::string>* const names = [] {
    auto* const made = new std::vector<std::string>();
    for (size_t i = 0; i < kinds; ++i) {
      made->push_back(base::StrCat(name_of(static_cast<operation_kind>(i)), " of a group"));
    }
    return made;
  }();
  return (*names)[static_cast<size_t>(kind)].c_str();
}

std::string to_text(const signature& described) {
  std::string text = name_of(described.kind);
  switch (described.kind) {
    case operation_kind::none:
    case operation_kind::barrier:
    case operation_kind::finalization:
    case operation_kind::alltoallv:
    case operation_kind::alloc_group:
    case operation_kind::free_group:
      return text;
    default:
      break;
  }
  base::StrAppend(&text, " of ", described.size, " bytes");
  if (described.item_size != 0) {
    base::StrAppend(&text, " in items of ", described.item_size, " bytes");
  }
  if (described.root >= 0) {
    const bool is_to =
        described.kind == operation_kind::reduce || described.kind == operation_kind::gather;
    base::StrAppend(&text, is_to ? " to" : " from", " rank ", described.root);
  }
  if (described.layout != 0) {
    base::StrAppend(&text, " in all (hash of the ranks' sizes: ", described.layout, ")");
  }
  return text;
}

}  // namespace lci::coll
