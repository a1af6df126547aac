// Every name, option, attribute and default of the interface that programs written for LCI 2 use:
// that it compiles as they write it, and does what it says with one rank or several.
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

// Types.

static_assert(std::is_same_v<lci::tag_t, uint64_t> && std::is_same_v<lci::rcomp_t, uint32_t>);
static_assert(std::is_same_v<lci::net_imm_data_t, uint32_t>);
static_assert(std::is_same_v<lci::matching_entry_key_t, uint64_t>);
static_assert(std::is_same_v<lci::matching_entry_val_t, void*>);
static_assert(static_cast<int>(lci::matching_policy_t::none) == 0);
static_assert(static_cast<int>(lci::matching_policy_t::rank_only) == 1);
static_assert(static_cast<int>(lci::matching_policy_t::tag_only) == 2);
static_assert(static_cast<int>(lci::matching_policy_t::rank_tag) == 3);
static_assert(static_cast<int>(lci::matching_policy_t::max) == 4);
static_assert(static_cast<int>(lci::matching_entry_type_t::send) == 0);
static_assert(static_cast<int>(lci::matching_entry_type_t::recv) == 1);
static_assert(lci::ANY_SOURCE == -1 && lci::ANY_TAG == ~lci::tag_t{0});
static_assert(std::is_trivially_copyable_v<lci::rmr_t>);
template <class T>
constexpr bool is_handle =
    sizeof(T) == sizeof(void*) && std::is_trivially_copyable_v<T>&& T().is_empty();
static_assert(is_handle<lci::runtime_t> && is_handle<lci::packet_pool_t> &&
              is_handle<lci::matching_engine_t> && is_handle<lci::comp_t> &&
              is_handle<lci::net_context_t> && is_handle<lci::device_t> && is_handle<lci::mr_t> &&
              is_handle<lci::endpoint_t> && is_handle<lci::group_t> &&
              is_handle<lci::persistent_coll_t>);
constexpr lci::direction_t directions[] = {lci::direction_t::OUT, lci::direction_t::IN};
constexpr lci::net_opcode_t opcodes[] = {lci::net_opcode_t::SEND,         lci::net_opcode_t::RECV,
                                         lci::net_opcode_t::WRITE,        lci::net_opcode_t::READ,
                                         lci::net_opcode_t::REMOTE_WRITE, lci::net_opcode_t::ERROR};
constexpr lci::attr_backend_t backends[] = {lci::attr_backend_t::none, lci::attr_backend_t::ibv,
                                            lci::attr_backend_t::ofi, lci::attr_backend_t::ucx,
                                            lci::attr_backend_t::shm};

void test_error_types() {
  using code = lci::errorcode_t;
  lci::error_t error;
  EXPECT(error.errorcode == code::retry_init && error.is_retry());
  for (code c : {code::done, code::done_backlog}) EXPECT(lci::error_t(c).is_done());
  for (code c : {code::posted, code::posted_backlog}) EXPECT(lci::error_t(c).is_posted());
  for (code c : {code::retry, code::retry_init, code::retry_lock, code::retry_nopacket,
                 code::retry_nomem, code::retry_backlog}) {
    EXPECT(lci::error_t(c).is_retry());
  }
  for (code c : {code::done_min, code::done_max, code::posted_min, code::posted_max,
                 code::retry_min, code::retry_max, code::fatal}) {
    const lci::error_t e(c);
    EXPECT(!e.is_done() && !e.is_posted() && !e.is_retry());
  }
  error = code::done;
  error.reset_retry();
  EXPECT(error.errorcode == code::retry);
  EXPECT(std::string(lci::get_errorcode_str(code::retry_lock)) ==
         lci::error_t(code::retry_lock).get_str());
  lci::status_t status = code::done;
  EXPECT(status.is_done() && status.rank == -1 && status.buffer == nullptr && status.size == 0);
  status.set_posted();
  EXPECT(status.is_posted());
  status.set_retry();
  EXPECT(status.is_retry());
  status.set_done();
  EXPECT(status.get_error().is_done() && status.get_rank() == -1 && status.get_buffer() == nullptr);
  EXPECT(status.get_size() == 0 && status.get_tag() == 0 && status.get_user_context() == nullptr);
  EXPECT(directions[0] != directions[1] && opcodes[0] != opcodes[1] && backends[0] != backends[1]);
  try {
    throw lci::peer_failure_error(3, "test");
  } catch (const std::runtime_error& caught) {
    EXPECT(static_cast<const lci::peer_failure_error&>(caught).failed_rank() == 3);
  }
}

