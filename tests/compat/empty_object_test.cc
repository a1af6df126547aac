// An empty completion object can be registered: it gives a number that the others count on, and
// what arrives for it is dropped. An empty graph can be started, and is complete.
#include <atomic>

#include "check.h"

namespace {

using compat::index_of;

// The numbers are those that each rank got in this order.
void expect_same_everywhere(lci::rcomp_t rcomp) {
  std::vector<lci::rcomp_t> all(index_of(lci::get_rank_n()));
  lci::allgather(&rcomp, all.data(), sizeof(rcomp));
  for (const lci::rcomp_t each : all) EXPECT_EQ(each, rcomp);
}

void test_registration() {
  const lci::rcomp_t of_empty = lci::register_rcomp(lci::comp_t());
  const lci::rcomp_t of_null = lci::register_rcomp(lci::COMP_NULL);
  lci::comp_t cq = lci::alloc_cq();
  const lci::rcomp_t of_cq = lci::register_rcomp(cq);
  EXPECT(of_empty != 0 && of_null != 0 && of_cq != 0);
  EXPECT(of_empty != of_null && of_null != of_cq && of_empty != of_cq);
  expect_same_everywhere(of_empty);
  expect_same_everywhere(of_null);
  expect_same_everywhere(of_cq);
  // A number that was set aside gets no object, and then one.
  const lci::rcomp_t reserved = lci::reserve_rcomps(2);
  EXPECT_EQ(lci::register_rcomp_x(nullptr).rcomp(reserved)(), reserved);
  EXPECT_EQ(lci::register_rcomp_x(cq).rcomp(reserved + 1)(), reserved + 1);
  lci::deregister_rcomp(reserved);
  lci::deregister_rcomp(reserved + 1);

  int64_t room[2] = {-1, -1};
  lci::mr_t mr = lci::register_memory(room, sizeof(room));
  const lci::rmr_t own = lci::get_rmr(mr);
  std::vector<lci::rmr_t> rmrs(index_of(lci::get_rank_n()));
  lci::allgather(&own, rmrs.data(), sizeof(own));
  const int to = compat::next_rank();
  const int from = compat::previous_rank();
  lci::comp_t sync = lci::alloc_sync();
  int64_t value = 100 + lci::get_rank_me();

  // Messages for nobody, and behind each one for somebody, which arrives.
  for (const lci::rcomp_t nobody : {of_empty, of_null}) {
    for (lci::tag_t tag = 1; tag <= 3; ++tag) {
      const lci::status_t status =
          compat::complete(lci::post_am_x(to, &value, sizeof(value), sync, nobody).tag(tag), sync);
      EXPECT(status.is_done());
    }
    // The bytes of a put arrive, with and without a remote completion object.
    const lci::status_t put =
        compat::complete(lci::post_put_x(to, &value, sizeof(value), sync, 0, rmrs[index_of(to)])
                             .tag(4)
                             .remote_comp(nobody),
                         sync);
    EXPECT(put.is_done());
    (void)compat::complete(
        lci::post_put_x(to, &value, sizeof(value), sync, sizeof(value), rmrs[index_of(to)])
            .tag(5)
            .remote_comp(of_cq),
        sync);
    const lci::status_t status = compat::pop(cq);
    EXPECT_EQ(status.get_rank(), from);
    EXPECT_EQ(status.get_tag(), 5u);
    EXPECT_EQ(room[1], 100 + from);
    lci::barrier();
    EXPECT_EQ(room[0], 100 + from);
    room[0] = room[1] = -1;
    lci::barrier();
  }
  EXPECT(lci::cq_pop(cq).is_retry());
  lci::barrier();
  lci::deregister_rcomp(of_empty);
  lci::deregister_rcomp(of_null);
  lci::deregister_rcomp(of_cq);
  lci::deregister_memory(&mr);
  lci::free_comp(&cq);
  lci::free_comp(&sync);
}

// A layer that has no use for what its devices receive registers nothing for each of them.
void test_device_without_target() {
  struct layer_device_t {
    lci::device_t device;
    lci::rcomp_t rcomp;
  };
  std::vector<layer_device_t> devices(2);
  for (layer_device_t& each : devices) {
    void* opaque = nullptr;
    lci::comp_t cq(static_cast<void*>(opaque));
    each.rcomp = lci::register_rcomp(cq);
    each.device = lci::alloc_device();
  }
  EXPECT(devices[0].rcomp != devices[1].rcomp);
  for (layer_device_t& each : devices) {
    lci::barrier_x().device(each.device)();
    lci::deregister_rcomp(each.rcomp);
    lci::free_device(&each.device);
  }
}

void test_empty_graph() {
  lci::comp_t graph = lci::alloc_graph();
  for (int i = 0; i < 3; ++i) {
    lci::graph_start(graph);
    EXPECT(lci::graph_test(graph).is_done());
  }
  lci::free_comp(&graph);

  // From the start to the end at once.
  graph = lci::alloc_graph();
  lci::graph_add_edge(graph, lci::GRAPH_START, lci::GRAPH_END);
  lci::graph_start(graph);
  EXPECT(lci::graph_test(graph).is_done());
  lci::free_comp(&graph);

  // The waiting thread is notified. Programs that give a graph a completion object leave the graph
  // alone after that has been signaled.
  int context = 0;
  lci::comp_t cq = lci::alloc_cq();
  lci::comp_t signaled = lci::alloc_graph_x().comp(cq).user_context(&context)();
  lci::graph_start(signaled);
  const lci::status_t status = compat::pop(cq);
  EXPECT(status.is_done());
  EXPECT(status.get_user_context() == &context);
  EXPECT(lci::cq_pop(cq).is_retry());
  lci::free_comp(&cq);
}

void test() {
  lci::g_runtime_init();
  test_registration();
  test_device_without_target();
  test_empty_graph();
  lci::barrier();
  lci::g_runtime_fina();
}

}  // namespace

int main() { return compat::run(test); }
