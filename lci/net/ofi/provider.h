// Which of libfabric's providers, and what it can do.
//
// Chosen by name (attribute ofi_provider_name, so LCI_ATTR_OFI_PROVIDER_NAME), else the first of
//   cxi, efa, psm3, opx, psm2, verbs, tcp, net, sockets
// that every rank has; of shm, udp and those we know nothing about only if there is none of these.
// A name may be that of the core ("tcp") or whole ("tcp;ofi_rxm").
#ifndef LCI_NET_OFI_PROVIDER_H_
#define LCI_NET_OFI_PROVIDER_H_

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/net/ofi/library.h"

namespace lci::net::ofi {

// How puts and gets are done.
enum class rma_mode {
  native,    // fi_write and fi_read: the target does nothing
  asked,     // the target is asked, looks whether the memory is open, and then reads or writes the
             // requester's; few bytes travel with the question or the answer
  messages,  // the target is asked, and all bytes travel with the question or the answer
};

// A provider that ends the connection, or never answers, when it is asked for memory that is not
// open (or is no more) would let one wrong access end two ranks' conversation for good. `asked` is
// for those; the others tell the one who asked, and go on. Found by trying, or by documentation.
rma_mode preferred_mode(std::string_view provider);

// Whether a send that is complete means that those to the same rank before it are, too: all of them
// go through one connection, in a row. Found in libfabric's documentation of the provider.
bool completes_in_order(std::string_view provider);

// Through connections of the kernel's TCP, with nothing of the provider's own between bytes and
// socket.
bool is_over_tcp(std::string_view provider);

// Bytes of a message that leave at once although no buffer of the provider's is registered for
// them, so that memory for larger packets costs nothing until it is used. 0 for all others.
size_t sent_at_once(std::string_view provider);

// 0, 1, ...: the smaller the better.
int preference(std::string_view provider);
// "tcp" of "tcp;ofi_rxm".
std::string_view core_of(std::string_view provider);
bool names(std::string_view asked_for, std::string_view provider);

// The best that is in everybody's list. An error says who has what.
base::StatusOr<std::string> choose_common(const std::vector<std::vector<std::string>>& of_ranks);

// How fi_getinfo's errors, and all others of libfabric, read. `code` is negative, as returned.
base::Status failure(std::string_view what, int64_t code);

struct free_info {
  void operator()(fi_info* info) const { libfabric().freeinfo(info); }
};
using info_ptr = std::unique_ptr<fi_info, free_info>;

struct wanted_provider {
  std::string name;       // empty: any
  std::string interface;  // empty: the loopback if all ranks are on one host, else the first other
  bool one_host = false;
};

// All that can be used here, each once. An error if there is none.
base::StatusOr<std::vector<std::string>> list_providers(const wanted_provider& wanted);

struct provider {
  info_ptr info;
  rma_mode rma = rma_mode::messages;
  // All devices have one domain, that any thread may use at any time; else each has its own. Keys
  // of the provider's choice differ from one domain to the next; peers that reach memory by
  // themselves know one of them.
  bool shares_domain = false;

  // Where peers ask for puts: whether one that the target waits for can be written without, since
  // its keys and addresses are those that peers are told, and the write can say that it is there.
  bool writes_to_waiting() const;

  const char* name() const { return info->fabric_attr->prov_name; }
  int mr_mode() const { return info->domain_attr->mr_mode; }
};

// Opens the provider of that name. As far as it goes along,
//   LCI_OFI_RMA=auto|native|asked|messages overrides preferred_mode()
//   LCI_OFI_DOMAIN=auto|shared overrides that devices have domains of their own. Shared, they
//     wait for each other in the provider, but memory is registered once instead of once for each.
base::StatusOr<provider> find_provider(const wanted_provider& wanted);

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_PROVIDER_H_
