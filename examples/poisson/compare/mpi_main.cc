// The solver over MPI: as poisson, with other modes. `run` compiles it.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "examples/poisson/compare/mpi_transport.h"
#include "examples/poisson/options.h"
#include "examples/poisson/run.h"

namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

const std::vector<poisson::mode>& modes() {
  static const std::vector<poisson::mode> all = {
      {"alltoallv", "MPI_Alltoallv when the slab is wanted, MPI_Isend and MPI_Irecv"},
      {"ialltoallv", "MPI_Ialltoallv as soon as the slab is ready, MPI_Isend and MPI_Irecv"},
      {"pscw", "MPI_Put between MPI_Win_post, start, complete and wait"},
  };
  return all;
}

poisson::mpi_way way_of(const std::string& mode) {
  if (mode == "pscw") return poisson::mpi_way::pscw;
  return mode == "ialltoallv" ? poisson::mpi_way::ialltoallv : poisson::mpi_way::alltoallv;
}

void say(std::FILE* where, const std::string& text) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::fputs(text.c_str(), where);
    std::fflush(where);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int run(int argc, char** argv) {
  bool help = false;
  try {
    const poisson::options chosen = poisson::parse_options(argc, argv, modes(), &help);
    if (help) {
      say(stdout, poisson::help_text("mpirun -n RANKS poisson_mpi", modes()));
      return EXIT_SUCCESS;
    }
    const auto network = poisson::make_mpi_transport(way_of(chosen.mode));
    const poisson::outcome outcome = poisson::run(chosen, "poisson_mpi", *network);
    say(outcome.good ? stdout : stderr, outcome.text);
    return outcome.good ? EXIT_SUCCESS : exit_failed;
  } catch (const poisson::usage_error& error) {
    say(stderr, std::string("poisson_mpi: ") + error.what() + "\n");
    return exit_usage;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    const int code = run(argc, argv);
    MPI_Finalize();
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "poisson_mpi: %s\n", error.what());
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, exit_failed);
  }
  return exit_failed;
}