// Resources.

template <class Resource>
void expect_name(Resource resource, const char* name, void* context) {
  EXPECT(resource.get_attr_name() == name);
  EXPECT(resource.get_attr_user_context() == context);
}

void test_attributes() {
  const lci::global_attr_t defaults = lci::get_g_default_attr();
  lci::set_g_default_attr(defaults);
  EXPECT(defaults.packet_return_threshold == 4096 && defaults.imm_nbits_tag == 16);
  EXPECT(defaults.imm_nbits_rcomp == 15 && defaults.packet_size == 8192);
  EXPECT(defaults.npackets == 65536 && defaults.sync_threshold == 1 && !defaults.zero_copy_am);
  EXPECT(defaults.cq_type == lci::attr_cq_type_t::lcrq && defaults.cq_default_length == 65536);
  EXPECT(defaults.matching_engine_type == lci::attr_matching_engine_type_t::map);
  EXPECT(defaults.rdv_protocol == lci::attr_rdv_protocol_t::auto_select);
  EXPECT(defaults.max_inject_size == 64 && defaults.max_msg_size >= (size_t{1} << 30));
  EXPECT(defaults.ibv_gid_idx == -1 && !defaults.ibv_force_gid_auto_select && defaults.use_dmabuf);
  EXPECT(defaults.ibv_odp_strategy == lci::attr_ibv_odp_strategy_t::none);
  EXPECT(defaults.ibv_prefetch_strategy == lci::attr_ibv_prefetch_strategy_t::none);
  EXPECT(defaults.ibv_td_strategy == lci::attr_ibv_td_strategy_t::per_qp);
  EXPECT(defaults.net_send_reserved_pct == 0.25 && defaults.alloc_default_endpoint);
  EXPECT(!defaults.alloc_progress_endpoint && defaults.device_name.empty());
  EXPECT(defaults.alloc_default_device && defaults.alloc_default_packet_pool);
  EXPECT(defaults.alloc_default_matching_engine && defaults.ofi_provider_name.empty());

  const lci::runtime_t runtime = lci::get_g_runtime();
  expect_name(runtime, "the test", nullptr);
  EXPECT(runtime.get_attr_packet_return_threshold() == 4096);
  EXPECT(runtime.get_attr_imm_nbits_tag() == 16 && runtime.get_attr_imm_nbits_rcomp() == 15);
  EXPECT(runtime.get_attr_rdv_protocol() == lci::attr_rdv_protocol_t::auto_select);
  EXPECT(runtime.get_attr_max_imm_tag() == 0xffff && runtime.get_attr_max_imm_rcomp() == 0x7fff);
  EXPECT(runtime.get_attr_max_tag() >= ~uint64_t{0} - 1);
  EXPECT(runtime.get_attr_max_rcomp() == ~uint32_t{0});
  EXPECT(runtime.get_attr_alloc_default_device() && runtime.get_attr_alloc_default_packet_pool());
  EXPECT(runtime.get_attr_alloc_default_matching_engine());
}

