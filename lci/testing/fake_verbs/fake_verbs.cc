#include "lci/testing/fake_verbs/fake_verbs.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lci/testing/fake_verbs/data_path.h"
#include "lci/testing/fake_verbs/transport.h"
#include "lci/testing/fake_verbs/world.h"

namespace lci::net::ibv {
namespace fake {
namespace {

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
  set_data_path(made);
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
}  // namespace fake

using fake::flush_with_error;
using fake::progress_all;
using fake::world;
using fake::world_lock;

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
  static const verbs table = fake::make_table();
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
