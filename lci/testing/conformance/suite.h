// Tests a backend against the sentences of backend.h. The test of a backend names its entry:
//   INSTANTIATE_TEST_SUITE_P(Shm, Conformance, testing::Values(backend_under_test{...}));
// The ranks are threads of the test or processes that the test forks, each with its own context.
#ifndef LCI_TESTING_CONFORMANCE_SUITE_H_
#define LCI_TESTING_CONFORMANCE_SUITE_H_

#include <functional>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "lci/net/backend.h"

namespace lci::net::conformance {

struct backend_under_test {
  const char* name;
  const backend_entry* entry;
  int ranks;
  // The ranks are processes, which may be killed. Otherwise they are threads of the test.
  bool processes = false;
  context_config config = {};
  device_attr_t device = {};
  bool connects_late = false;  // the first post to a rank succeeds only after both have polled
  bool notifies = false;       // a device that sleeps has descriptors that show every arrival
  // The network may use the memory of an operation after it has failed, against the contract.
  bool uses_memory_late = false;
};

// One rank of a test.
struct rank_under_test {
  int rank;
  int ranks;
  boot::bootstrap& boot;
  context& network;
  device& dev;  // of number 0

  // Waits for all ranks, without use of the network.
  void barrier();
  // Waits for all ranks, and polls meanwhile (completions to `use`): another rank may need that to
  // finish.
  void polling_barrier(const std::function<void(const completion&)>& use);
  // Polls until `done()`. Every completion goes to `use`; a received message is released
  // afterwards.
  void poll_until(const std::function<bool()>& done,
                  const std::function<void(const completion&)>& use);
  // Posts until the answer is not a retry, and polls meanwhile (completions to `use`).
  error_t post(const op& operation, const std::function<void(const completion&)>& use);

  // Returns the `mine` of every rank, by rank. Collective.
  template <class T>
  std::vector<T> exchange(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<size_t>(ranks));
    exchange(&mine, sizeof(T), all.data());
    return all;
  }

  // Connects all ranks, for backends that connect late. When it returns, no message is under way.
  void connect();

  // Marks the test as skipped, for a reason that is a string literal. Every rank calls it, and then
  // leaves its body.
  void skip(const char* reason);

  // Such as "rank 1 of 2", for the lines of a failure.
  std::string label() const;

  int barriers = 0;
  int exchanges = 0;

 private:
  void exchange(const void* mine, size_t size, void* all);
};

class Conformance : public testing::TestWithParam<backend_under_test> {
 public:
  // Runs `body` as every rank, and destroys all devices together. Expects every rank to finish.
  void run(const std::function<void(rank_under_test&)>& body);
  // Runs `body` as every rank, in a process each. Expects `victims` of them to be killed, unless an
  // expectation of a rank fails.
  void run_processes(int victims, const std::function<void(rank_under_test&)>& body);
};

inline std::string to_text(const backend_under_test& backend) {
  return std::string(backend.name) + std::to_string(backend.ranks) +
         (backend.processes ? "Processes" : "Threads");
}
inline std::string name_of(const testing::TestParamInfo<backend_under_test>& info) {
  return to_text(info.param);
}
// Found by GoogleTest, which would print the bytes.
inline void PrintTo(const backend_under_test& backend, std::ostream* out) {
  *out << to_text(backend);
}

}  // namespace lci::net::conformance

// For GoogleTest, which looks for them in the namespace of the type.
namespace lci {
inline void PrintTo(errorcode_t code, std::ostream* out) { *out << get_errorcode_str(code); }
}  // namespace lci
namespace lci::net {
void PrintTo(completion_kind kind, std::ostream* out);
}  // namespace lci::net

#endif  // LCI_TESTING_CONFORMANCE_SUITE_H_
