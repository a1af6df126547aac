#include "lci/testing/fake_verbs/fake_verbs.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "lci/testing/library_call/library_call.h"

namespace lci::net::ibv {
namespace {

struct fake_channel : ibv_comp_channel {
  std::deque<ibv_cq*> events;
};

struct fake_cq : ibv_cq {
  std::deque<ibv_wc> entries;
  bool broken = false;
  bool notifies = false;  // the next entry makes an event
};

struct receive {
  uint64_t id;
  unsigned char* bytes;
  uint32_t size;
};

struct fake_srq : ibv_srq {
  size_t capacity = 0;
  std::deque<receive> receives;
};

struct send {
  ibv_send_wr request = {};
  std::vector<unsigned char> inlined;
  std::vector<ibv_sge> pieces;
  uint32_t size = 0;
  uint32_t packet = 0;  // packet number; one per request, however long it is
};

struct fake_qp : ibv_qp {
  uint32_t depth = 0;
  uint32_t inline_bytes = 0;
  uint32_t key = 0;
  uint32_t peer = 0;
  uint8_t timeout = 0;
  bool dead = false;
  bool silent = false;
  uint32_t next_psn = 0;      // of the next packet sent
  uint32_t expected_psn = 0;  // of the next packet accepted
  std::deque<send> sends;
  std::deque<receive> receives;  // without a shared queue
};

struct fake_context : ibv_context {};

struct fake_world {
  std::mutex mutex;
  fake_settings settings;
  fake_counts counts;
  std::vector<ibv_device> devices;
  std::map<uint32_t, fake_qp*> queue_pairs;
  std::map<uint32_t, ibv_mr*> registrations;  // by key
  uint32_t next_number = 100;
  uint32_t next_key = 1;
  uint32_t datagrams = 0;
};

fake_world& world() {
  static auto* once = new fake_world;
  return *once;
}

// Holds the mutex. Code under it counts as a library's for the write watch of tests.
class world_lock {
 public:
  explicit world_lock(std::mutex& mutex) : held_(mutex) {}

