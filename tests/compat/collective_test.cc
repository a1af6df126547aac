// Collectives in every form that programs use: blocking and with a completion object, in place and
// not, with each algorithm, through an own device, endpoint and matching engine.
#include <thread>

#include "check.h"

namespace {

using compat::index_of;

void add(const void* left, const void* right, void* dst, size_t n) {
  const auto* a = static_cast<const uint64_t*>(left);
  const auto* b = static_cast<const uint64_t*>(right);
  auto* out = static_cast<uint64_t*>(dst);
  for (size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

uint64_t sum_of_ranks() {
  const auto n = static_cast<uint64_t>(lci::get_rank_n());
  return n * (n - 1) / 2;
}
uint64_t rank_of() { return static_cast<uint64_t>(lci::get_rank_me()); }

void wait(lci::comp_t sync) {
  while (!lci::sync_test(sync, nullptr)) lci::progress();
}

void test_broadcast(lci::comp_t sync) {
  using algorithm = lci::broadcast_algorithm_t;
  for (const algorithm how :
       {algorithm::none, algorithm::direct, algorithm::tree, algorithm::ring}) {
    EXPECT(lci::get_broadcast_algorithm_str(how) != nullptr);
    for (int root = 0; root < lci::get_rank_n(); ++root) {
      uint64_t data = lci::get_rank_me() == root ? 0xdeadbeef : 0;
      lci::broadcast_x(&data, sizeof(data), root).algorithm(how)();
      EXPECT_EQ(data, 0xdeadbeefu);
      std::vector<char> large(50000);
      if (lci::get_rank_me() == root) large = compat::bytes_of(root, large.size());
      lci::broadcast_x(large.data(), large.size(), root).algorithm(how).comp(sync)();
      wait(sync);
      EXPECT(compat::are_bytes_of(root, large.data(), large.size()));
    }
  }
  lci::broadcast(nullptr, 0, 0);
}

void test_gather() {
  const int n = lci::get_rank_n();
  uint64_t data = rank_of();
  std::vector<uint64_t> all(index_of(n), ~uint64_t{0});
  lci::allgather(&data, all.data(), sizeof(data));
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
  lci::allgather_x(&data, all.data(), sizeof(data)).device(lci::get_default_device())();

  std::vector<uint64_t> out(index_of(n));
  for (size_t i = 0; i < out.size(); ++i) out[i] = rank_of() * out.size() + i;
  lci::alltoall(out.data(), all.data(), sizeof(uint64_t));
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i * all.size() + rank_of());
  lci::comp_t sync = lci::alloc_sync();
  for (size_t i = 0; i < out.size(); ++i) out[i] += 1000;
  lci::alltoall_x(out.data(), all.data(), sizeof(uint64_t)).comp(sync)();
  wait(sync);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], 1000 + i * all.size() + rank_of());
  lci::free_comp(&sync);
}