void test_resources() {
  int context = 0;
  lci::net_context_t network =
      lci::alloc_net_context_x().max_msg_size(size_t{1} << 20).name("n").user_context(&context)();
  expect_name(network, "n", &context);
  EXPECT(network.get_attr_max_msg_size() == size_t{1} << 20 &&
         network.get_attr_max_inject_size() == 64);
  EXPECT(network.get_attr_backend() != lci::attr_backend_t::none);
  EXPECT(network.get_attr_support_putimm() && network.get_attr_ofi_provider_name().empty());
  EXPECT(lci::get_default_net_context().get_attr_device_name().empty());

  lci::packet_pool_t pool = lci::alloc_packet_pool_x().packet_size(1024).npackets(16).name("p")();
  expect_name(pool, "p", nullptr);
  EXPECT(pool.get_attr_packet_size() == 1024 && pool.get_attr_npackets() == 16);
  EXPECT(lci::get_max_bcopy_size_x().packet_pool(pool)() == 1024);
  EXPECT(lci::get_max_bcopy_size() == 8192);

  lci::device_t device = lci::alloc_device_x()
                             .net_context(network)
                             .packet_pool(pool)
                             .net_max_sends(64)
                             .net_max_recvs(64)
                             .net_max_cqes(256)
                             .net_send_reserved_pct(0.5)
                             .alloc_progress_endpoint(true)
                             .use_reg_cache(true)
                             .ibv_td_strategy(lci::attr_ibv_td_strategy_t::all_qp)
                             .ofi_lock_mode(0)
                             .name("d")
                             .user_context(&context)();
  expect_name(device, "d", &context);
  EXPECT(device.get_attr_uid() == 0 && device.get_attr_net_max_sends() == 64);
  EXPECT(device.get_attr_net_max_recvs() == 64 && device.get_attr_net_max_cqes() == 256);
  EXPECT(device.get_attr_net_send_reserved_pct() == 0.5 && device.get_attr_use_reg_cache());
  EXPECT(device.get_attr_alloc_default_endpoint() && device.get_attr_alloc_progress_endpoint());
  EXPECT(device.get_attr_ibv_td_strategy() == lci::attr_ibv_td_strategy_t::all_qp);
  EXPECT(device != lci::get_default_device() && !lci::get_default_device().is_empty());

  lci::endpoint_t endpoint = lci::alloc_endpoint_x().device(device).name("e")();
  expect_name(endpoint, "e", nullptr);
  EXPECT(endpoint.get_attr_uid() == 1);
  EXPECT(lci::get_default_endpoint_x().device(device)().get_attr_uid() == 0);
  EXPECT(!lci::get_default_endpoint().is_empty());

  lci::register_packet_pool(lci::get_default_packet_pool(), device);
  lci::deregister_packet_pool(lci::get_default_packet_pool(), device);

  char bytes[64];
  lci::mr_t mr = lci::register_memory_x(bytes, sizeof(bytes)).device(device).name("m")();
  expect_name(mr, "m", nullptr);
  EXPECT(!lci::get_rmr(mr).is_empty() && lci::RMR_NULL.is_empty());
  EXPECT(lci::get_mr_address(mr) == bytes && lci::get_mr_size(mr) == sizeof(bytes));
  EXPECT(lci::MR_HOST.is_empty() && lci::MR_DEVICE != lci::MR_UNKNOWN);
  lci::mr_t memory = lci::alloc_mr_x(100).device(device).name("a")();
  expect_name(memory, "a", nullptr);
  EXPECT(static_cast<char*>(lci::get_mr_address(memory))[99] == 0);
  EXPECT_THROW(lci::deregister_memory(&memory), std::invalid_argument);
  EXPECT_THROW(lci::free_mr(&mr), std::invalid_argument);
  lci::free_mr(&memory);
  EXPECT(memory.is_empty());

  lci::matching_engine_t engine = lci::alloc_matching_engine_x()
                                      .matching_engine_type(lci::attr_matching_engine_type_t::queue)
                                      .name("q")();
  expect_name(engine, "q", nullptr);
  EXPECT(engine.get_attr_matching_engine_type() == lci::attr_matching_engine_type_t::queue);
  EXPECT(lci::matching_engine_insert(engine, 7, bytes, lci::matching_entry_type_t::send) ==
         nullptr);
  EXPECT(lci::matching_engine_insert(engine, 8, &context, lci::matching_entry_type_t::recv) ==
         nullptr);
  EXPECT(lci::matching_engine_insert(engine, 7, &context, lci::matching_entry_type_t::recv) ==
         bytes);
  EXPECT(!lci::get_default_matching_engine().is_empty());

  void* packet = lci::get_upacket_x().packet_pool(pool)();
  EXPECT(packet != nullptr);
  std::memset(packet, 1, 1024);

  // The order in which they may be freed.
  EXPECT_THROW(lci::free_net_context(&network), std::logic_error);
  EXPECT_THROW(lci::free_packet_pool(&pool), std::logic_error);
  EXPECT_THROW(lci::free_device(&device), std::logic_error);
  lci::runtime_t runtime = lci::get_g_runtime();
  EXPECT_THROW(lci::free_runtime(&runtime), std::logic_error);
  lci::free_endpoint(&endpoint);
  lci::deregister_memory(&mr);
  lci::wait_drained_x().device(device)();
  lci::free_device(&device);
  EXPECT(endpoint.is_empty() && mr.is_empty() && device.is_empty());
  EXPECT_THROW(lci::free_packet_pool(&pool), std::logic_error);
  lci::put_upacket(packet);
  lci::free_packet_pool(&pool);
  lci::free_matching_engine(&engine);
  lci::free_net_context(&network);
  EXPECT(pool.is_empty() && engine.is_empty() && network.is_empty());
  EXPECT_THROW(lci::free_device(&device), std::invalid_argument);
  lci::allocator_base_t* allocator = lci::get_allocator();
  EXPECT(allocator == &lci::g_allocator_default);
  lci::set_allocator(allocator);
}

