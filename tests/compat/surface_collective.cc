// Collective operations.
#include <cstddef>
#include <cstdint>
#include <string>

#include "surface.h"

using namespace surface::argument;

void surface::check_collective_operations() {
  OPERATION(void, barrier, ());
  SETTER(barrier, lci::runtime_t, runtime);
  SETTER(barrier, lci::device_t, device);
  SETTER(barrier, lci::endpoint_t, endpoint);
  SETTER(barrier, lci::matching_engine_t, matching_engine);
  SETTER(barrier, lci::comp_semantic_t, comp_semantic);
  SETTER(barrier, lci::comp_t, comp);

  OPERATION(void, broadcast, (buffer, size, number));
  SETTER(broadcast, void*, buffer);
  SETTER(broadcast, size_t, size);
  SETTER(broadcast, int, root);
  SETTER(broadcast, lci::runtime_t, runtime);
  SETTER(broadcast, lci::device_t, device);
  SETTER(broadcast, lci::endpoint_t, endpoint);
  SETTER(broadcast, lci::matching_engine_t, matching_engine);
  SETTER(broadcast, lci::comp_t, comp);
  SETTER(broadcast, lci::broadcast_algorithm_t, algorithm);
  SETTER(broadcast, int, ring_nsteps);

  OPERATION(void, reduce, (const_buffer, buffer, size, size, reduce_op, number));
  SETTER(reduce, const void*, sendbuf);
  SETTER(reduce, void*, recvbuf);
  SETTER(reduce, size_t, count);
  SETTER(reduce, size_t, item_size);
  SETTER(reduce, lci::reduce_op_t, op);
  SETTER(reduce, int, root);
  SETTER(reduce, lci::runtime_t, runtime);
  SETTER(reduce, lci::device_t, device);
  SETTER(reduce, lci::endpoint_t, endpoint);
  SETTER(reduce, lci::matching_engine_t, matching_engine);

  OPERATION(void, reduce_scatter, (const_buffer, buffer, size, size, reduce_op));
  SETTER(reduce_scatter, const void*, sendbuf);
  SETTER(reduce_scatter, void*, recvbuf);
  SETTER(reduce_scatter, size_t, recvcount);
  SETTER(reduce_scatter, size_t, item_size);
  SETTER(reduce_scatter, lci::reduce_op_t, op);
  SETTER(reduce_scatter, lci::runtime_t, runtime);
  SETTER(reduce_scatter, lci::device_t, device);
  SETTER(reduce_scatter, lci::endpoint_t, endpoint);
  SETTER(reduce_scatter, lci::matching_engine_t, matching_engine);
  SETTER(reduce_scatter, lci::comp_t, comp);
  SETTER(reduce_scatter, lci::reduce_scatter_algorithm_t, algorithm);
  SETTER(reduce_scatter, int, ring_nsteps);

  OPERATION(void, allreduce, (const_buffer, buffer, size, size, reduce_op));
  SETTER(allreduce, const void*, sendbuf);
  SETTER(allreduce, void*, recvbuf);
  SETTER(allreduce, size_t, count);
  SETTER(allreduce, size_t, item_size);
  SETTER(allreduce, lci::reduce_op_t, op);
  SETTER(allreduce, lci::runtime_t, runtime);
  SETTER(allreduce, lci::device_t, device);
  SETTER(allreduce, lci::endpoint_t, endpoint);
  SETTER(allreduce, lci::matching_engine_t, matching_engine);
  SETTER(allreduce, lci::comp_t, comp);
  SETTER(allreduce, lci::allreduce_algorithm_t, algorithm);
  SETTER(allreduce, int, ring_nsteps);

  OPERATION(void, allgather, (const_buffer, buffer, size));
  SETTER(allgather, const void*, sendbuf);
  SETTER(allgather, void*, recvbuf);
  SETTER(allgather, size_t, size);
  SETTER(allgather, lci::runtime_t, runtime);
  SETTER(allgather, lci::device_t, device);
  SETTER(allgather, lci::endpoint_t, endpoint);
  SETTER(allgather, lci::matching_engine_t, matching_engine);

  OPERATION(void, alltoall, (const_buffer, buffer, size));
  SETTER(alltoall, const void*, sendbuf);
  SETTER(alltoall, void*, recvbuf);
  SETTER(alltoall, size_t, size);
  SETTER(alltoall, lci::runtime_t, runtime);
  SETTER(alltoall, lci::device_t, device);
  SETTER(alltoall, lci::endpoint_t, endpoint);
  SETTER(alltoall, lci::matching_engine_t, matching_engine);
  SETTER(alltoall, lci::comp_t, comp);
  SETTER(alltoall, lci::comp_semantic_t, comp_semantic);
}
