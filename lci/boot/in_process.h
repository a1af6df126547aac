#ifndef LCI_BOOT_IN_PROCESS_H_
#define LCI_BOOT_IN_PROCESS_H_

#include <memory>
#include <vector>

#include "lci/boot/bootstrap.h"

namespace lci::boot {

// The bootstraps of a job whose ranks are threads of this process: element r is rank r's. With one
// rank, that of a program that no launcher has started; with more, for tests, and for programs that
// run many ranks over a simulated network. Needs no environment, no file and no network.
std::vector<std::unique_ptr<bootstrap>> make_in_process_job(int size,
                                                            bootstrap::duration default_timeout);

}  // namespace lci::boot

#endif  // LCI_BOOT_IN_PROCESS_H_
