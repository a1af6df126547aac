#ifndef LCI_BOOT_BOOTSTRAP_H_
#define LCI_BOOT_BOOTSTRAP_H_

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"

namespace lci::boot {

// Where this process stands in its job.
struct job_position {
  int rank = 0;        // 0 .. size-1
  int size = 1;        // number of ranks in the job
  int local_rank = 0;  // 0 .. local_size-1, counted among the ranks of the same node
  int local_size = 1;  // number of ranks on this node; 0 before it is known, never in a bootstrap
};

// How ranks find each other before there is a network: a shared store of byte strings with two
// collectives on top. It is the slow path by design: nothing here is called per message.
//
// Keys are non-empty, at most `max_key_size` bytes; values are arbitrary bytes (embedded zeros
// included), at most `max_value_size`. A key is written once: a second put of the same key by any
// rank is an AlreadyExists error and leaves the first value in place.
//
// Collectives are named; barriers and allgathers have names of their own. Every rank calls them
// with the same name; a name is used once in a job's life, and a second use is an AlreadyExists
// error. A rank whose call timed out has entered all the same. Two threads of a rank may be inside
// two collectives (or gets) at the same time, in any order relative to the other ranks: a thread
// that waits never keeps another thread of this rank from completing.
//
// Every waiting call takes a timeout. When it expires the call returns DeadlineExceeded, its
// message naming the ranks that did not arrive (collectives) or the key that did not appear (get).
// When a rank called abort(), every waiting and later call of all ranks returns Aborted with that
// rank and its reason. When the connection to the job is lost, Unavailable; also from a collective
// that a rank has not entered which has left the job or died, naming it.
//
// The job begins when all ranks have a bootstrap: they are made by waiting for each other. A rank
// leaves by destroying its own; what it has put, and the collectives it has entered, stay. When all
// have left, a new job (with another job_id) may begin with the same variables; a process that is
// early for it waits for those that are late in the old one.
//
// A child that is forked off must not use its parent's bootstrap; destroying it there does nothing.
//
// Thread safety: every member may be called by any thread at any time, the destructor excepted.
class bootstrap {
 public:
  using duration = std::chrono::milliseconds;
  static constexpr size_t max_key_size = 256;
  static constexpr size_t max_value_size = size_t{1} << 20;

  virtual ~bootstrap() = default;
  bootstrap(const bootstrap&) = delete;
  bootstrap& operator=(const bootstrap&) = delete;

  const job_position& position() const { return position_; }
  int rank() const { return position_.rank; }
  int size() const { return position_.size; }

  // "local", "file" or "tcp": for logs and lci_info.
  virtual std::string_view name() const = 0;

  // A short string that is equal in all ranks of this job and differs from every other job that
  // runs or ran on these hosts. Names of shared segments are made from it. [A-Za-z0-9_-], at most
  // 32 characters. Begins with the first 14 characters of LCI_JOB_ID, if that is set.
  virtual std::string_view job_id() const = 0;

  // Default for the timeouts below: LCI_BOOT_TIMEOUT (seconds; 60 if unset).
  duration default_timeout() const { return default_timeout_; }

  virtual base::Status put(std::string_view key, std::string_view value) = 0;
  // Waits until `key` is there. A timeout of zero asks without waiting.
  virtual base::StatusOr<std::string> get(std::string_view key, duration timeout) = 0;

  // Waits until `key` is there, the descriptor `wake` is readable, or the timeout has passed; in
  // the last two cases DeadlineExceeded. For one thread that waits for as long as the job lasts,
  // and has other things to do in between: as long as it asks for the same key, asking again costs
  // nothing but the wait. (This implementation asks twice per second.)
  virtual base::StatusOr<std::string> watch(std::string_view key, int wake, duration timeout);

  // Returns when all ranks have entered the barrier of this name.
  virtual base::Status barrier(std::string_view name, duration timeout) = 0;
  // Element r of the result is what rank r passed.
  virtual base::StatusOr<std::vector<std::string>> allgather(std::string_view name,
                                                             std::string_view value,
                                                             duration timeout) = 0;

  // Tells all ranks (and the launcher, where there is one) that this job has failed. Does not
  // end the process. Only the first abort of a job is kept.
  virtual void abort(std::string_view reason) = 0;

 protected:
  bootstrap(job_position position, duration default_timeout)
      : position_(position), default_timeout_(default_timeout) {}

  job_position position_;
  duration default_timeout_;
};

// Sleeps until the descriptor is readable, at most for `timeout`. Returns whether it is.
bool sleep_until_readable(int descriptor, bootstrap::duration timeout);

// Chooses and connects the bootstrap from the environment (see README, "How a process finds its
// job"): LCI_BOOT = auto | local | file | tcp, then the variables of lcrun, then those of the other
// launchers that we know. Never returns rank 0 of 1 when a launcher said otherwise.
//
// Waits for all ranks, at most LCI_BOOT_TIMEOUT. Errors: InvalidArgument for variables that are bad
// or contradict each other, with what to set; DeadlineExceeded naming the ranks that did not come;
// PermissionDenied, AlreadyExists, Unavailable and Aborted as file.h and tcp_client.h say.
base::StatusOr<std::unique_ptr<bootstrap>> make_bootstrap();

}  // namespace lci::boot

#endif  // LCI_BOOT_BOOTSTRAP_H_
