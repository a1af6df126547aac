// The content of statuses: of the one that posting returns, and of those that the completion
// objects get on both sides, for every operation and for sizes that use different protocols.
#include <type_traits>

#include "check.h"

namespace {

using compat::index_of;

constexpr size_t kSizes[] = {0, 8, 1000, 8000, 100000};
constexpr lci::tag_t kTag = 4711;

struct expected_t {
  int rank;
  const void* buffer;
  size_t size;
  lci::tag_t tag;
  const void* user_context;
};

// `line` is where the status was expected.
void expect(const lci::status_t& status, const expected_t& expected, int line = __builtin_LINE()) {
  const auto same = [line](const auto& is, const auto& should_be, const char* what) {
    compat::expect_equal(is, should_be, what, __FILE__, line);
  };
  same(status.get_rank(), expected.rank, "status.rank");
  same(reinterpret_cast<uintptr_t>(status.get_buffer()),
       reinterpret_cast<uintptr_t>(expected.buffer), "status.buffer");
  same(status.get_size(), expected.size, "status.size");
  same(status.get_tag(), expected.tag, "status.tag");
  same(reinterpret_cast<uintptr_t>(status.get_user_context()),
       reinterpret_cast<uintptr_t>(expected.user_context), "status.user_context");
}

// The returned status holds the same fields, whether it is done or posted (a receive that is posted
// does not know the size yet, and holds that of its buffer); the signaled one is done. Then once
// each: never done, never posted.
template <class Op>
void expect_local(const Op& op, lci::comp_t cq, const expected_t& expected) {
  const lci::status_t returned = compat::post(op);
  expected_t as_posted = expected;
  if (returned.is_posted() && std::is_same_v<Op, lci::post_recv_x>) {
    as_posted.size = returned.get_size();
  }
  expect(returned, as_posted);
  if (returned.is_posted()) {
    const lci::status_t signaled = compat::pop(cq);
    EXPECT(signaled.error.errorcode == lci::errorcode_t::done);
    expect(signaled, expected);
  } else {
    EXPECT(returned.is_done());
  }
  auto always_posted = op;
  always_posted.allow_done(false);
  EXPECT(compat::post(always_posted).is_posted());
  const lci::status_t signaled = compat::pop(cq);
  EXPECT(signaled.is_done());
  expect(signaled, expected);
  auto always_done = op;
  always_done.allow_posted(false);
  const lci::status_t done = compat::post(always_done);
  EXPECT(done.is_done());
  expect(done, expected);
  EXPECT(lci::cq_pop(cq).is_retry());
}
constexpr int kTimes = 3;  // that expect_local posts

struct side_t {
  lci::comp_t cq = lci::alloc_cq();         // of what this rank posts
  lci::comp_t remote_cq = lci::alloc_cq();  // of what arrives
  lci::rcomp_t rcomp = lci::register_rcomp(remote_cq);
  int to = compat::next_rank();
  int from = compat::previous_rank();
  int context = 0;
};

// A receive is not complete before its send is posted, so that both sides take turns.
void test_send_receive(side_t& side, size_t size) {
  std::vector<char> out = compat::bytes_of(lci::get_rank_me(), size);
  std::vector<char> in(size + 16);
  lci::comp_t recv_cq = lci::alloc_cq();
  int recv_context = 0;
  // With room for more than arrives. All of them are posted before the sends.
  for (int i = 0; i < kTimes; ++i) {
    const lci::status_t status = lci::post_recv_x(side.from, in.data(), in.size(), kTag, recv_cq)
                                     .user_context(&recv_context)();
    if (status.is_done()) {
      expect(status, {side.from, in.data(), size, kTag, &recv_context});
      lci::comp_signal(recv_cq, status);
    } else {
      EXPECT(status.is_posted());
      expect(status, {side.from, in.data(), in.size(), kTag, &recv_context});
    }
  }
  expect_local(
      lci::post_send_x(side.to, out.data(), size, kTag, side.cq).user_context(&side.context),
      side.cq, {side.to, out.data(), size, kTag, &side.context});
  for (int i = 0; i < kTimes; ++i) {
    expect(compat::pop(recv_cq), {side.from, in.data(), size, kTag, &recv_context});
  }
  EXPECT(compat::are_bytes_of(side.from, in.data(), size));
  lci::barrier();
  // Those that find their message.
  if (size <= 1000) {
    for (int i = 0; i < kTimes; ++i) {
      (void)compat::post(
          lci::post_send_x(side.to, out.data(), size, kTag + 1, lci::COMP_NULL_RETRY));
    }
    lci::barrier();
    expect_local(lci::post_recv_x(side.from, in.data(), in.size(), kTag + 1, recv_cq)
                     .user_context(&recv_context),
                 recv_cq, {side.from, in.data(), size, kTag + 1, &recv_context});
    lci::barrier();
  }
  lci::free_comp(&recv_cq);
}

void test_active_message(side_t& side, size_t size) {
  std::vector<char> out = compat::bytes_of(lci::get_rank_me(), size);
  expect_local(lci::post_am_x(side.to, out.data(), size, side.cq, side.rcomp)
                   .tag(kTag)
                   .user_context(&side.context),
               side.cq, {side.to, out.data(), size, kTag, &side.context});
  for (int i = 0; i < kTimes; ++i) {
    const lci::status_t arrived = compat::pop(side.remote_cq);
    EXPECT(arrived.error.errorcode == lci::errorcode_t::done);
    expect(arrived, {side.from, arrived.get_buffer(), size, kTag, nullptr});
    EXPECT(size == 0 || arrived.get_buffer() != nullptr);
    EXPECT(compat::are_bytes_of(side.from, arrived.get_buffer(), size));
    std::free(arrived.get_buffer());
  }
  lci::barrier();
}

void test_put_and_get(side_t& side, size_t size) {
  std::vector<char> room(100000, 'r');
  lci::mr_t mr = lci::register_memory(room.data(), room.size());
  const lci::rmr_t own = lci::get_rmr(mr);
  std::vector<lci::rmr_t> rmrs(index_of(lci::get_rank_n()));
  lci::allgather(&own, rmrs.data(), sizeof(own));
  const lci::rmr_t theirs = rmrs[index_of(side.to)];

  std::vector<char> out = compat::bytes_of(lci::get_rank_me(), size);
  expect_local(lci::post_put_x(side.to, out.data(), size, side.cq, 0, theirs)
                   .tag(kTag)
                   .user_context(&side.context),
               side.cq, {side.to, out.data(), size, kTag, &side.context});
  // Without any option: no tag, no context.
  const lci::status_t plain =
      compat::post(lci::post_put_x(side.to, out.data(), size, lci::COMP_NULL_RETRY, 0, theirs));
  expect(plain, {side.to, out.data(), size, 0, nullptr});
  lci::barrier();
  expect_local(lci::post_put_x(side.to, out.data(), size, side.cq, 0, theirs)
                   .tag(kTag)
                   .remote_comp(side.rcomp)
                   .user_context(&side.context),
               side.cq, {side.to, out.data(), size, kTag, &side.context});
  // The target learns who and the tag, and nothing else.
  for (int i = 0; i < kTimes; ++i) {
    const lci::status_t status = compat::pop(side.remote_cq);
    EXPECT(status.error.errorcode == lci::errorcode_t::done);
    expect(status, {side.from, nullptr, 0, kTag, nullptr});
    EXPECT(compat::are_bytes_of(side.from, room.data(), size));
  }
  lci::barrier();

  std::vector<char> in(size + 1, 'i');
  expect_local(lci::post_get_x(side.to, in.data(), size, side.cq, 0, theirs)
                   .tag(kTag)
                   .user_context(&side.context),
               side.cq, {side.to, in.data(), size, kTag, &side.context});
  EXPECT(compat::are_bytes_of(lci::get_rank_me(), in.data(), size));
  EXPECT_EQ(in[size], 'i');
  lci::barrier();
  lci::deregister_memory(&mr);
}

// A get that notifies the target: an extension of this library.
void test_get_with_signal(side_t& side) {
  int64_t room = 1000 + lci::get_rank_me();
  lci::mr_t mr = lci::register_memory(&room, sizeof(room));
  const lci::rmr_t own = lci::get_rmr(mr);
  std::vector<lci::rmr_t> rmrs(index_of(lci::get_rank_n()));
  lci::allgather(&own, rmrs.data(), sizeof(own));
  int64_t got = 0;
  expect_local(lci::post_get_x(side.to, &got, sizeof(got), side.cq, 0, rmrs[index_of(side.to)])
                   .tag(kTag)
                   .remote_comp(side.rcomp)
                   .user_context(&side.context),
               side.cq, {side.to, &got, sizeof(got), kTag, &side.context});
  EXPECT_EQ(got, 1000 + side.to);
  for (int i = 0; i < kTimes; ++i) {
    expect(compat::pop(side.remote_cq), {side.from, nullptr, 0, kTag, nullptr});
  }
  lci::barrier();
  lci::deregister_memory(&mr);
}

// The same through post_comm, which is all of them.
void test_comm(side_t& side) {
  int64_t out = 5;
  const lci::status_t sent = compat::post(
      lci::post_comm_x(lci::direction_t::OUT, side.to, &out, sizeof(out), lci::COMP_NULL_RETRY)
          .tag(kTag)
          .user_context(&side.context));
  expect(sent, {side.to, &out, sizeof(out), kTag, &side.context});
  int64_t in = 0;
  lci::comp_t sync = lci::alloc_sync();
  const lci::status_t received = compat::complete(
      lci::post_comm_x(lci::direction_t::IN, side.from, &in, sizeof(in), sync).tag(kTag), sync);
  expect(received, {side.from, &in, sizeof(in), kTag, nullptr});
  lci::free_comp(&sync);
  lci::barrier();
}

// A synchronizer of several signals gives all statuses.
void test_several_signals(side_t& side) {
  lci::comp_t sync = lci::alloc_sync_x().threshold(3)();
  EXPECT(!lci::sync_test(sync, nullptr));
  int64_t in[3] = {};
  for (int64_t& each : in) {
    const lci::tag_t tag = kTag + 10 + static_cast<lci::tag_t>(&each - in);
    EXPECT(lci::post_recv_x(side.from, &each, sizeof(each), tag, sync)
               .user_context(&each)
               .allow_done(false)()
               .is_posted());
  }
  lci::barrier();
  for (lci::tag_t i = 0; i < 3; ++i) {
    int64_t out = static_cast<int64_t>(i) * 11;
    (void)compat::post(
        lci::post_send_x(side.to, &out, sizeof(out), kTag + 10 + i, lci::COMP_NULL_RETRY));
  }
  lci::status_t statuses[3];
  while (!lci::sync_test(sync, statuses)) lci::progress();
  lci::tag_t sum = 0;
  for (const lci::status_t& status : statuses) {
    const lci::tag_t i = status.get_tag() - kTag - 10;
    expect(status, {side.from, &in[i], sizeof(in[0]), status.get_tag(), &in[i]});
    EXPECT_EQ(in[i], static_cast<int64_t>(i) * 11);
    sum += i;
  }
  EXPECT_EQ(sum, 3u);
  lci::barrier();
  lci::free_comp(&sync);
}

void test() {
  lci::g_runtime_init();
  {
    side_t side;
    EXPECT(lci::cq_pop(side.cq).is_retry());
    lci::barrier();
    for (const size_t size : kSizes) {
      test_send_receive(side, size);
      test_active_message(side, size);
      test_put_and_get(side, size);
    }
    test_comm(side);
    test_several_signals(side);
    test_get_with_signal(side);
    lci::deregister_rcomp(side.rcomp);
    lci::free_comp(&side.cq);
    lci::free_comp(&side.remote_cq);
  }
  lci::g_runtime_fina();
}

}  // namespace

int main() { return compat::run(test); }
