#include "examples/kmer/lci_exchange.h"

#include <algorithm>
#include <stdexcept>

namespace kmer {
namespace {

// Runs a call into LCI; what it can throw once everything is set up is that a rank is gone.
template <class Call>
auto guarded(Call&& call) {
  try {
    return call();
  } catch (const std::runtime_error& error) {
    throw network_error(error.what());
  }
}

}  // namespace

lci_exchange::lci_exchange(int threads, size_t message_bytes) {
  lci::global_initialize();
  lci::global_attr_t attributes = lci::get_g_default_attr();
  attributes.packet_size = std::clamp(message_bytes, attributes.packet_size, size_t{65536});
  lci::set_g_default_attr(attributes);
  lci::g_runtime_init();
  rank_ = lci::get_rank_me();
  ranks_ = lci::get_rank_n();
  devices_.push_back(lci::get_default_device());
  while (static_cast<int>(devices_.size()) < threads) devices_.push_back(lci::alloc_device());
  on_sent_ = lci::alloc_handler(on_sent);
  arrivals_ = lci::alloc_cq();
  arrivals_name_ = lci::register_rcomp(arrivals_);
  lci::barrier();  // everybody knows arrivals_name_
}

lci_exchange::~lci_exchange() {
  lci::barrier();  // nobody sends any more
  message left;
  while (receive(&left)) {
  }
  lci::deregister_rcomp(arrivals_name_);
  lci::free_comp(&arrivals_);
  for (size_t i = 1; i < devices_.size(); ++i) {
    lci::wait_drained_x().device(devices_[i])();
    lci::free_device(&devices_[i]);
  }
  lci::wait_drained();
  lci::free_comp(&on_sent_);
  lci::g_runtime_fina();
  lci::global_finalize();
}

void lci_exchange::on_sent(lci::status_t status) {
  auto* self = static_cast<lci_exchange*>(status.user_context);
  if (!status.is_done()) self->lost_ = true;
  std::free(status.buffer);
  --self->unfinished_;
}

bool lci_exchange::try_send(int thread, int to, uint64_t tag, message_buffer* buffer, size_t size) {
  ++unfinished_;  // before on_sent can run
  const lci::status_t status = guarded([&] {
    return lci::post_am_x(to, buffer->get(), size, on_sent_, arrivals_name_)
        .tag(tag)
        .device(devices_[static_cast<size_t>(thread)])
        .user_context(this)();
  });
  if (status.is_posted()) {
    static_cast<void>(buffer->release());  // on_sent has it
    return true;
  }
  --unfinished_;
  return status.is_done();
}

bool lci_exchange::progress(int thread) {
  if (lost_) throw network_error("a message that was under way could not be delivered");
  return guarded(
      [&] { return lci::progress_x().device(devices_[static_cast<size_t>(thread)])().is_done(); });
}

bool lci_exchange::receive(message* into) {
  const lci::status_t status = lci::cq_pop(arrivals_);
  if (!status.is_done()) return false;
  into->rank = status.rank;
  into->tag = status.tag;
  into->size = status.size;
  into->bytes.reset(static_cast<char*>(status.buffer));
  return true;
}

void lci_exchange::sum(uint64_t* values, size_t count) {
  guarded([&] {
    lci::allreduce(values, values, count, sizeof(*values),
                   [](const void* left, const void* right, void* result, size_t n) {
                     const auto* a = static_cast<const uint64_t*>(left);
                     const auto* b = static_cast<const uint64_t*>(right);
                     auto* to = static_cast<uint64_t*>(result);
                     for (size_t i = 0; i < n; ++i) to[i] = a[i] + b[i];
                   });
  });
}

}  // namespace kmer
