#ifndef LCI_RUNTIME_COLLECTIVE_AGREEMENT_H_
#define LCI_RUNTIME_COLLECTIVE_AGREEMENT_H_

#include "lci/api/types.hpp"
#include "lci/coll/signature.h"

namespace lci::rt {

class collective_call;

// With LCI_CHECK=1: sends a description of this rank's call to the next rank, and compares it with
// the description from the previous rank. All ranks call the same if each calls what the previous
// one does. Does not wait: the messages travel while the operation, which has begun, is carried
// out, and a difference is reported to the checker when the message has arrived. `op`: null for an
// operation that combines nothing.
//
// Operators are compared by their place in the program, where both ranks run a program of the same
// name. Ranks of one host that use shared memory learn of other differences from coll::arena, also
// without LCI_CHECK.
void check_neighbor(const collective_call& call, const coll::signature& called, reduce_op_t op);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COLLECTIVE_AGREEMENT_H_