 private:
  const base::library_call here_;
  const std::lock_guard<std::mutex> held_;
};

template <class T>
int destroy_object(T* object) {
  const world_lock held(world().mutex);
  --world().counts.objects;
  delete object;
  return 0;
}

template <class T>
T* make_object() {
  ++world().counts.objects;
  return new T();
}

// Moving bytes; with the mutex.

const ibv_mr* registration(uint32_t key, uint64_t address, size_t size) {
  const auto found = world().registrations.find(key);
  if (found == world().registrations.end()) return nullptr;
  const auto base = reinterpret_cast<uintptr_t>(found->second->addr);
  const size_t length = found->second->length;
  return address >= base && size <= length && address - base <= length - size ? found->second
                                                                              : nullptr;
}

void notify(fake_cq& queue) {
  if (!queue.notifies) return;
  queue.notifies = false;
  static_cast<fake_channel*>(queue.channel)->events.push_back(&queue);
  eventfd_write(queue.channel->fd, 1);
}

// Takes one event from the count of the descriptor.
void drop_event(fake_channel& of) {
  eventfd_t one;
  eventfd_read(of.fd, &one);
}

void complete(fake_cq& queue, const ibv_wc& entry) {
  notify(queue);
  if (queue.entries.size() == static_cast<size_t>(queue.cqe)) {
    queue.broken = true;
    ++world().counts.overruns;
    return;
  }
  queue.entries.push_back(entry);
}

void complete_send(fake_qp& by, const send& finished, ibv_wc_status status) {
  if (status == IBV_WC_SUCCESS && (finished.request.send_flags & IBV_SEND_SIGNALED) == 0) return;
  ibv_wc entry = {};
  entry.wr_id = finished.request.wr_id;
  entry.status = status;
  entry.opcode = IBV_WC_SEND;
  entry.qp_num = by.qp_num;
  complete(*static_cast<fake_cq*>(by.send_cq), entry);
}

void complete_receive(fake_qp& at, const receive& room, const send& from, ibv_wc_opcode opcode,
                      uint32_t bytes) {
  ibv_wc entry = {};
  entry.wr_id = room.id;
  entry.status = bytes > room.size ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
  entry.opcode = opcode;
  entry.byte_len = bytes;
  entry.qp_num = at.qp_num;
  if (from.request.opcode == IBV_WR_SEND_WITH_IMM ||
      from.request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    entry.wc_flags = IBV_WC_WITH_IMM;
    entry.imm_data = from.request.imm_data;
  }
  complete(*static_cast<fake_cq*>(at.recv_cq), entry);
}

// Returns false if a piece is not registered.
bool copy_payload(const send& from, unsigned char* to) {
  if ((from.request.send_flags & IBV_SEND_INLINE) != 0) {
    std::copy(from.inlined.begin(), from.inlined.end(), to);
    return true;
  }
  for (const ibv_sge& piece : from.pieces) {
    if (piece.length == 0) continue;
    if (registration(piece.lkey, piece.addr, piece.length) == nullptr) return false;
    std::memcpy(to, reinterpret_cast<const void*>(piece.addr), piece.length);
    to += piece.length;
  }
  return true;
}

std::deque<receive>& receives_of(fake_qp& at) {
  return at.srq == nullptr ? at.receives : static_cast<fake_srq*>(at.srq)->receives;
}

enum class outcome { done, later, local_error, remote_error, unreachable };

constexpr uint32_t psn_mask = 0xffffff;

outcome apply(const send& front, fake_qp& at) {
  const bool is_send =
      front.request.opcode == IBV_WR_SEND || front.request.opcode == IBV_WR_SEND_WITH_IMM;
  const bool takes = is_send || front.request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  std::deque<receive>& rooms = receives_of(at);
  if (takes && rooms.empty()) return outcome::later;
  if (is_send) {
    const receive room = rooms.front();
    std::vector<unsigned char> bytes(front.size);
    if (!copy_payload(front, bytes.data())) return outcome::local_error;
    rooms.pop_front();
    if (front.size <= room.size) std::copy(bytes.begin(), bytes.end(), room.bytes);
    complete_receive(at, room, front, IBV_WC_RECV, front.size);
    return front.size <= room.size ? outcome::done : outcome::remote_error;
  }
  auto* there = reinterpret_cast<unsigned char*>(front.request.wr.rdma.remote_addr);
  if (front.size > 0) {
    if (registration(front.request.wr.rdma.rkey, front.request.wr.rdma.remote_addr, front.size) ==
        nullptr) {
      return outcome::remote_error;
    }
    if (front.request.opcode == IBV_WR_RDMA_READ) {
      const ibv_sge& to = front.pieces[0];
      if (registration(to.lkey, to.addr, to.length) == nullptr) return outcome::local_error;
      std::memcpy(reinterpret_cast<void*>(to.addr), there, to.length);
    } else if (!copy_payload(front, there)) {
      return outcome::local_error;
    }
  }
  if (takes) {
    complete_receive(at, rooms.front(), front, IBV_WC_RECV_RDMA_WITH_IMM, 0);
    rooms.pop_front();
  }
  return outcome::done;
}

outcome execute(fake_qp& by, const send& front) {
  const auto found = world().queue_pairs.find(by.peer);
  if (found == world().queue_pairs.end()) return outcome::unreachable;
  fake_qp& at = *found->second;
  if (at.dead || (at.state != IBV_QPS_RTR && at.state != IBV_QPS_RTS) || at.peer != by.qp_num) {
    return outcome::unreachable;
  }
  const uint32_t ahead = (front.packet - at.expected_psn) & psn_mask;
  if (at.silent) {
    // A queue pair with a short timeout gives up, whether the request or only the answer is lost;
    // others wait.
    if (by.timeout >= 16) return outcome::later;
    if (ahead == 0 && world().counts.unanswered % 2 == 0) ++at.expected_psn;
    return outcome::unreachable;
  }
  if (ahead > psn_mask / 2) return outcome::done;  // a duplicate
  if (ahead > 0) return outcome::unreachable;      // earlier packets are missing
  if (by.timeout < 16) ++world().counts.heartbeats;
  const outcome now = apply(front, at);
  if (now == outcome::done) at.expected_psn = (at.expected_psn + 1) & psn_mask;
  return now;
}

void flush_with_error(fake_qp& by, ibv_wc_status first) {
  by.state = IBV_QPS_ERR;
  for (; !by.sends.empty(); by.sends.pop_front()) {
    complete_send(by, by.sends.front(), first);
    first = IBV_WC_WR_FLUSH_ERR;
  }
}

void progress(fake_qp& by) {
  if (by.state == IBV_QPS_ERR) flush_with_error(by, IBV_WC_WR_FLUSH_ERR);
  while (!by.sends.empty() && !by.dead) {
    switch (execute(by, by.sends.front())) {
      case outcome::done:
        complete_send(by, by.sends.front(), IBV_WC_SUCCESS);
        by.sends.pop_front();
        break;
      case outcome::later:
        return;
      case outcome::local_error:
        return flush_with_error(by, IBV_WC_LOC_PROT_ERR);
      case outcome::unreachable:
        ++world().counts.unanswered;
        return flush_with_error(by, IBV_WC_RETRY_EXC_ERR);
      case outcome::remote_error: {
        fake_qp* at = world().queue_pairs[by.peer];
        flush_with_error(by, IBV_WC_REM_ACCESS_ERR);
        if (at->state != IBV_QPS_ERR) flush_with_error(*at, IBV_WC_WR_FLUSH_ERR);
        return;
      }
    }
  }
}

void progress_all() {
  for (auto& each : world().queue_pairs) {
    if (each.second->qp_type == IBV_QPT_RC && !each.second->sends.empty()) progress(*each.second);
  }
}

void send_datagram(fake_qp& by, const send& front) {
  complete_send(by, front, IBV_WC_SUCCESS);
  if (by.dead || by.silent) return;
  if (world().datagrams++ % 10 < world().settings.datagrams_lost) return;
  std::vector<unsigned char> bytes(front.size);
  if (!copy_payload(front, bytes.data())) return;
  const auto& loses = world().settings.loses;
  if (loses && loses(bytes.data(), bytes.size())) return;
  const auto found = world().queue_pairs.find(front.request.wr.ud.remote_qpn);
  if (found == world().queue_pairs.end()) return;
  fake_qp& at = *found->second;
  constexpr uint32_t global_header = 40;
  if (at.dead || at.silent || at.key != front.request.wr.ud.remote_qkey || at.receives.empty()) {
    return;
  }
  const receive room = at.receives.front();
  if (room.size < global_header + front.size) return;
  std::copy(bytes.begin(), bytes.end(), room.bytes + global_header);
  at.receives.pop_front();
  complete_receive(at, room, front, IBV_WC_RECV, global_header + front.size);
}

// The verbs that the headers of libibverbs inline.

int post_send(ibv_qp* on, ibv_send_wr* request, ibv_send_wr** refused) {
  const world_lock held(world().mutex);
  auto& by = static_cast<fake_qp&>(*on);
  for (; request != nullptr; request = request->next) {
    send posted;
    posted.request = *request;
    for (int i = 0; i < request->num_sge; ++i) {
      const ibv_sge& piece = request->sg_list[i];
      posted.size += piece.length;
      posted.pieces.push_back(piece);
      if ((request->send_flags & IBV_SEND_INLINE) == 0 || piece.length == 0) continue;
      const auto* bytes = reinterpret_cast<const unsigned char*>(piece.addr);
      posted.inlined.insert(posted.inlined.end(), bytes, bytes + piece.length);
    }
    if (by.sends.size() == by.depth || posted.inlined.size() > by.inline_bytes) {
      *refused = request;
      return by.sends.size() == by.depth ? ENOMEM : EINVAL;
    }
    ++world().counts.posted;
    world().counts.signaled += (request->send_flags & IBV_SEND_SIGNALED) != 0 ? 1 : 0;
    if (by.qp_type == IBV_QPT_UD) {
      send_datagram(by, posted);
    } else {
      posted.packet = by.next_psn;
      by.next_psn = (by.next_psn + 1) & psn_mask;
      by.sends.push_back(std::move(posted));
      progress(by);
    }
  }
  return 0;
}

receive room_of(const ibv_recv_wr& request) {
  return {request.wr_id, reinterpret_cast<unsigned char*>(request.sg_list[0].addr),
          request.sg_list[0].length};
}

int post_recv(ibv_qp* on, ibv_recv_wr* request, ibv_recv_wr**) {
  const world_lock held(world().mutex);
  for (; request != nullptr; request = request->next) {
    static_cast<fake_qp*>(on)->receives.push_back(room_of(*request));
  }
  return 0;
}

int post_srq_recv(ibv_srq* on, ibv_recv_wr* request, ibv_recv_wr** refused) {
  const world_lock held(world().mutex);
  auto& queue = static_cast<fake_srq&>(*on);
  int result = 0;
  for (; request != nullptr && result == 0; request = request->next) {
    if (queue.receives.size() == queue.capacity) {
      *refused = request;
      result = ENOMEM;
    } else {
      queue.receives.push_back(room_of(*request));
    }
  }
  progress_all();
  return result;
}

int poll_cq(ibv_cq* of, int count, ibv_wc* entries) {
  const world_lock held(world().mutex);
  auto& queue = static_cast<fake_cq&>(*of);
  if (queue.broken) return -1;
  int got = 0;
  for (; got < count && !queue.entries.empty(); ++got) {
    entries[got] = queue.entries.front();
    queue.entries.pop_front();
  }
  return got;
}

int req_notify_cq(ibv_cq* of, int) {
  const world_lock held(world().mutex);
  if (of->channel == nullptr) return EINVAL;
  static_cast<fake_cq*>(of)->notifies = true;
  return 0;
}

// The functions of the table.

ibv_device** get_device_list(int* count) {
  const world_lock held(world().mutex);
  const size_t known = world().settings.devices.size();
  if (world().devices.size() != known) world().devices.resize(known);
  auto** list = new ibv_device*[known + 1];
  for (size_t i = 0; i < known; ++i) list[i] = &world().devices[i];
  list[known] = nullptr;
  *count = static_cast<int>(known);
  return list;
}

void free_device_list(ibv_device** list) { delete[] list; }

const char* get_device_name(ibv_device* of) {
  return world().settings.devices[static_cast<size_t>(of - world().devices.data())].c_str();
}

ibv_context* open_device(ibv_device* device) {
  const world_lock held(world().mutex);
  auto* made = make_object<fake_context>();
  made->device = device;
  made->ops.post_send = post_send;
  made->ops.post_recv = post_recv;
  made->ops.post_srq_recv = post_srq_recv;
  made->ops.poll_cq = poll_cq;
  made->ops.req_notify_cq = req_notify_cq;
  return made;
}

int query_device(ibv_context*, ibv_device_attr* attributes) {
  *attributes = {};
  attributes->phys_port_cnt = static_cast<uint8_t>(world().settings.ports);
  attributes->max_cqe = world().settings.max_cqe;
  attributes->max_srq_wr = 32767;
  attributes->max_qp_wr = 16384;
  attributes->max_qp_rd_atom = 16;
  attributes->max_qp_init_rd_atom = 16;
  return 0;
}

int query_port(ibv_context*, uint8_t, ibv_port_attr* attributes) {
  *attributes = {};
  attributes->state = world().settings.active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attributes->active_mtu = IBV_MTU_4096;
  attributes->max_msg_sz = 8 << 20;
  attributes->lid = world().settings.lid;
  attributes->link_layer = world().settings.link_layer;
  attributes->active_speed = 1;
  attributes->active_width = 1;
  return 0;
}

ssize_t query_gid_table(ibv_context*, ibv_gid_entry* entries, size_t count) {
  std::vector<ibv_gid_entry> known = world().settings.gids;
  if (known.empty()) {
    ibv_gid_entry one = {};
    const uint8_t ipv4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 7, 0, 1};
    std::memcpy(one.gid.raw, ipv4, sizeof(ipv4));
    one.gid_index = 1;
    one.port_num = 1;
    one.gid_type = IBV_GID_TYPE_ROCE_V2;
    known.push_back(one);
  }
  const size_t copied = std::min(count, known.size());
  std::copy_n(known.begin(), copied, entries);
  return static_cast<ssize_t>(copied);
}

ibv_pd* alloc_pd(ibv_context* context) {
  const world_lock held(world().mutex);
  auto* made = make_object<ibv_pd>();
  made->context = context;
  return made;
}

ibv_mr* reg_mr(ibv_pd* domain, void* address, size_t size, int access) {
  const world_lock held(world().mutex);
  auto* made = make_object<ibv_mr>();
  made->pd = domain;
  made->addr = address;
  made->length = size;
  made->lkey = made->rkey = world().next_key++;
  world().registrations[made->lkey] = made;
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) ++world().counts.registrations_on_demand;
  return made;
}

