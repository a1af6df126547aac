#ifndef LCI_RUNTIME_RESOURCES_REGISTRATIONS_H_
#define LCI_RUNTIME_RESOURCES_REGISTRATIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>

#include "lci/base/status.h"
#include "lci/net/backend.h"

namespace lci::rt {

// The registrations of a network context for operations whose buffer the program has not named a
// registration for: a large send, receive, put or get registers its buffer as it begins ("on the
// fly"), which costs system calls, and more time where a network adapter takes part.
//
// Memory that the program has registered is registered already: a buffer inside of it costs a
// look-up. A registration on the fly may be kept when its operation is over (attribute
// use_reg_cache of the device), for the next one of the same buffer or of a part of it. That is off
// by default: a program that frees memory and gets other memory at its address would send from, or
// receive into, the old memory, which the kept registration still holds. A program that turns it on
// keeps its buffers as long as their network context.
//
// Thread safety: every member by any thread at any time; they wait for each other, and for the
// network while it registers.
class registrations {
 private:
  struct known;

 public:
  // Registered on the fly that no operation uses: so many at most, those not used for longest go.
  static constexpr size_t max_kept = 1024;
  static constexpr size_t max_kept_bytes = size_t{4} << 30;

  // `network` outlives it.
  explicit registrations(net::context& network) : network_(network) {}
  ~registrations();
  registrations(const registrations&) = delete;
  registrations& operator=(const registrations&) = delete;

  // Covers a buffer while an operation uses it.
  struct use {
    net::local_region local;
    uint64_t offset = 0;     // bytes from the start of `local` to the buffer
    known* found = nullptr;  // for release
  };

  // Returns the network's error if it cannot register, also after the kept ones are gone.
  base::StatusOr<use> acquire(void* address, size_t size);
  // To be called once for each acquire, before the program is notified that the operation is
  // complete. `keep`: see use_reg_cache.
  void release(const use& finished, bool keep);

  // A registration of the program's, to be found until remove().
  void add(net::local_region local, void* address, size_t size);
  // Before the program's registration is closed: it is not found any more, nor what is kept of
  // memory that it covers, which may be freed now. If operations still use it, it is for the last
  // of them to call `close`; else this does.
  void remove(net::local_region local, void* address, std::function<void()> close);

  struct counts {
    uint64_t made = 0;   // registrations on the fly
    uint64_t found = 0;  // times that none had to be made
    size_t kept = 0;     // now, unused
    size_t kept_bytes = 0;
  };
  counts count() const;

 private:
  using by_address = std::multimap<uintptr_t, known>;
  struct known {
    net::local_region local;
    size_t size = 0;
    uint64_t uses = 0;
    bool of_program = false;
    bool hidden = false;          // ends with its last use
    std::function<void()> close;  // if hidden and of the program
    by_address::iterator self;
    std::list<known*>::iterator idle;  // if kept and unused
  };

  known* find(uintptr_t address, size_t size);
  known& insert(uintptr_t address, size_t size, net::local_region local);
  void use_again(known& kept);  // not kept, unused, any more
  void drop(known& gone);
  void drop_oldest();

  net::context& network_;
  mutable std::mutex mutex_;
  by_address known_;        // by the first byte
  std::list<known*> idle_;  // the one not used for longest in front
  size_t largest_ = 0;      // of known_, ever
  counts counts_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_RESOURCES_REGISTRATIONS_H_