void test_reduce(lci::comp_t sync) {
  const auto n = static_cast<uint64_t>(lci::get_rank_n());
  for (int root = 0; root < lci::get_rank_n(); ++root) {
    uint64_t data = rank_of();
    uint64_t result = 77;
    lci::reduce(&data, &result, 1, sizeof(data), add, root);
    if (lci::get_rank_me() == root) EXPECT_EQ(result, sum_of_ranks());
    EXPECT_EQ(data, rank_of());
    lci::reduce(&data, &data, 1, sizeof(data), add, root);
    EXPECT_EQ(data, lci::get_rank_me() == root ? sum_of_ranks() : rank_of());
  }

  using scatter = lci::reduce_scatter_algorithm_t;
  for (const scatter how : {scatter::none, scatter::direct, scatter::tree, scatter::ring}) {
    std::vector<uint64_t> data(n);
    for (size_t i = 0; i < data.size(); ++i) data[i] = rank_of() + i;
    const uint64_t expected = sum_of_ranks() + rank_of() * n;
    uint64_t result = 77;
    lci::reduce_scatter_x(data.data(), &result, 1, sizeof(uint64_t), add).algorithm(how)();
    EXPECT_EQ(result, expected);
    result = 77;
    lci::reduce_scatter_x(data.data(), &result, 1, sizeof(uint64_t), add)
        .algorithm(how)
        .comp(sync)();
    wait(sync);
    EXPECT_EQ(result, expected);
    lci::reduce_scatter_x(data.data(), &data[rank_of()], 1, sizeof(uint64_t), add).algorithm(how)();
    EXPECT_EQ(data[rank_of()], expected);
  }

  using reduction = lci::allreduce_algorithm_t;
  for (const reduction how :
       {reduction::none, reduction::direct, reduction::tree, reduction::ring}) {
    uint64_t data = rank_of();
    uint64_t result = 77;
    lci::allreduce_x(&data, &result, 1, sizeof(data), add).algorithm(how)();
    EXPECT_EQ(result, sum_of_ranks());
    lci::allreduce_x(&data, &data, 1, sizeof(data), add).algorithm(how)();
    EXPECT_EQ(data, sum_of_ranks());
    std::vector<uint64_t> many(3000, rank_of());
    lci::allreduce_x(many.data(), many.data(), many.size(), sizeof(uint64_t), add)
        .algorithm(how)
        .comp(sync)();
    wait(sync);
    for (const uint64_t each : many) EXPECT_EQ(each, sum_of_ranks());
  }
}

// A barrier holds every rank until all are there, blocking or with each kind of completion object.
void test_barrier() {
  lci::barrier();
  lci::comp_t counter = lci::alloc_counter();
  lci::barrier_x().comp(counter)();
  while (lci::counter_get(counter) == 0) lci::progress();
  lci::free_comp(&counter);
  lci::comp_t cq = lci::alloc_cq();
  lci::barrier_x().comp(cq).comp_semantic(lci::comp_semantic_t::network)();
  EXPECT(compat::pop(cq).is_done());
  lci::free_comp(&cq);
}

void test_own_resources(lci::comp_t sync) {
  lci::device_t device = lci::alloc_device();
  lci::endpoint_t endpoint = lci::alloc_endpoint_x().device(device)();
  lci::matching_engine_t engine = lci::alloc_matching_engine();
  lci::barrier_x().device(device)();
  lci::barrier_x().device(device).endpoint(endpoint).matching_engine(engine)();
  uint64_t data = rank_of();
  uint64_t result = 0;
  lci::allreduce_x(&data, &result, 1, sizeof(data), add)
      .device(device)
      .endpoint(endpoint)
      .matching_engine(engine)();
  EXPECT_EQ(result, sum_of_ranks());
  // Kept, set by name, and called twice.
  auto op = lci::allreduce_x(nullptr, nullptr, 0, 0, nullptr).runtime(lci::get_g_runtime());
  op.sendbuf(&data).recvbuf(&result).count(1).item_size(sizeof(data)).op(add).comp(sync);
  for (int i = 0; i < 2; ++i) {
    result = 0;
    op();
    wait(sync);
    EXPECT_EQ(result, sum_of_ranks());
  }
  lci::barrier_x().device(device)();
  lci::free_matching_engine(&engine);
  lci::free_endpoint(&endpoint);
  lci::free_device(&device);
}

void test() {
  lci::g_runtime_init();
  lci::comp_t sync = lci::alloc_sync();
  test_barrier();
  test_broadcast(sync);
  test_gather();
  test_reduce(sync);
  test_own_resources(sync);
  lci::free_comp(&sync);
  lci::g_runtime_fina();
  // Each test of a suite begins and ends a runtime.
  for (int i = 0; i < 3; ++i) {
    lci::g_runtime_init();
    test_gather();
    lci::g_runtime_fina();
  }
}

}  // namespace

int main() { return compat::run(test); }
