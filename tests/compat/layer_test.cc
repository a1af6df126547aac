// A layer over several communication libraries (LCW is one): no default device, devices and
// completion objects behind opaque handles of its own, operations that are never done at once, the
// class of its handlers derived from comp_impl_t, and a put that is an active message or a put with
// signal into memory that the target has announced.
#include <atomic>
#include <cstring>

#include "check.h"

namespace {

using compat::index_of;

constexpr int kMessages = 50;

// The layer.

enum class what_t { send, recv, put, put_signal };
struct request_t {
  what_t what;
  int rank;
  lci::tag_t tag;
  void* buffer;
  size_t size;
};
struct opaque_t;  // a completion object, for those above
using callback_t = void (*)(const request_t&);

struct device_t {
  lci::device_t device;
  lci::rcomp_t rcomp;
};

// The other side's messages have no context here.
request_t request_of(const lci::status_t& status) {
  if (status.get_user_context() == nullptr) {
    return {what_t::put_signal, status.get_rank(), status.get_tag(), status.get_buffer(),
            status.get_size()};
  }
  auto* context = static_cast<request_t*>(status.get_user_context());
  request_t request = *context;
  delete context;
  if (request.what == what_t::recv) request.size = status.get_size();
  return request;
}

class handler_comp_t : public lci::comp_impl_t {
 public:
  explicit handler_comp_t(callback_t callback) : callback_(callback) {}
  void signal(lci::status_t status) override { callback_(request_of(status)); }

