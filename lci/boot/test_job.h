// Jobs for tests: every kind of bootstrap with ranks as threads or as processes of this machine.
#ifndef LCI_BOOT_TEST_JOB_H_
#define LCI_BOOT_TEST_JOB_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/boot/socket.h"
#include "lci/boot/tcp_server.h"

namespace lci::boot {

// Long enough for the slowest machine; nothing waits for its end unless a test is about to fail.
constexpr bootstrap::duration test_timeout = std::chrono::seconds(50);

// What a launcher does for a job: makes its name, and serves it where that is needed.
class test_job {
 public:
  enum class variant { local, in_process, file, tcp, tcp_v6, standalone };
  static const char* name(variant which);

  test_job(variant which, int size);
  ~test_job();

  int size() const { return size_; }
  base::StatusOr<std::unique_ptr<bootstrap>> connect(int rank,
                                                     bootstrap::duration timeout = test_timeout);

  // Calls body(rank) in a thread each; returns when all have returned.
  void run_threads(const std::function<void(int rank)>& body);
  // Connects, then calls body in a thread each.
  void run(const std::function<void(bootstrap& boot)>& body);
  // The same in a process each. `body` reports with `return` (true: good) and fails with gtest's
  // EXPECT too; the number of processes that did not end well is returned. `in_parent` is called
  // when all are started.
  int run_processes(
      const std::function<bool(int rank)>& body, const std::function<void()>& in_parent = [] {});

  // Serves (tcp) from now on in a thread of its own. Implied by run and run_threads; not before a
  // fork, which a process with one thread survives best.
  void serve();

  const std::string& address() const { return address_; }
  const std::string& root() const { return root_; }
  tcp_server* server() { return server_.get(); }  // not while it is served
  void stop_serving();

 private:
  const variant variant_;
  const int size_;
  std::vector<std::unique_ptr<bootstrap>> ranks_;  // local, in_process: not yet connected
  std::string root_;                               // file
  std::string address_;                            // tcp
  std::unique_ptr<tcp_server> server_;
  unique_fd stop_;
  std::thread serving_;
};

// A new empty directory below TEST_TMPDIR.
std::string new_directory();

// A loopback address with a port that nobody uses, nor will.
std::string free_address();

}  // namespace lci::boot

#endif  // LCI_BOOT_TEST_JOB_H_
