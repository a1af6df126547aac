#include "lci/coll/buffer_bytes.h"

#include "gtest/gtest.h"

namespace lci::coll {
namespace {

TEST(BufferBytes, AreThoseThatAllRanksSendFromAndReceiveInto) {
  // Four ranks, of which each offers 12 bytes.
  EXPECT_EQ(buffer_bytes(operation_kind::broadcast, 12, 4), 12u + 3 * 12);
  EXPECT_EQ(buffer_bytes(operation_kind::gather, 12, 4), 4u * 12 + 48);
  EXPECT_EQ(buffer_bytes(operation_kind::scatter, 12, 4), 12u + 4 * 3);
  EXPECT_EQ(buffer_bytes(operation_kind::reduce, 12, 4), 4u * 12 + 12);
  EXPECT_EQ(buffer_bytes(operation_kind::allreduce, 12, 4), 4u * (12 + 12));
  EXPECT_EQ(buffer_bytes(operation_kind::scan, 12, 4), 4u * (12 + 12));
  EXPECT_EQ(buffer_bytes(operation_kind::exscan, 12, 4), 4u * (12 + 12));
  EXPECT_EQ(buffer_bytes(operation_kind::reduce_scatter, 12, 4), 4u * (12 + 3));
  EXPECT_EQ(buffer_bytes(operation_kind::reduce_scatterv, 12, 4), 4u * (12 + 3));
  EXPECT_EQ(buffer_bytes(operation_kind::allgather, 12, 4), 4u * (12 + 48));
  EXPECT_EQ(buffer_bytes(operation_kind::allgatherv, 12, 4), 4u * (12 + 48));
  EXPECT_EQ(buffer_bytes(operation_kind::alltoall, 12, 4), 4u * (12 + 12));
}

}  // namespace
}  // namespace lci::coll
