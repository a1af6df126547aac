// Jobs for tests: every kind of bootstrap, with ranks that are threads or processes of this
// machine.
#ifndef LCI_TESTING_JOB_TEST_JOB_H_
#define LCI_TESTING_JOB_TEST_JOB_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/boot/tcp_server.h"
#include "lci/io/unique_fd.h"

namespace lci::boot {

// Long enough for the slowest machine; only a failing test waits that long.
constexpr bootstrap::duration test_timeout = std::chrono::seconds(50);

// Does the work of a launcher for one job: it names the job and, for TCP, serves it.
class test_job {
 public:
  enum class variant { local, in_process, file, tcp, tcp_v6, standalone, meeting };
  static const char* name(variant which);
  static constexpr char token[] = "0123456789abcdef";  // of tcp and standalone

  test_job(variant which, int size);
  ~test_job();

  int size() const { return size_; }
  base::StatusOr<std::unique_ptr<bootstrap>> connect(int rank,
                                                     bootstrap::duration timeout = test_timeout);

  // Calls body(rank) in one thread per rank; returns when all have returned.
  void run_threads(const std::function<void(int rank)>& body);
  // Connects each rank, then calls body in one thread per rank.
  void run(const std::function<void(bootstrap& boot)>& body);
  // Calls body(rank) in one process per rank. `body` reports success by returning true, and fails
  // with gtest's EXPECT too. Returns the number of processes that failed. `in_parent` is called
  // when all processes have been started. After a failed EXPECT of one rank the others have to end
  // soon (fail_fast.h), and are killed if they do not.
  int run_processes(
      const std::function<bool(int rank)>& body, const std::function<void()>& in_parent = [] {});

  // Serves (tcp) from now on in a thread of its own. run and run_threads call it. Never called
  // before a fork, as only a single-threaded process can fork safely.
  void serve();

  const std::string& address() const { return address_; }
  const std::string& root() const { return root_; }
  std::string meeting() const { return root_ + "/start-test"; }  // the file
  tcp_server* server() { return server_.get(); }                 // not while serving
  void stop_serving();

 private:
  const variant variant_;
  const int size_;
  std::vector<std::unique_ptr<bootstrap>> ranks_;  // local, in_process: not yet connected
  std::string root_;                               // file, meeting
  std::string address_;                            // tcp
  std::unique_ptr<tcp_server> server_;
  io::unique_fd stop_;
  std::thread serving_;
};

// Creates a new empty directory below TEST_TMPDIR.
std::string new_directory();

// Returns a loopback address with a port that no other process uses or will use.
std::string free_address();

}  // namespace lci::boot

#endif  // LCI_TESTING_JOB_TEST_JOB_H_