// Completion objects.

struct own_comp : lci::comp_impl_t {
  void signal(lci::status_t status) override { seen += status.size; }
  size_t seen = 0;
};

void test_completion_objects() {
  const lci::status_t status = lci::errorcode_t::done;
  lci::comp_t sync =
      lci::alloc_sync_x().threshold(2).zero_copy_am(true).name("s").user_context(&sync)();
  expect_name(sync, "s", &sync);
  EXPECT(sync.get_attr_comp_type() == lci::attr_comp_type_t::sync);
  EXPECT(sync.get_attr_sync_threshold() == 2 && sync.get_attr_zero_copy_am());
  lci::status_t out[2];
  lci::comp_signal(sync, status);
  EXPECT(!lci::sync_test(sync, out));
  lci::comp_signal(sync, status);
  lci::sync_wait_x(sync, out).do_progress(false)();
  lci::comp_t counter = lci::alloc_counter();
  lci::counter_set(counter, 5);
  lci::comp_signal(counter, status);
  EXPECT(lci::counter_get(counter) == 6);
  lci::comp_t queue = lci::alloc_cq_x()
                          .default_length(8)
                          .cq_type(lci::attr_cq_type_t::array_atomic)
                          .zero_copy_am(false)();
  EXPECT(queue.get_attr_cq_type() == lci::attr_cq_type_t::array_atomic);
  EXPECT(queue.get_attr_cq_default_length() == 8);
  EXPECT(lci::cq_pop(queue).is_retry());
  lci::comp_signal(queue, status);
  EXPECT(lci::cq_pop(queue).is_done());
  static int handled = 0;
  lci::comp_t handler = lci::alloc_handler([](lci::status_t) { ++handled; });
  lci::comp_signal(handler, status);
  EXPECT(handled == 1);
  own_comp own;
  lci::comp_t custom(&own);
  EXPECT(custom.get_attr_comp_type() == lci::attr_comp_type_t::custom);
  lci::status_t five = status;
  five.size = 5;
  lci::comp_signal(custom, five);
  EXPECT(own.seen == 5);
  const lci::rcomp_t first = lci::reserve_rcomps(2);
  EXPECT(lci::register_rcomp_x(counter).rcomp(first + 1)() == first + 1);
  lci::deregister_rcomp(first + 1);
  EXPECT(lci::COMP_NULL_EXPECT_DONE == lci::COMP_NULL);
  EXPECT(lci::COMP_NULL_EXPECT_DONE_OR_RETRY == lci::COMP_NULL_RETRY);
  for (lci::comp_t* comp : {&sync, &counter, &queue, &handler}) lci::free_comp(comp);
  EXPECT(sync.is_empty());
}

// Operations.