int dereg_mr(ibv_mr* mr) {
  {
    const world_lock held(world().mutex);
    world().registrations.erase(mr->lkey);
  }
  return destroy_object(mr);
}

ibv_comp_channel* create_comp_channel(ibv_context* context) {
  const world_lock held(world().mutex);
  auto* made = make_object<fake_channel>();
  made->context = context;
  made->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  return made;
}

int destroy_comp_channel(ibv_comp_channel* object) {
  {
    const world_lock held(world().mutex);
    if (object->refcnt != 0) return EBUSY;
  }
  close(object->fd);
  return destroy_object(static_cast<fake_channel*>(object));
}

// For non-blocking descriptors only.
int get_cq_event(ibv_comp_channel* of, ibv_cq** queue, void** context) {
  const world_lock held(world().mutex);
  auto& channel = *static_cast<fake_channel*>(of);
  if (channel.events.empty()) {
    errno = EAGAIN;
    return -1;
  }
  *queue = channel.events.front();
  *context = nullptr;
  channel.events.pop_front();
  drop_event(channel);
  ++world().counts.unacknowledged;
  return 0;
}

void ack_cq_events(ibv_cq*, unsigned int count) {
  const world_lock held(world().mutex);
  world().counts.unacknowledged -= static_cast<int>(count);
}

