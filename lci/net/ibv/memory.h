#ifndef LCI_NET_IBV_MEMORY_H_
#define LCI_NET_IBV_MEMORY_H_

#include <infiniband/verbs.h>

#include <cstddef>

#include "lci/base/status.h"
#include "lci/net/ibv/verbs.h"

namespace lci::net::ibv {

// Registered memory for packets of equal size, each aligned to 64 bytes.
class packet_memory {
 public:
  packet_memory() = default;
  ~packet_memory();
  packet_memory(const packet_memory&) = delete;
  packet_memory& operator=(const packet_memory&) = delete;

  base::Status make(const verbs& library, ibv_pd* domain, size_t count, size_t bytes);

  unsigned char* at(size_t index) const {
    return static_cast<unsigned char*>(memory_) + index * stride_;
  }
  uint32_t key() const { return registration_->lkey; }

 private:
  void* memory_ = nullptr;
  size_t size_ = 0;
  size_t stride_ = 0;
  owned<ibv_mr> registration_;
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_MEMORY_H_
