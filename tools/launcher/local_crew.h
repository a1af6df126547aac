#ifndef LCI_TOOLS_LAUNCHER_LOCAL_CREW_H_
#define LCI_TOOLS_LAUNCHER_LOCAL_CREW_H_

#include <memory>
#include <string>

#include "tools/launcher/crew.h"
#include "tools/launcher/event_loop.h"
#include "tools/launcher/plan.h"

namespace lci::launcher {

struct local_crew_options {
  // Where the ranks write: straight to our own output, through us, or to files.
  enum class capture { none, pipes, files } output = capture::none;
  std::string output_dir;       // with files
  std::string boot_dir;         // made for the job, and removed with it; empty: none
  int stdin_fd = -1;            // what the stdin rank reads; -1: our own standard input
  bool other_children = false;  // this process has others than the ranks, and reaps them itself
  bool verbose = false;
};

// The ranks that are processes of this one. Who makes it has SIGCHLD blocked and tells it of ended
// children.
std::unique_ptr<crew> make_local_crew(event_loop* loop, crew::events* to, share what,
                                      const local_crew_options& options);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_LOCAL_CREW_H_