 private:
  callback_t callback_;
};
opaque_t* alloc_handler(callback_t callback) {
  return reinterpret_cast<opaque_t*>(new handler_comp_t(callback));
}
void free_handler(opaque_t* handler) { delete reinterpret_cast<handler_comp_t*>(handler); }

opaque_t* alloc_cq() {
  lci::comp_t cq = lci::alloc_cq();
  return reinterpret_cast<opaque_t*>(cq.get_impl());
}
void free_cq(opaque_t* opaque) {
  lci::comp_t cq(static_cast<void*>(opaque));
  lci::free_comp(&cq);
}
bool poll(opaque_t* opaque, request_t* request) {
  lci::comp_t cq(static_cast<void*>(opaque));
  const lci::status_t status = lci::cq_pop(cq);
  if (status.is_retry()) return false;
  *request = request_of(status);
  return true;
}

// put_comp is null for a device that receives no puts.
device_t* alloc_device(opaque_t* put_comp) {
  auto* device = new device_t;
  lci::comp_t comp(static_cast<void*>(put_comp));
  device->rcomp = lci::register_rcomp(comp);
  device->device = lci::alloc_device();
  return device;
}
void free_device(device_t* device) {
  lci::deregister_rcomp(device->rcomp);
  lci::free_device(&device->device);
  delete device;
}
bool progress(device_t* device) {
  auto result = lci::progress_x().device(device->device)();
  return result.is_done();
}

// True if posted: then, and only then, comp is signaled once.
template <class Op>
bool posted(Op op, const request_t& request) {
  auto* context = new request_t(request);
  const lci::status_t status = op.user_context(context).allow_done(false)();
  if (status.is_retry()) {
    delete context;
  } else {
    EXPECT(status.is_posted());
  }
  return status.is_posted();
}
bool send(device_t* device, int rank, lci::tag_t tag, void* buffer, size_t size, opaque_t* comp) {
  return posted(lci::post_send_x(rank, buffer, size, tag, lci::comp_t(static_cast<void*>(comp)))
                    .device(device->device),
                {what_t::send, rank, tag, buffer, size});
}
bool recv(device_t* device, int rank, lci::tag_t tag, void* buffer, size_t size, opaque_t* comp) {
  return posted(lci::post_recv_x(rank, buffer, size, tag, lci::comp_t(static_cast<void*>(comp)))
                    .device(device->device),
                {what_t::recv, rank, tag, buffer, size});
}
bool put(device_t* device, int rank, void* buffer, size_t size, opaque_t* comp) {
  return posted(
      lci::post_am_x(rank, buffer, size, lci::comp_t(static_cast<void*>(comp)), device->rcomp)
          .device(device->device),
      {what_t::put, rank, 0, buffer, size});
}

// Use of the layer.

// Sends and receives: of each direction the device has a queue; it takes no puts.
void test_send_mode() {
  opaque_t* cq = alloc_cq();
  device_t* device = alloc_device(nullptr);
  lci::barrier_x().device(device->device)();
  for (const size_t size : {size_t{8}, size_t{2000}, size_t{60000}}) {
    std::vector<char> out = compat::bytes_of(lci::get_rank_me(), size);
    std::vector<char> in(size);
    for (int i = 0; i < kMessages; ++i) {
      const auto tag = static_cast<lci::tag_t>(i);
      while (!recv(device, compat::previous_rank(), tag, in.data(), size, cq)) progress(device);
      while (!send(device, compat::next_rank(), tag, out.data(), size, cq)) progress(device);
      bool sent = false;
      bool received = false;
      while (!sent || !received) {
        progress(device);
        request_t request;
        if (!poll(cq, &request)) continue;
        EXPECT_EQ(request.tag, tag);
        EXPECT_EQ(request.size, size);
        if (request.what == what_t::send) sent = true;
        if (request.what == what_t::recv) {
          EXPECT(compat::are_bytes_of(compat::previous_rank(), in.data(), size));
          received = true;
        }
      }
    }
  }
  EXPECT(lci::get_g_runtime().get_attr_max_imm_tag() >= 65535u);
  lci::barrier_x().device(device->device)();
  free_device(device);
  free_cq(cq);
}

std::atomic<int> puts_done{0};
std::atomic<int> puts_arrived{0};
size_t put_size = 0;

void on_put(const request_t& request) {
  if (request.what == what_t::put) {
    puts_done.fetch_add(1);
    return;
  }
  EXPECT(request.what == what_t::put_signal);
  EXPECT_EQ(request.rank, compat::previous_rank());
  EXPECT_EQ(request.size, put_size);
  EXPECT(compat::are_bytes_of(request.rank, request.buffer, request.size));
  std::free(request.buffer);
  puts_arrived.fetch_add(1);
}

// Puts into nowhere in particular, with queues at both ends, and with handlers.
void test_put_mode(bool handlers) {
  opaque_t* comp = handlers ? alloc_handler(on_put) : alloc_cq();
  device_t* device = alloc_device(comp);
  for (const size_t size : {size_t{8}, size_t{4000}}) {
    EXPECT(size <= lci::get_max_bcopy_size());
    put_size = size;
    puts_done = puts_arrived = 0;
    lci::barrier_x().device(device->device)();
    std::vector<char> out = compat::bytes_of(lci::get_rank_me(), size);
    for (int i = 0; i < kMessages; ++i) {
      while (!put(device, compat::next_rank(), out.data(), size, comp)) progress(device);
      while (puts_done.load() <= i || puts_arrived.load() <= i) {
        progress(device);
        request_t request;
        if (!handlers && poll(comp, &request)) on_put(request);
      }
    }
    lci::barrier_x().device(device->device)();
  }
  free_device(device);
  if (handlers) {
    free_handler(comp);
  } else {
    free_cq(comp);
  }
}

// Puts with signal into a block with a slot for each message, in the order of the tags.
void test_put_signal_mode() {
  lci::device_t device = lci::alloc_device();
  lci::comp_t cq = lci::alloc_cq();
  const lci::rcomp_t rcomp = lci::register_rcomp(cq);
  EXPECT(rcomp <= lci::get_g_runtime().get_attr_max_imm_rcomp());
  constexpr size_t kSlot = 512;
  std::vector<char> slots(kSlot * kMessages);
  lci::mr_t mr = lci::register_memory_x(slots.data(), slots.size()).device(device)();
  const lci::rmr_t own = lci::get_rmr(mr);
  std::vector<lci::rmr_t> rmrs(index_of(lci::get_rank_n()));
  lci::allgather_x(&own, rmrs.data(), sizeof(own)).device(device)();
  const int to = compat::next_rank();
  std::vector<char> out = compat::bytes_of(lci::get_rank_me(), kSlot);
  int seen = 0;
  const auto take = [&] {
    lci::progress_x().device(device)();
    const lci::status_t status = lci::cq_pop(cq);
    if (!status.is_done()) return;
    EXPECT_EQ(status.get_rank(), compat::previous_rank());
    EXPECT(compat::are_bytes_of(status.get_rank(), slots.data() + kSlot * status.get_tag(), kSlot));
    ++seen;
  };
  for (int i = 0; i < kMessages; ++i) {
    // Alternately with and without registered local memory, through both interfaces.
    const auto tag = static_cast<lci::tag_t>(i);
    lci::status_t status;
    do {
      if (i % 2 == 0) {
        status = lci::post_put_x(to, out.data(), kSlot, lci::COMP_NULL_RETRY, kSlot * tag,
                                 rmrs[index_of(to)])
                     .device(device)
                     .tag(tag)
                     .remote_comp(rcomp)();
      } else {
        status =
            lci::post_comm_x(lci::direction_t::OUT, to, out.data(), kSlot, lci::COMP_NULL_RETRY)
                .device(device)
                .rmr(rmrs[index_of(to)])
                .remote_disp(kSlot * tag)
                .tag(tag)
                .remote_comp(rcomp)();
      }
      take();
    } while (status.is_retry());
    EXPECT(status.is_done());
  }
  while (seen < kMessages) take();
  lci::barrier_x().device(device)();
  lci::deregister_memory(&mr);
  lci::deregister_rcomp(rcomp);
  lci::free_comp(&cq);
  lci::free_device(&device);
}

void test() {
  lci::g_runtime_init_x().alloc_default_device(false)();
  test_send_mode();
  test_put_mode(false);
  test_put_mode(true);
  test_put_signal_mode();
  lci::g_runtime_fina();
}

}  // namespace

int main() { return compat::run(test); }
