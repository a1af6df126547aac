#include "lci/coll/signature.h"

#include <string>
#include <vector>

#include "lci/base/strings.h"

namespace lci::coll {

const char* name_in_group(operation_kind kind) {
  static const std::vector<std::string>* const names = [] {
    auto* const made = new std::vector<std::string>();
    for (const char* each : operation_names) {
      made->push_back(base::StrCat(each, " of a group"));
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
