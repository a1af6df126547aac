// The verbs that the headers of libibverbs inline, which call them through the context: posts to
// queues, and completion queues.
#ifndef LCI_TESTING_FAKE_VERBS_DATA_PATH_H_
#define LCI_TESTING_FAKE_VERBS_DATA_PATH_H_

#include "lci/net/ibv/verbs.h"

namespace lci::net::ibv::fake {

// Makes these verbs those of a context.
void set_data_path(ibv_context* opened);

}  // namespace lci::net::ibv::fake

#endif  // LCI_TESTING_FAKE_VERBS_DATA_PATH_H_
