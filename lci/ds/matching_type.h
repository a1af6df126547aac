#ifndef LCI_DS_MATCHING_TYPE_H_
#define LCI_DS_MATCHING_TYPE_H_

#include <cstdint>

namespace lci::ds {

// The two kinds of entries that a matching_table or a matching_queue pairs.
enum class matching_type : uint32_t { send, recv };

}  // namespace lci::ds

#endif  // LCI_DS_MATCHING_TYPE_H_
