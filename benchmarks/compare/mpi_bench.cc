// The comparison's measurement over MPI: two ranks, and every thread of them with a communicator of
// its own.
//   single    MPI_THREAD_SINGLE, so one thread only
//   multiple  MPI_THREAD_MULTIPLE
// Built by benchmarks/compare/run with the compiler wrapper of each MPI; started by its mpirun.
#include <mpi.h>

#include <climits>
#include <cstdio>
#include <string>
#include <vector>

#include "benchmarks/compare/mpi_library.h"
#include "benchmarks/compare/pair_bench.h"
#include "benchmarks/compare/pair_options.h"

namespace compare {
namespace {

// MPI's own error handler ends the job at the first error, so no return code is looked at.
class mpi_connection {
 public:
  mpi_connection(MPI_Comm communicator, int peer, int window)
      : communicator_(communicator), peer_(peer) {
    for (std::vector<MPI_Request>& half : requests_) {
      half.resize(static_cast<size_t>(window / 2));
    }
  }
  void send(const char* data, size_t size) {
    MPI_Send(data, static_cast<int>(size), MPI_BYTE, peer_, data_tag, communicator_);
  }
  void receive(char* data, size_t size) {
    MPI_Recv(data, static_cast<int>(size), MPI_BYTE, peer_, data_tag, communicator_,
             MPI_STATUS_IGNORE);
  }
  void start_sends(int half, const char* data, size_t size, int count) {
    for (int i = 0; i < count; ++i) {
      MPI_Isend(data, static_cast<int>(size), MPI_BYTE, peer_, data_tag, communicator_,
                &requests_[half][static_cast<size_t>(i)]);
    }
  }
  void finish_sends(int half) { wait_all(half); }
  void start_receives(int half, char* data, size_t size, int count) {
    for (int i = 0; i < count; ++i) {
      MPI_Irecv(data, static_cast<int>(size), MPI_BYTE, peer_, data_tag, communicator_,
                &requests_[half][static_cast<size_t>(i)]);
    }
  }
  void finish_receives(int half) { wait_all(half); }
  void answer(uint64_t value) {
    MPI_Send(&value, 1, MPI_UINT64_T, peer_, answer_tag, communicator_);
  }
  uint64_t await_answer() {
    uint64_t value = 0;
    MPI_Recv(&value, 1, MPI_UINT64_T, peer_, answer_tag, communicator_, MPI_STATUS_IGNORE);
    return value;
  }

 private:
  static constexpr int data_tag = 0;
  static constexpr int answer_tag = 1;

  void wait_all(int half) {
    MPI_Waitall(static_cast<int>(requests_[half].size()), requests_[half].data(),
                MPI_STATUSES_IGNORE);
  }

  MPI_Comm communicator_;
  int peer_;
  std::vector<MPI_Request> requests_[2];
};

class mpi_transport {
 public:
  explicit mpi_transport(const options_t& options) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    for (int t = 0; t < options.threads; ++t) {
      MPI_Comm own;
      MPI_Comm_dup(MPI_COMM_WORLD, &own);
      connections_.emplace_back(own, 1 - rank_, options.window);
    }
  }
  int rank() const { return rank_; }
  void meet() { MPI_Barrier(MPI_COMM_WORLD); }
  mpi_connection& connection(int thread) { return connections_[static_cast<size_t>(thread)]; }

 private:
  int rank_ = 0;
  std::vector<mpi_connection> connections_;
};

int main_of(int argc, char** argv) {
  options_t options;
  std::string wrong = parse_options(argc, argv, {"single", "multiple"}, &options);
  const int wanted = options.op == "single" ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
  if (wrong.empty() && wanted == MPI_THREAD_SINGLE && options.threads > 1) {
    wrong = "--op single has one thread";
  }
  if (!wrong.empty()) {
    std::fprintf(stderr, "mpi_bench: %s\n", wrong.c_str());
    return 2;
  }
  int provided = 0;
  int ranks = 0;
  MPI_Init_thread(nullptr, nullptr, wanted, &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (provided < wanted || ranks != 2) {
    std::fprintf(stderr, "mpi_bench: %d ranks of thread level %d; 2 of level %d are needed\n",
                 ranks, provided, wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  {
    mpi_transport transport(options);
    result_t result = measure(&transport, options);
    if (transport.rank() == 0) {
      print_result(stdout, options, library_name(), &result);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace compare

int main(int argc, char** argv) { return compare::main_of(argc, argv); }
