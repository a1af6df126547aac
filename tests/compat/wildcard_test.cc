// Receives from any source or of any tag. A receive that names none of its policies derives one:
// ANY_SOURCE looks at the tag only, ANY_TAG at the rank only, both at nothing. The sender names
// that policy.
#include "check.h"

namespace {

using policy = lci::matching_policy_t;

struct message_t {
  int sender;
  int number;
};

void send(int to, int number, lci::tag_t tag, policy how, lci::comp_t sync) {
  message_t message = {lci::get_rank_me(), number};
  EXPECT(compat::complete(
             lci::post_send_x(to, &message, sizeof(message), tag, sync).matching_policy(how), sync)
             .is_done());
}

message_t receive(int from, lci::tag_t tag, lci::comp_t sync, lci::status_t* status) {
  message_t message = {-1, -1};
  *status = compat::complete(lci::post_recv_x(from, &message, sizeof(message), tag, sync), sync);
  EXPECT(status->is_done());
  EXPECT_EQ(status->get_size(), sizeof(message));
  EXPECT_EQ(status->get_rank(), message.sender);
  EXPECT(status->get_buffer() == &message);
  return message;
}

// The sends are there first, in an order of their own.
void test_sent_before(lci::comp_t sync) {
  constexpr int kMessages = 40;
  const int to = compat::next_rank();
  const int from = compat::previous_rank();
  for (int i = 0; i < kMessages; ++i) {
    const int number = i * 7 % kMessages;
    send(to, number, static_cast<lci::tag_t>(number), policy::rank_only, sync);
  }
  lci::barrier();
  std::vector<bool> seen(kMessages, false);
  for (int i = 0; i < kMessages; ++i) {
    lci::status_t status;
    const message_t message = receive(from, lci::ANY_TAG, sync, &status);
    EXPECT_EQ(message.sender, from);
    EXPECT_EQ(status.get_tag(), static_cast<lci::tag_t>(message.number));
    EXPECT(!seen[compat::index_of(message.number)]);
    seen[compat::index_of(message.number)] = true;
  }
  lci::barrier();
}

// Every rank sends to every rank, and each receives from anyone.
void test_any_source(lci::comp_t sync) {
  const int n = lci::get_rank_n();
  for (const policy how : {policy::tag_only, policy::none}) {
    const lci::tag_t tag = how == policy::none ? lci::ANY_TAG : 77;
    for (int rank = 0; rank < n; ++rank) send(rank, rank, 77, how, sync);
    std::vector<bool> seen(compat::index_of(n), false);
    for (int i = 0; i < n; ++i) {
      lci::status_t status;
      const message_t message = receive(lci::ANY_SOURCE, tag, sync, &status);
      EXPECT_EQ(message.number, lci::get_rank_me());
      EXPECT_EQ(status.get_tag(), 77u);
      EXPECT(!seen[compat::index_of(message.sender)]);
      seen[compat::index_of(message.sender)] = true;
    }
    lci::barrier();
  }
}

// Receives that are posted first; the size of a rendezvous.
void test_posted_before() {
  constexpr size_t kBytes = 200000;
  const int to = compat::next_rank();
  const int from = compat::previous_rank();
  lci::comp_t cq = lci::alloc_cq();
  std::vector<char> of_tag(kBytes);
  std::vector<char> of_rank(kBytes);
  std::vector<char> of_any(kBytes);
  EXPECT(lci::post_recv(lci::ANY_SOURCE, of_tag.data(), kBytes, 5, cq).is_posted());
  EXPECT(lci::post_recv(from, of_rank.data(), kBytes, lci::ANY_TAG, cq).is_posted());
  EXPECT(lci::post_recv(lci::ANY_SOURCE, of_any.data(), kBytes, lci::ANY_TAG, cq).is_posted());
  lci::barrier();
  lci::comp_t sent = lci::alloc_counter();
  int posted = 0;
  std::vector<std::vector<char>> buffers;
  int shift = 0;
  for (const policy how : {policy::none, policy::rank_only, policy::tag_only}) {
    buffers.push_back(compat::bytes_of(lci::get_rank_me() + 10 * (shift + 1),
                                       kBytes - compat::index_of(shift + 1)));
    ++shift;
    const lci::status_t status =
        compat::post(lci::post_send_x(to, buffers.back().data(), buffers.back().size(), 5, sent)
                         .matching_policy(how));
    if (status.is_posted()) ++posted;
  }
  for (int i = 0; i < 3; ++i) {
    const lci::status_t status = compat::pop(cq);
    EXPECT_EQ(status.get_rank(), from);
    EXPECT_EQ(status.get_tag(), 5u);
    const int which = status.get_buffer() == of_any.data()    ? 1
                      : status.get_buffer() == of_rank.data() ? 2
                                                              : 3;
    EXPECT_EQ(status.get_size(), kBytes - compat::index_of(which));
    EXPECT(compat::are_bytes_of(from + 10 * which, status.get_buffer(), status.get_size()));
  }
  while (lci::counter_get(sent) < posted) lci::progress();
  lci::barrier();
  lci::free_comp(&sent);
  lci::free_comp(&cq);
}

// The policy that is named stays; with a rank and a tag it is not derived.
void test_explicit(lci::comp_t sync) {
  const int to = compat::next_rank();
  const int from = compat::previous_rank();
  for (const policy how : {policy::none, policy::rank_only, policy::tag_only, policy::rank_tag}) {
    send(to, 3, 9, how, sync);
    message_t message = {-1, -1};
    const lci::status_t status = compat::complete(
        lci::post_recv_x(from, &message, sizeof(message), 9, sync).matching_policy(how), sync);
    EXPECT_EQ(status.get_rank(), from);
    EXPECT_EQ(message.number, 3);
    // Named and derived are the same.
    const bool any_source = how == policy::none || how == policy::tag_only;
    const bool any_tag = how == policy::none || how == policy::rank_only;
    send(to, 4, 9, how, sync);
    const lci::status_t second =
        compat::complete(lci::post_recv_x(any_source ? lci::ANY_SOURCE : from, &message,
                                          sizeof(message), any_tag ? lci::ANY_TAG : 9, sync)
                             .matching_policy(how),
                         sync);
    EXPECT_EQ(second.get_rank(), from);
    EXPECT_EQ(second.get_tag(), 9u);
    EXPECT_EQ(message.number, 4);
    lci::barrier();
  }
  // post_comm is the same receive.
  send(to, 5, 11, policy::rank_only, sync);
  message_t message = {-1, -1};
  EXPECT_EQ(
      compat::complete(lci::post_comm_x(lci::direction_t::IN, from, &message, sizeof(message), sync)
                           .tag(lci::ANY_TAG),
                       sync)
          .get_tag(),
      11u);
  EXPECT_EQ(message.number, 5);
  lci::barrier();
}

// With a matching engine that keeps a list.
void test_engine(lci::comp_t sync) {
  lci::matching_engine_t engine = lci::alloc_matching_engine_x().matching_engine_type(
      lci::attr_matching_engine_type_t::queue)();
  lci::barrier();
  message_t message = {lci::get_rank_me(), 6};
  (void)compat::complete(lci::post_send_x(compat::next_rank(), &message, sizeof(message), 8, sync)
                             .matching_engine(engine)
                             .matching_policy(policy::tag_only),
                         sync);
  message_t got = {-1, -1};
  const lci::status_t status = compat::complete(
      lci::post_recv_x(lci::ANY_SOURCE, &got, sizeof(got), 8, sync).matching_engine(engine), sync);
  EXPECT_EQ(status.get_rank(), compat::previous_rank());
  EXPECT_EQ(got.number, 6);
  lci::barrier();
  lci::free_matching_engine(&engine);
}

void test() {
  lci::g_runtime_init();
  lci::comp_t sync = lci::alloc_sync();
  test_sent_before(sync);
  test_any_source(sync);
  test_posted_before();
  test_explicit(sync);
  test_engine(sync);
  lci::barrier();
  lci::free_comp(&sync);
  lci::g_runtime_fina();
}

}  // namespace

int main() { return compat::run(test); }
