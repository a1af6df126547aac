// How a rank finds the server of its job: where the launcher serves, or rank 0.
#ifndef LCI_BOOT_SERVER_SEARCH_H_
#define LCI_BOOT_SERVER_SEARCH_H_

#include <memory>
#include <string>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/boot/meeting_file.h"

namespace lci::boot {

// How an attempt to enter the job at a place has ended.
enum class outcome {
  entered,
  nobody_listens,
  other_protocol,   // what answers is no server of LCI, or one of another release
  other_server,     // what listens there does not answer
  wrong_token,      // what answers is the server of another job
  connection_lost,  // without an answer: the server made room among its unauthenticated peers, or it
                    // is the helper of the previous program, which is just ending
  ranks_missing,    // the server is there, but not all ranks
  failed,           // for another reason
};

// Thread safety: one thread at a time.
class server_search {
 public:
  virtual ~server_search() = default;
  server_search(const server_search&) = delete;
  server_search& operator=(const server_search&) = delete;

  // Called before each attempt to connect. On rank 0 of a job without a launcher, the first call
  // starts the server (tcp_helper.h). Unavailable: the place is not known yet. Other errors are
  // final.
  virtual base::StatusOr<server_place> look() = 0;
  // Called after an attempt that has found no server of this job at the place of the last look().
  virtual void is_not_there() {}

  // Whether the server listens from the beginning to the end of the job, so that it is in vain to
  // wait for one.
  virtual bool is_served() const { return false; }
  // Whether every look() has the same answer.
  virtual bool is_fixed() const { return true; }

  // What the user should look at when the last attempt has ended so, for the end of an error; begins
  // with "; ", or is empty.
  virtual std::string hint(outcome last) const = 0;

 protected:
  server_search() = default;
};

// A launcher serves at `address`.
std::unique_ptr<server_search> launcher_serves(std::string address, std::string token);
// Rank 0 serves at `address`.
std::unique_ptr<server_search> rank_0_serves(const job_position& position, std::string address,
                                             std::string token);
// Rank 0 serves at addresses that it writes into the file `path`.
std::unique_ptr<server_search> rank_0_writes(const job_position& position, std::string path);

}  // namespace lci::boot

#endif  // LCI_BOOT_SERVER_SEARCH_H_
