#ifndef LCI_BOOT_IN_PROCESS_H_
#define LCI_BOOT_IN_PROCESS_H_

#include <memory>
#include <vector>

#include "lci/boot/bootstrap.h"

namespace lci::boot {

// Creates the bootstraps of a job whose ranks are threads of this process: element r belongs to
// rank r. With one rank, this is the bootstrap of a program without a launcher; with several, it
// serves tests, and programs that run many ranks over a simulated network. Needs no environment,
// file or network.
std::vector<std::unique_ptr<bootstrap>> make_in_process_job(int size,
                                                            bootstrap::duration default_timeout);

}  // namespace lci::boot

#endif  // LCI_BOOT_IN_PROCESS_H_
