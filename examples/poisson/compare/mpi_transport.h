// The solver's messages by MPI, in three ways.
#ifndef EXAMPLES_POISSON_COMPARE_MPI_TRANSPORT_H_
#define EXAMPLES_POISSON_COMPARE_MPI_TRANSPORT_H_

#include <memory>

#include "examples/poisson/transport.h"

namespace poisson {

enum class mpi_way {
  alltoallv,   // MPI_Alltoallv, when the slab is wanted; else MPI_Isend, MPI_Irecv
  ialltoallv,  // MPI_Ialltoallv, as soon as the slab is ready
  pscw,        // MPI_Put, between MPI_Win_post, start, complete, wait
};

// Packed, in MPI_COMM_WORLD. MPI is initialized, and finalized after it.
std::unique_ptr<transport> make_mpi_transport(mpi_way way);

}  // namespace poisson

#endif  // EXAMPLES_POISSON_COMPARE_MPI_TRANSPORT_H_
