#include "lci/boot/file_view.h"

#include <chrono>
#include <utility>

#include "lci/boot/file_log.h"
#include "lci/boot/file_state.h"
#include "lci/boot/job_directory.h"
#include "lci/io/deadline.h"

namespace lci::boot {

std::vector<rank_state> look_at_file_job(const std::string& root) {
  std::vector<rank_state> states;
  base::StatusOr<file_log> round = job_directory::open_latest_round(root);
  if (!round.ok()) return states;
  const base::StatusOr<file_lock> lock = file_lock::take(
      round->fd(), /*exclusive=*/false, io::deadline_after(std::chrono::milliseconds(1000)));
  file_state state(round->job_size());
  if (!lock.ok() || !state.read(&*round).ok()) return states;
  for (const file_state::member& m : state.members()) {
    if (!m.joined) {
      states.push_back(rank_state::absent);
    } else if (m.left) {
      states.push_back(rank_state::finished);
    } else {
      states.push_back(state.has_died(m) ? rank_state::lost : rank_state::connected);
    }
  }
  return states;
}

}  // namespace lci::boot
