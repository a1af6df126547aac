#ifndef LCI_BOOT_BOOTSTRAP_H_
#define LCI_BOOT_BOOTSTRAP_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"

namespace lci::boot {

// Position of this process in its job.
struct job_position {
  int rank = 0;        // 0 .. size-1
  int size = 1;        // number of ranks in the job
  int local_rank = 0;  // 0 .. local_size-1, counted among the ranks of the same node
  int local_size = 1;  // number of ranks on this node; 0 before it is known, never in a bootstrap
};

// Lets ranks find each other before a network exists: a shared store of byte strings with two
// collectives on top. Nothing here is called per message, so that clarity comes before speed.
// Keys are non-empty, at most `max_key_size` bytes; values are arbitrary bytes (embedded zeros
// included), at most `max_value_size`. A key is written once: a second put of the same key by any
// rank is an AlreadyExists error and leaves the first value in place.
//
// Collectives are named. Barriers and allgathers have separate name spaces. Every rank calls a
// collective with the same name. A name can be used once in the life of a job; a second use is an
// AlreadyExists error. A rank whose call timed out has entered nevertheless. Two threads of a rank
// may be in two collectives (or gets) concurrently, in any order relative to the other ranks: a
// waiting thread never prevents another thread of its rank from completing.
//
// Every waiting call takes a timeout. When the timeout expires, the call returns DeadlineExceeded,
// and its message names the ranks that did not arrive (collectives) or the key that did not appear
// (get). After a rank calls abort(), every waiting and every later call of all ranks returns
// Aborted with that rank and its reason. A call returns Unavailable when the connection to the job
// is lost. A collective also returns Unavailable, naming the rank, when a rank that has not entered
// it has left the job or died.
//
// The job begins when all ranks have a bootstrap: construction waits for the other ranks. A rank
// leaves by destroying its bootstrap. The values that it put and the collectives that it entered
// remain. After all ranks have left, a new job (with another job_id) may begin with the same
// variables. A process that starts early for the new job waits for the ranks of the old job to
// leave.
//
// A forked child must not use its parent's bootstrap; destroying it in the child has no effect.
//
// Thread safety: any thread may call any member at any time, except the destructor.
class bootstrap {
 public:
  using duration = std::chrono::milliseconds;
  static constexpr size_t max_key_size = 256;
  static constexpr size_t max_value_size = size_t{1} << 20;
  // Where first_lost() is kept, in decimal digits.
  static constexpr std::string_view lost_key = "lost rank";

  virtual ~bootstrap() = default;
  bootstrap(const bootstrap&) = delete;
  bootstrap& operator=(const bootstrap&) = delete;

  const job_position& position() const { return position_; }
  int rank() const { return position_.rank; }
  int size() const { return position_.size; }

  // "local", "file" or "tcp": for logs and lci_info.
  virtual std::string_view name() const = 0;

  // A short string that is equal in all ranks of this job and differs from every other job that
  // runs or ran on these hosts. Used in the names of shared segments. [A-Za-z0-9_-], at most 32
  // characters. Begins with the first 14 characters of LCI_JOB_ID, if that is set.
  virtual std::string_view job_id() const = 0;

  // Default for the timeouts below: LCI_BOOT_TIMEOUT (seconds; 60 if unset).
  duration default_timeout() const { return default_timeout_; }

  virtual base::Status put(std::string_view key, std::string_view value) = 0;
  // Waits until `key` exists. A timeout of zero looks once without waiting.
  virtual base::StatusOr<std::string> get(std::string_view key, duration timeout) = 0;

  // Waits until `key` is there, the descriptor `wake` is readable, or the timeout has passed; in
  // the last two cases DeadlineExceeded. For one thread that waits for as long as the job lasts,
  // and has other things to do in between: as long as it asks for the same key, asking again costs
  // nothing but the wait. (This implementation asks twice per second.)
  virtual base::StatusOr<std::string> watch(std::string_view key, int wake, duration timeout);

  // Returns when all ranks have entered the barrier of this name.
  base::Status barrier(std::string_view name, duration timeout) {
    return meet("barrier", name, "", timeout).status();
  }
  // Element r of the result is the value that rank r passed.
  base::StatusOr<std::vector<std::string>> allgather(std::string_view name, std::string_view value,
                                                     duration timeout) {
    return meet("allgather", name, value, timeout);
  }
  // Both collectives: `what` is "barrier" (which has no value, and whose result is not used) or
  // "allgather".
  virtual base::StatusOr<std::vector<std::string>> meet(std::string_view what,
                                                        std::string_view name,
                                                        std::string_view value,
                                                        duration timeout) = 0;

  // The first rank that the job has lost, as far as it is known: it died or left, and another rank
  // waited for it or found out by itself (report_lost). The answer is the same on all ranks and
  // never changes, so that the ranks which end because of it are not blamed. Looks once, without
  // waiting for ranks; for error paths. Where a server has to be asked that is stopped or busy,
  // this call and report_lost wait for it for a second at most, and return nullopt or nothing then.
  virtual std::optional<int> first_lost();
  // Tells the job that `rank` is lost. Only the first report counts.
  virtual void report_lost(int rank);

  // Notifies all ranks (and the launcher, if there is one) that this job has failed. Does not end
  // the process. Only the first abort of a job counts.
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
// job"): first LCI_BOOT = auto | local | file | tcp, then the variables of lcrun, then those of the
// other known launchers. Never returns rank 0 of 1 if a launcher specified otherwise. Opens closed
// standard streams (base::open_standard_streams) before any connection could get their numbers.
//
// Waits for all ranks, at most LCI_BOOT_TIMEOUT. Errors: InvalidArgument for invalid or
// contradictory variables, with what to set; DeadlineExceeded with the ranks that did not arrive;
// PermissionDenied, AlreadyExists, Unavailable and Aborted as documented in file.h and
// tcp_client.h.
base::StatusOr<std::unique_ptr<bootstrap>> make_bootstrap();

}  // namespace lci::boot

#endif  // LCI_BOOT_BOOTSTRAP_H_
