// What a launcher sees of a job whose ranks use the file bootstrap.
#ifndef LCI_BOOT_FILE_VIEW_H_
#define LCI_BOOT_FILE_VIEW_H_

#include <string>
#include <vector>

#include "lci/boot/rank_state.h"

namespace lci::boot {

// The states of the ranks of the only job in the directory `root` (LCI_BOOT_DIR), by rank, in its
// latest round. Empty if there is none: no rank has joined yet, or all have finished, or the files
// cannot be read. Waits at most a second for ranks that write.
std::vector<rank_state> look_at_file_job(const std::string& root);

}  // namespace lci::boot

#endif  // LCI_BOOT_FILE_VIEW_H_
