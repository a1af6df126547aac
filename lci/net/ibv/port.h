// Which port of which RDMA device, and how ranks address each other through it.
#ifndef LCI_NET_IBV_PORT_H_
#define LCI_NET_IBV_PORT_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/net/ibv/verbs.h"
#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {

struct wanted_port {
  // "mlx5_0" or "mlx5_0:2" (2: the port); empty: the fastest active one of all, the first of
  // several.
  std::string name;
  int gid_index = -1;          // -1: chosen
  bool always_by_gid = false;  // also on InfiniBand, where a LID does
};

// The best of a port's entries: an IPv4 address by RoCEv2, which every router between two hosts
// knows; else IPv6 by RoCEv2, rather not of the link alone; else RoCEv1 (or InfiniBand), which does
// not leave its network. -1 if there is none.
int choose_gid(const std::vector<ibv_gid_entry>& entries, uint32_t port);

// An open device and a port of it. Ends what it owns.
struct port {
  std::string name;  // "mlx5_0:1"
  owned<ibv_context> context;
  owned<ibv_pd> domain;
  ibv_device_attr limits = {};
  ibv_port_attr attributes = {};
  uint8_t number = 1;
  int gid_index = -1;  // -1: by LID alone
  ibv_gid gid = {};

  bool is_roce() const { return attributes.link_layer == IBV_LINK_LAYER_ETHERNET; }
  // How other ranks reach it.
  port_address address() const;
  // How to reach another.
  ibv_ah_attr way_to(const port_address& other) const;
};

// An error names the devices there are and what is wrong with each.
base::StatusOr<port> open_port(const verbs& with, const wanted_port& wanted);

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_PORT_H_
