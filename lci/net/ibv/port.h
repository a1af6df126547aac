// Chooses and opens a port of an RDMA device; addresses of ports.
#ifndef LCI_NET_IBV_PORT_H_
#define LCI_NET_IBV_PORT_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lci/api/attr.hpp"
#include "lci/base/status.h"
#include "lci/net/ibv/verbs.h"
#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {

// The index of the best GID of a port, or -1 if there is none. In this order: an IPv4 address for
// RoCEv2, which every router between two hosts forwards; an IPv6 address for RoCEv2 that is not
// link-local; one that is; RoCEv1 (or InfiniBand), which is not routed beyond its network.
int choose_gid(const std::vector<ibv_gid_entry>& entries, uint32_t port);

// An open RDMA device and one of its ports. Closes the device when it is destroyed.
struct port {
  std::string name;  // "mlx5_0:1"
  owned<ibv_context> context;
  owned<ibv_pd> domain;
  ibv_device_attr limits = {};
  ibv_port_attr attributes = {};
  uint8_t number = 1;
  int gid_index = -1;  // -1: addressed by LID alone
  ibv_gid gid = {};

  bool is_roce() const { return attributes.link_layer == IBV_LINK_LAYER_ETHERNET; }
  // The address by which other ranks reach this port.
  port_address address() const;
  // The path from this port to `other`.
  ibv_ah_attr path_to(const port_address& other) const;
};

// Opens the port that the attributes device_name, ibv_gid_idx and ibv_force_gid_auto_select ask
// for. The name is "mlx5_0", or "mlx5_0:2" with the port; empty: the fastest active port of all
// devices, and of several equally fast ones the first. The error lists the devices of this host and
// why each of them cannot be used.
base::StatusOr<port> open_port(const verbs& library, const net_context_attr_t& wanted);

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_PORT_H_