void test_operations() {
  const int rank = lci::get_rank_me();
  const int n = lci::get_rank_n();
  const int to = (rank + 1) % n;
  const int from = (rank + n - 1) % n;
  const lci::device_t device = lci::get_default_device();
  const lci::endpoint_t endpoint = lci::get_default_endpoint();
  const lci::packet_pool_t pool = lci::get_default_packet_pool();
  const lci::matching_engine_t engine = lci::get_default_matching_engine();
  lci::comp_t queue = lci::alloc_cq();
  const lci::rcomp_t rcomp = lci::register_rcomp(queue);
  const auto pop = [queue] {
    lci::status_t status;
    do {
      lci::progress_x().device(lci::get_default_device()).endpoint(lci::get_default_endpoint())();
      status = lci::cq_pop(queue);
    } while (status.is_retry());
    return status;
  };
  int64_t value = rank;
  int64_t got = -1;
  lci::mr_t mr = lci::register_memory(&value, sizeof(value));
  std::vector<lci::rmr_t> rmrs(static_cast<size_t>(n));
  const lci::rmr_t own = lci::get_rmr(mr);
  lci::allgather(&own, rmrs.data(), sizeof(own));

  // Send and receive, by the general form and by their own.
  lci::comp_t sync = lci::alloc_sync();
  int context = 0;
  const auto expect_received = [&](const lci::status_t& posted) {
    lci::status_t status = posted;
    EXPECT(!posted.is_retry());
    if (posted.is_posted()) lci::sync_wait(sync, &status);
    EXPECT(status.is_done() && status.get_rank() == from && status.get_size() == sizeof(got));
    EXPECT(got == from && status.get_user_context() == &context);
    got = -1;
  };
  lci::status_t posted = lci::post_recv_x(from, &got, sizeof(got), 5, sync)
                             .device(device)
                             .endpoint(endpoint)
                             .packet_pool(pool)
                             .matching_engine(engine)
                             .comp_semantic(lci::comp_semantic_t::memory)
                             .mr(lci::MR_HOST)
                             .user_context(&context)
                             .matching_policy(lci::matching_policy_t::rank_tag)
                             .allow_done(true)
                             .allow_posted(true)
                             .allow_retry(true)
                             .runtime(lci::get_g_runtime())();
  EXPECT(lci::post_send(to, &value, sizeof(value), 5, lci::COMP_NULL).is_done());
  expect_received(posted);
  posted = lci::post_comm_x(lci::direction_t::IN, from, &got, sizeof(got), sync)
               .tag(6)
               .user_context(&context)();
  static_cast<void>(
      lci::post_comm_x(lci::direction_t::OUT, to, &value, sizeof(value), lci::COMP_NULL)
          .tag(6)
          .comp_semantic(lci::comp_semantic_t::network)
          .matching_engine(engine)());
  expect_received(posted);

  // Active message.
  lci::barrier();
  static_cast<void>(
      lci::post_comm_x(lci::direction_t::OUT, to, &value, sizeof(value), lci::COMP_NULL)
          .remote_comp(rcomp)
          .tag(7)());
  lci::status_t arrived = pop();
  EXPECT(arrived.get_rank() == from && arrived.get_tag() == 7 &&
         arrived.get_size() == sizeof(value));
  std::free(arrived.get_buffer());

  // Put and get, with signal and without.
  lci::barrier();
  int64_t other = 100 + rank;
  EXPECT(
      !lci::post_put_x(to, &other, sizeof(other), lci::COMP_NULL, 0, rmrs[static_cast<size_t>(to)])
           .tag(9)
           .remote_comp(rcomp)()
           .is_posted());
  arrived = pop();
  EXPECT(arrived.get_rank() == from && arrived.get_tag() == 9 && value == 100 + from);
  lci::barrier();
  static_cast<void>(
      lci::post_get_x(to, &got, sizeof(got), lci::COMP_NULL, 0, rmrs[static_cast<size_t>(to)])
          .tag(10)
          .remote_comp(rcomp)());
  EXPECT(got == 100 + rank);
  arrived = pop();
  EXPECT(arrived.get_rank() == from && arrived.get_tag() == 10);
  lci::barrier();
  static_cast<void>(
      lci::post_comm_x(lci::direction_t::OUT, to, &other, sizeof(other), lci::COMP_NULL)
          .rmr(rmrs[static_cast<size_t>(to)])
          .remote_disp(0)());
  static_cast<void>(lci::post_put(to, &other, 4, lci::COMP_NULL, 4, rmrs[static_cast<size_t>(to)]));
  static_cast<void>(lci::post_get(to, &got, 4, lci::COMP_NULL, 0, rmrs[static_cast<size_t>(to)]));
  lci::barrier();
  lci::deregister_memory(&mr);
  lci::deregister_rcomp(rcomp);
  lci::free_comp(&queue);
  lci::free_comp(&sync);
  lci::wait_drained();
  EXPECT(lci::test_drained().is_done());
}

// The network by itself.

