// Every rank greets the next one, and checks the greeting that it receives.
//   lcrun -n 4 hello
#include <cstdio>
#include <cstdlib>
#include <string>

#include "lci.hpp"

namespace {

std::string greeting_of(int rank) { return "hello from rank " + std::to_string(rank); }

}  // namespace

int main() {
  // [begin init]
  lci::g_runtime_init();
  const int rank = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  // [end init]

  // [begin inbox]
  // Messages for this rank end in a queue, which the other ranks address by the number `rcomp`.
  lci::comp_t inbox = lci::alloc_cq();
  const lci::rcomp_t rcomp = lci::register_rcomp(inbox);
  lci::barrier();  // every rank has registered its queue
  // [end inbox]

  // [begin send]
  // COMP_NULL: when the call returns, the library does not need the buffer any more.
  const std::string greeting = greeting_of(rank);
  static_cast<void>(
      lci::post_am((rank + 1) % ranks, greeting.data(), greeting.size(), lci::COMP_NULL, rcomp));
  // [end send]

  // [begin receive]
  lci::status_t message;
  do {
    lci::progress();
    message = lci::cq_pop(inbox);
  } while (message.is_retry());  // the queue is empty
  const std::string received(static_cast<const char*>(message.get_buffer()), message.get_size());
  std::free(message.get_buffer());  // the buffer of an active message belongs to the receiver
  std::printf("rank %d of %d received \"%s\"\n", rank, ranks, received.c_str());
  // [end receive]

  const int left = (rank + ranks - 1) % ranks;
  const bool correct = message.get_rank() == left && received == greeting_of(left);

  // [begin end]
  lci::barrier();  // no rank sends to this one any more
  lci::deregister_rcomp(rcomp);
  lci::free_comp(&inbox);
  lci::g_runtime_fina();
  return correct ? EXIT_SUCCESS : EXIT_FAILURE;
  // [end end]
}