ibv_cq* create_cq(ibv_context* context, int count, void*, ibv_comp_channel* channel, int) {
  const world_lock held(world().mutex);
  if (count > world().settings.max_cqe) {
    errno = EINVAL;
    return nullptr;
  }
  auto* made = make_object<fake_cq>();
  made->context = context;
  made->cqe = count;
  made->channel = channel;
  if (channel != nullptr) ++channel->refcnt;
  return made;
}

int destroy_cq(ibv_cq* object) {
  {
    const world_lock held(world().mutex);
    if (object->channel != nullptr) {
      auto& channel = *static_cast<fake_channel*>(object->channel);
      for (size_t i = channel.events.size(); i > 0; --i) {
        ibv_cq* const each = channel.events.front();
        channel.events.pop_front();
        if (each == object) {
          drop_event(channel);
        } else {
          channel.events.push_back(each);
        }
      }
      --channel.refcnt;
    }
  }
  return destroy_object(static_cast<fake_cq*>(object));
}

ibv_srq* create_srq(ibv_pd* domain, ibv_srq_init_attr* wanted) {
  const world_lock held(world().mutex);
  auto* made = make_object<fake_srq>();
  made->context = domain->context;
  made->capacity = wanted->attr.max_wr;
  return made;
}

ibv_qp* create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
  const world_lock held(world().mutex);
  if (wanted->cap.max_inline_data > world().settings.max_inline) {
    errno = EINVAL;
    return nullptr;
  }
  auto* made = make_object<fake_qp>();
  made->context = domain->context;
  made->send_cq = wanted->send_cq;
  made->recv_cq = wanted->recv_cq;
  made->srq = wanted->srq;
  made->qp_type = wanted->qp_type;
  made->depth = wanted->cap.max_send_wr;
  made->inline_bytes = wanted->cap.max_inline_data;
  made->qp_num = world().next_number++;
  made->state = IBV_QPS_RESET;
  world().queue_pairs[made->qp_num] = made;
  return made;
}

