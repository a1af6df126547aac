// Memory that a rank has named but can't use: what copies it through the kernel ends on both ranks,
// with `fatal`, and the job continues. (Where the library itself writes to it, the rank is ended by a
// signal.)
#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

class memory {
 public:
  explicit memory(size_t size, int protection = PROT_READ | PROT_WRITE)
      : data(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        size_(size) {
    EXPECT(data != MAP_FAILED);
    std::memset(data, lci::get_rank_me() + 1, size);
    protect(protection);
  }
  ~memory() { munmap(data, size_); }
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  void protect(int protection) const { EXPECT(mprotect(data, size_, protection) == 0); }
  bool is_of(int rank) const {
    const auto* const bytes = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size_; ++i) {
      if (bytes[i] != rank + 1) return false;
    }
    return true;
  }

  void* const data;

 private:
  const size_t size_;
};

struct ring {
  int left;
  int right;
};

// The code with which an operation ends; `post` starts it with this completion object. One that
// fails at once throws.
template <class Post>
lci::errorcode_t end_of(const Post& post, lci::comp_t ended) {
  try {
    lci::status_t status = post(ended);
    for (; status.is_retry(); status = post(ended)) lci::progress();
    if (status.is_posted()) lci::sync_wait(ended, &status);
    return status.error.errorcode;
  } catch (const std::runtime_error&) {
    return lci::errorcode_t::fatal;
  }
}

// Every rank sends to its right neighbor. Returns whether both operations have ended with `code`.
bool exchange(const ring& ranks, const memory& out, const memory& in, size_t size,
              lci::errorcode_t code) {
  lci::comp_t sent = lci::alloc_sync();
  lci::comp_t received = lci::alloc_sync();
  lci::status_t arrived = lci::post_recv(ranks.left, in.data, size, 1, received);
  const lci::errorcode_t of_send = end_of(
      [&](lci::comp_t c) { return lci::post_send(ranks.right, out.data, size, 1, c); }, sent);
  if (arrived.is_posted()) lci::sync_wait(received, &arrived);
  lci::free_comp(&sent);
  lci::free_comp(&received);
  return of_send == code && arrived.error.errorcode == code;
}

void test_messages(const ring& ranks, size_t size) {
  const memory out(size);
  const memory in(size);
  EXPECT(exchange(ranks, out, memory(size, PROT_READ), size, lci::errorcode_t::fatal));
  EXPECT(exchange(ranks, memory(size, PROT_NONE), in, size, lci::errorcode_t::fatal));
  EXPECT(exchange(ranks, out, in, size, lci::errorcode_t::done));
  EXPECT(in.is_of(ranks.left));
}

// An active message that can't be read does not arrive.
void test_active_message(const ring& ranks, size_t size, lci::comp_t arrivals,
                         lci::rcomp_t arrivals_there) {
  const memory bad(size, PROT_NONE);
  lci::comp_t sent = lci::alloc_sync();
  const auto post = [&](lci::comp_t c) {
    return lci::post_am(ranks.right, bad.data, size, c, arrivals_there);
  };
  EXPECT(end_of(post, sent) == lci::errorcode_t::fatal);
  lci::free_comp(&sent);
  lci::barrier();
  EXPECT(lci::cq_pop(arrivals).is_retry());
}

void test_rma(const ring& ranks, size_t size) {
  const memory mine(size);
  const memory good(size);
  const memory read_only(size, PROT_READ);
  lci::mr_t mr = lci::register_memory(mine.data, size);
  const lci::rmr_t own = lci::get_rmr(mr);
  std::vector<lci::rmr_t> all(static_cast<size_t>(lci::get_rank_n()));
  lci::allgather(&own, all.data(), sizeof(own));
  const lci::rmr_t there = all[static_cast<size_t>(ranks.right)];
  lci::comp_t ended = lci::alloc_sync();
  const auto get_into = [&](const memory& to) {
    return [&](lci::comp_t c) { return lci::post_get(ranks.right, to.data, size, c, 0, there); };
  };
  const auto put = [&](lci::comp_t c) {
    return lci::post_put(ranks.right, good.data, size, c, 0, there);
  };
  EXPECT(end_of(get_into(read_only), ended) == lci::errorcode_t::fatal);
  EXPECT(end_of(get_into(good), ended) == lci::errorcode_t::done);
  EXPECT(good.is_of(ranks.right));
  lci::barrier();
  mine.protect(PROT_READ);
  lci::barrier();
  EXPECT(end_of(put, ended) == lci::errorcode_t::fatal);
  lci::barrier();
  lci::free_comp(&ended);
  lci::deregister_memory(&mr);
}

void test() {
  lci::g_runtime_init();
  const int me = lci::get_rank_me();
  const int n = lci::get_rank_n();
  const ring ranks{(me + n - 1) % n, (me + 1) % n};
  lci::comp_t arrivals = lci::alloc_cq();
  const lci::rcomp_t arrivals_there = lci::register_rcomp(arrivals);
  lci::barrier();
  // Those that the receiver gets, and those that both ranks copy.
  for (const size_t size :
       {size_t{40} << 10, size_t{100} << 10, size_t{1} << 20, size_t{5} << 20}) {
    test_messages(ranks, size);
    test_active_message(ranks, size, arrivals, arrivals_there);
    test_rma(ranks, size);
  }
  lci::barrier();
  lci::free_comp(&arrivals);
  lci::g_runtime_fina();
}

}  // namespace

int main() { return run_test(test); }
