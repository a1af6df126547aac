#include "examples/rpc/backend.h"

#include <cstdlib>

#include "lci.hpp"

namespace rpc::backend {
namespace {

// Shared by all threads.
lci::comp_t shandler;  // where the end of a send is reported: frees the buffer
lci::comp_t rcq;       // where messages for this rank arrive
lci::rcomp_t rcomp;    // how other ranks name rcq

// Threads that use different devices do not wait for each other.
thread_local lci::device_t device;

void send_cb(lci::status_t status) { std::free(status.get_buffer()); }

}  // namespace

void global_init(int* rank_me, int* rank_n) {
  lci::g_runtime_init();
  *rank_me = lci::get_rank_me();
  *rank_n = lci::get_rank_n();
  shandler = lci::alloc_handler(send_cb);
  rcq = lci::alloc_cq();
  rcomp = lci::register_rcomp(rcq);
  lci::barrier();  // from here on, all ranks know rcomp
}

void global_fina() {
  lci::barrier();  // from here on, nobody sends
  lci::deregister_rcomp(rcomp);
  lci::free_comp(&shandler);
  lci::free_comp(&rcq);
  lci::g_runtime_fina();
}

void thread_init() { device = lci::alloc_device(); }

void thread_fina() {
  lci::wait_drained_x().device(device)();
  lci::free_device(&device);
}

bool send_msg(int rank, void* buf, size_t size, uint64_t tag) {
  const lci::status_t status =
      lci::post_am_x(rank, buf, size, shandler, rcomp).tag(tag).device(device)();
  if (status.is_retry()) return false;
  // Complete already: then shandler will not be signaled. Otherwise it is posted and will be.
  if (status.is_done()) send_cb(status);
  return true;
}

bool poll_msg(msg_t* msg) {
  const lci::status_t status = lci::cq_pop(rcq);
  if (!status.is_done()) return false;
  *msg = {status.get_rank(), status.get_tag(), status.get_buffer(), status.get_size()};
  return true;
}

bool do_background_work() { return lci::progress_x().device(device)().is_done(); }

}  // namespace rpc::backend