void test_network() {
  const int n = lci::get_rank_n();
  const int rank = lci::get_rank_me();
  const int to = (rank + 1) % n;
  lci::device_t device = lci::alloc_device();
  int64_t room[3] = {-1, -1, -1};  // the last one for a get
  int64_t value[2] = {rank, rank + 1};
  lci::mr_t mr = lci::register_memory(room, sizeof(room));
  std::vector<lci::rmr_t> rmrs(static_cast<size_t>(n));
  const lci::rmr_t own = lci::get_rmr(mr);
  lci::allgather(&own, rmrs.data(), sizeof(own));
  const lci::rmr_t theirs = rmrs[static_cast<size_t>(to)];
  int64_t received[2];
  int context = 0;
  const auto until_done = [](const auto& op) {
    while (op().is_retry()) {
    }
  };
  // A put or get of another rank may need this device to be polled here, also when all is done that
  // this rank hears of.
  const auto meet = [&] {
    lci::comp_t met = lci::alloc_sync();
    lci::barrier_x().comp(met)();
    while (!lci::sync_test(met, nullptr)) {
      lci::progress();
      lci::net_status_t none;
      EXPECT(lci::net_poll_cq_x(1, &none).device(device)() == 0);
    }
    lci::free_comp(&met);
  };
  for (int64_t& each : received) {
    static_cast<void>(lci::net_post_recv_x(&each, sizeof(each), lci::MR_HOST)
                          .device(device)
                          .user_context(&each)());
  }
  until_done(lci::net_post_sends_x(to, &value[0], 8).device(device).imm_data(1));
  until_done(
      lci::net_post_send_x(to, &value[1], 8, mr).device(device).imm_data(2).user_context(&context));
  until_done(lci::net_post_puts_x(to, &value[0], 8, 0, theirs).device(device));
  until_done(lci::net_post_put_x(to, &value[1], 8, mr, 8, theirs).device(device));
  until_done(lci::net_post_putImms_x(to, &value[0], 8, 0, theirs).device(device).imm_data(3));
  until_done(lci::net_post_putImm_x(to, &value[1], 8, mr, 8, theirs).device(device).imm_data(4));
  int counts[6] = {};
  {
    int seen = 0;
    while (seen < 7) {
      lci::net_status_t statuses[4];
      const size_t count = lci::net_poll_cq_x(4, statuses).device(device)();
      for (size_t i = 0; i < count; ++i, ++seen) ++counts[static_cast<int>(statuses[i].opcode)];
    }
  }
  EXPECT(counts[static_cast<int>(lci::net_opcode_t::SEND)] == 1);
  EXPECT(counts[static_cast<int>(lci::net_opcode_t::RECV)] == 2);
  EXPECT(counts[static_cast<int>(lci::net_opcode_t::WRITE)] == 2);
  EXPECT(counts[static_cast<int>(lci::net_opcode_t::REMOTE_WRITE)] == 2);
  const int from = (rank + n - 1) % n;
  EXPECT(room[0] == from && room[1] == from + 1);
  EXPECT(received[0] == from && received[1] == from + 1);
  meet();
  int64_t& read = room[2];
  until_done(lci::net_post_get_x(to, &read, 8, mr, 8, theirs).device(device).user_context(&read));
  lci::net_status_t status;
  while (lci::net_poll_cq_x(1, &status).device(device)() == 0) {
  }
  EXPECT(status.opcode == lci::net_opcode_t::READ && status.user_context == &read);
  EXPECT(read == rank + 1);
  meet();
  lci::deregister_memory(&mr);
  lci::free_device(&device);
}

void test_second_runtime() {
  lci::runtime_t second =
      lci::alloc_runtime_x().alloc_default_device(false).device_name("").name("2")();
  expect_name(second, "2", nullptr);
  EXPECT_THROW(lci::get_default_device_x().runtime(second)(), std::logic_error);
  lci::device_t device = lci::alloc_device_x().runtime(second)();
  EXPECT_THROW(lci::barrier_x().runtime(lci::get_g_runtime()).device(device)(),
               std::invalid_argument);
  lci::barrier_x().device(device)();
  lci::free_device(&device);
  lci::free_runtime(&second);
  EXPECT(second.is_empty());
}

void test() {
  lci::global_initialize();
  lci::g_runtime_init_x().name("the test")();
  test_error_types();
  test_attributes();
  test_resources();
  test_completion_objects();
  test_operations();
  test_network();
  test_second_runtime();
  lci::barrier();
  lci::g_runtime_fina();
  lci::global_finalize();
}

}  // namespace

int main() { return run_test(test); }
