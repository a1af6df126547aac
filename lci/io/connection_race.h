// Connects to a server that has several addresses.
#ifndef LCI_IO_CONNECTION_RACE_H_
#define LCI_IO_CONNECTION_RACE_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/io/deadline.h"
#include "lci/io/unique_fd.h"

namespace lci::io {

// Attempts to connect to the addresses of one server, some of which may be unreachable or belong to
// another machine. An attempt begins when all earlier ones have ended, or the last one has had no
// answer for `stagger`. So a network that swallows packets costs little time, and a server whose
// first address answers gets one connection. After RFC 8305 ("Happy Eyeballs"), section 5.
//
// Thread safety: one thread at a time.
class connection_race {
 public:
  // The shortest delay of the RFC, since the servers of a job are mostly near.
  static constexpr std::chrono::milliseconds default_stagger{100};

  struct finish {
    std::string address;
    // Connected, non-blocking and close-on-exec. Or an error that names the address: Unavailable if
    // no socket listens there (any more, or yet), DeadlineExceeded if the host does not answer,
    // InvalidArgument if this is not an address, ResourceExhausted if this process may open no more
    // files.
    base::StatusOr<unique_fd> socket;
  };

  // `addresses` have the form of parse_address().
  explicit connection_race(std::vector<std::string> addresses,
                           std::chrono::milliseconds stagger = default_stagger);

  // Waits until an attempt has ended, and returns it. At the deadline, all that are left begin, and
  // those without an answer end. Nothing: each address has been returned.
  std::optional<finish> next(steady::time_point deadline);

 private:
  // A socket that connects. The name of a host may have several addresses, and then as many sockets.
  struct runner {
    size_t address;  // index
    unique_fd socket;
  };

  base::Status begin(size_t address);
  // Returns the first runner that has an answer by then; runners_.size(): none.
  size_t wait(steady::time_point until) const;
  std::optional<finish> take(size_t runner);
  finish fail(size_t address, const base::Status& why);
  finish end(size_t address, base::StatusOr<unique_fd> socket);

  const std::vector<std::string> addresses_;
  const std::chrono::milliseconds stagger_;
  size_t begun_ = 0;               // addresses
  steady::time_point next_begin_;  // not before
  std::vector<runner> runners_;
};

}  // namespace lci::io

#endif  // LCI_IO_CONNECTION_RACE_H_