void forget(fake_cq& queue, uint32_t number) {
  queue.entries.erase(
      std::remove_if(queue.entries.begin(), queue.entries.end(),
                     [number](const ibv_wc& entry) { return entry.qp_num == number; }),
      queue.entries.end());
}

int modify_qp(ibv_qp* modified, ibv_qp_attr* to, int mask) {
  const world_lock held(world().mutex);
  auto& qp = static_cast<fake_qp&>(*modified);
  qp.state = to->qp_state;
  if ((mask & IBV_QP_DEST_QPN) != 0) qp.peer = to->dest_qp_num;
  if ((mask & IBV_QP_QKEY) != 0) qp.key = to->qkey;
  if ((mask & IBV_QP_TIMEOUT) != 0) qp.timeout = to->timeout;
  if ((mask & IBV_QP_SQ_PSN) != 0) qp.next_psn = to->sq_psn;
  if ((mask & IBV_QP_RQ_PSN) != 0) qp.expected_psn = to->rq_psn;
  if (to->qp_state == IBV_QPS_RESET) {
    qp.sends.clear();
    forget(static_cast<fake_cq&>(*qp.send_cq), qp.qp_num);
    forget(static_cast<fake_cq&>(*qp.recv_cq), qp.qp_num);
  }
  if (to->qp_state == IBV_QPS_ERR) flush_with_error(qp, IBV_WC_WR_FLUSH_ERR);
  return 0;
}

