// The interface between the RPC layer and the communication library: it delivers byte strings, each
// with a number, to a rank. This is the interface that Listing 2 of the LCI paper (SC'25, section
// 4.2) implements; backend.cc is that listing, completed.
#ifndef EXAMPLES_RPC_BACKEND_H_
#define EXAMPLES_RPC_BACKEND_H_

#include <cstddef>
#include <cstdint>

namespace rpc::backend {

// An incoming message. Its receiver frees `buf` (malloc's memory; null if size is 0).
struct msg_t {
  int rank;      // who sent it
  uint64_t tag;  // as given by the sender
  void* buf;
  size_t size;
};

// By one thread, on all ranks: before everything else, and after it. All of these functions throw
// what LCI throws: std::runtime_error and what is derived from it.
void global_init(int* rank_me, int* rank_n);
void global_fina();

// By every thread that sends or makes progress: before that, and when all ranks' threads are
// through with it. All ranks have the same number of such threads.
void thread_init();
void thread_fina();

// Below: any thread, at any time.

// False: not now; make progress and try again. True: `buf`, which malloc made, is the backend's,
// and the message will arrive.
bool send_msg(int rank, void* buf, size_t size, uint64_t tag);
// Takes the next incoming message. False if there is none.
bool poll_msg(msg_t* msg);
// Moves communication forward through this thread's device. True if anything moved.
bool do_background_work();

}  // namespace rpc::backend

#endif  // EXAMPLES_RPC_BACKEND_H_
