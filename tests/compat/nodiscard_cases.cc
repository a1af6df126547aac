// Statements. The compiler refuses exactly those that are marked with "discarded": each throws away
// a result that the program must check, or an operation that was never run.
#include "lci.hpp"

void discarded(int rank, void* buffer, size_t size, lci::comp_t comp, lci::rcomp_t rcomp,
               lci::rmr_t rmr, lci::device_t device, lci::mr_t mr, lci::net_status_t* statuses) {
  // The second pair of parentheses is missing: nothing is sent.
  lci::post_am_x(rank, buffer, size, comp, rcomp).tag(5);                    // discarded
  lci::post_am_x(rank, buffer, size, comp, rcomp).tag(5).device(device);     // discarded
  lci::post_send_x(rank, buffer, size, 1, comp).allow_retry(false);          // discarded
  lci::post_recv_x(rank, buffer, size, 1, comp).user_context(buffer);        // discarded
  lci::post_put_x(rank, buffer, size, comp, 0, rmr).remote_comp(rcomp);      // discarded
  lci::post_get_x(rank, buffer, size, comp, 0, rmr).mr(mr);                  // discarded
  lci::post_comm_x(lci::direction_t::OUT, rank, buffer, size, comp).tag(5);  // discarded
  lci::post_am_x(rank, buffer, size, comp, rcomp).rank(2);                   // discarded
  lci::barrier_x().device(device);                                           // discarded
  lci::progress_x().device(device);                                          // discarded
  lci::broadcast_x(buffer, size, rank).comp(comp);                           // discarded
  lci::free_comp_x(&comp).runtime(nullptr);                                  // discarded
  lci::net_post_send_x(rank, buffer, size, mr).imm_data(7);                  // discarded

  // Whether it was done, posted, or has to be posted again.
  lci::post_am(rank, buffer, size, comp, rcomp);                        // discarded
  lci::post_send(rank, buffer, size, 1, comp);                          // discarded
  lci::post_recv(rank, buffer, size, 1, comp);                          // discarded
  lci::post_put(rank, buffer, size, comp, 0, rmr);                      // discarded
  lci::post_get(rank, buffer, size, comp, 0, rmr);                      // discarded
  lci::post_comm(lci::direction_t::OUT, rank, buffer, size, comp);      // discarded
  lci::post_am_x(rank, buffer, size, comp, rcomp).tag(5)();             // discarded
  lci::post_send_x(rank, buffer, size, 1, comp).device(device).call();  // discarded
  lci::cq_pop(comp);                                                    // discarded
  lci::graph_test(comp);                                                // discarded
  lci::test_drained();                                                  // discarded
  lci::test_drained_x().device(device)();                               // discarded
  lci::net_post_recv(buffer, size, mr);                                 // discarded
  lci::net_post_sends(rank, buffer, size);                              // discarded
  lci::net_post_send(rank, buffer, size, mr);                           // discarded
  lci::net_post_puts(rank, buffer, size, 0, rmr);                       // discarded
  lci::net_post_put(rank, buffer, size, mr, 0, rmr);                    // discarded
  lci::net_post_putImms(rank, buffer, size, 0, rmr);                    // discarded
  lci::net_post_putImm(rank, buffer, size, mr, 0, rmr);                 // discarded
  lci::net_post_get(rank, buffer, size, mr, 0, rmr);                    // discarded
  lci::net_post_send_x(rank, buffer, size, mr).imm_data(7)();           // discarded
  (void)statuses;
}

lci::status_t make_status();
lci::error_t make_error();
void discarded_of_the_program() {
  make_status();  // discarded
  make_error();   // discarded
}

void kept(int rank, const void* bytes, void* buffer, size_t size, lci::comp_t comp,
          lci::rcomp_t rcomp, lci::device_t device, lci::mr_t mr, lci::status_t* status) {
  // Whether progress found something does not matter to who asks again.
  lci::progress();
  lci::progress_x()();
  lci::progress_x().device(device)();
  lci::progress_x().device(device).call();
  auto found = lci::progress_x().device(device)();
  if (found.is_done()) return;
  lci::error_t error = lci::progress();
  while (lci::progress().is_done()) continue;
  // Thrown away on purpose.
  (void)lci::post_send(rank, bytes, size, 1, lci::COMP_NULL);
  (void)lci::test_drained();
  static_cast<void>(lci::post_am_x(rank, bytes, size, comp, rcomp).tag(5)());
  // The setters of an object with a name are statements.
  auto op = lci::post_am_x(rank, bytes, size, comp, rcomp).tag(5);
  op.tag(6);
  op.device(device).user_context(buffer);
  op.rank(rank).size(size);
  *status = op();
  *status = op.tag(7)();
  auto barrier = lci::barrier_x();
  barrier.device(device);
  barrier();
  auto& same = op.allow_done(false);
  *status = same();
  // The effects of collectives, resources and synchronizers are not lost.
  lci::barrier();
  lci::barrier_x().device(device)();
  lci::wait_drained();
  lci::sync_wait(comp, status);
  lci::counter_set(comp, 0);
  lci::comp_signal(comp, lci::errorcode_t::done);
  lci::graph_start(comp);
  lci::put_upacket(buffer);
  lci::deregister_memory(&mr);
  lci::free_comp_x(&comp).runtime(lci::get_g_runtime())();
  lci::g_runtime_init();
  lci::g_runtime_init_x().alloc_default_device(false)();
  lci::g_runtime_fina();
  (void)error;
}

int main() { return 0; }