int destroy_qp(ibv_qp* object) {
  {
    const world_lock held(world().mutex);
    world().queue_pairs.erase(object->qp_num);
    progress_all();
  }
  return destroy_object(static_cast<fake_qp*>(object));
}

ibv_ah* create_ah(ibv_pd* domain, ibv_ah_attr*) {
  const world_lock held(world().mutex);
  if (!world().settings.has_routes) {
    errno = ENETUNREACH;
    return nullptr;
  }
  auto* made = make_object<ibv_ah>();
  made->context = domain->context;
  return made;
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr*) {
  const world_lock held(world().mutex);
  if (!world().settings.has_thread_domains ||
      static_cast<uint32_t>(world().counts.thread_domains) >= world().settings.max_thread_domains) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  ++world().counts.thread_domains;
  auto* made = make_object<ibv_td>();
  made->context = context;
  return made;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr*) {
  return alloc_pd(context);
}

int query_device_ex(ibv_context*, ibv_device_attr_ex* attributes) {
  *attributes = {};
  attributes->odp_caps.general_caps = world().settings.odp_general;
  attributes->odp_caps.per_transport_caps.rc_odp_caps = world().settings.odp_rc;
  return 0;
}

int advise_mr(ibv_pd*, ibv_advise_mr_advice advice, uint32_t, ibv_sge*, uint32_t) {
  const world_lock held(world().mutex);
  world().counts.advice.push_back(advice);
  return 0;
}

verbs make_table() {
  verbs made;
  made.get_device_list = get_device_list;
  made.free_device_list = free_device_list;
  made.get_device_name = get_device_name;
  made.open_device = open_device;
  made.close_device = [](ibv_context* object) {
    return destroy_object(static_cast<fake_context*>(object));
  };
  made.query_device = query_device;
  made.query_port = query_port;
  made.query_gid_table = query_gid_table;
  made.alloc_pd = alloc_pd;
  made.dealloc_pd = [](ibv_pd* object) { return destroy_object(object); };
  made.reg_mr = reg_mr;
  made.dereg_mr = dereg_mr;
  made.create_cq = create_cq;
  made.destroy_cq = destroy_cq;
  made.create_comp_channel = create_comp_channel;
  made.destroy_comp_channel = destroy_comp_channel;
  made.get_cq_event = get_cq_event;
  made.ack_cq_events = ack_cq_events;
  made.create_srq = create_srq;
  made.destroy_srq = [](ibv_srq* object) { return destroy_object(static_cast<fake_srq*>(object)); };
  made.create_qp = create_qp;
  made.modify_qp = modify_qp;
  made.destroy_qp = destroy_qp;
  made.create_ah = create_ah;
  made.destroy_ah = [](ibv_ah* object) { return destroy_object(object); };
  made.wc_status_str = [](ibv_wc_status status) {
    return status == IBV_WC_SUCCESS ? "success" : "failure";
  };
  made.alloc_td = alloc_td;
  made.dealloc_td = [](ibv_td* object) { return destroy_object(object); };
  made.alloc_parent_domain = alloc_parent_domain;
  made.query_device_ex = query_device_ex;
  made.advise_mr = advise_mr;
  return made;
}

}  // namespace

void reset_fake() {
  const world_lock held(world().mutex);
  world().settings = fake_settings();
  world().counts = fake_counts();
}

fake_settings& settings_of_fake() { return world().settings; }

fake_counts counts_of_fake() {
  const world_lock held(world().mutex);
  return world().counts;
}

const verbs& fake_verbs() {
  static const verbs table = make_table();
  return table;
}

void kill_fake(const ibv_context* opened) {
  const world_lock held(world().mutex);
  for (auto& each : world().queue_pairs) {
    if (each.second->context != opened) continue;
    each.second->dead = true;
    flush_with_error(*each.second, IBV_WC_RETRY_EXC_ERR);
  }
  progress_all();
}

void silence_fake(const ibv_context* opened, bool silent) {
  const world_lock held(world().mutex);
  for (auto& each : world().queue_pairs) {
    if (each.second->context == opened) each.second->silent = silent;
  }
  if (!silent) progress_all();
}

}  // namespace lci::net::ibv
