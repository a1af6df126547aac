// Posting communication.
#ifndef LCI_API_COMM_HPP_
#define LCI_API_COMM_HPP_

#include "lci/api/comp.hpp"
#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

namespace lci {

// Active message: `size` bytes travel to `rank`, whose completion object `remote_comp` is signalled
// with their copy (status: rank, buffer, size, tag). The receiver owns that buffer, which comes
// from its runtime's allocator (malloc by default); for size 0 it is null.
//
// Returns (SC'25 paper, section 4.2.5)
//   done    local_buffer is the caller's again, local_comp will not be signalled
//   posted  local_buffer belongs to the library until local_comp is signalled, once, with the
//   status
//           of this operation (rank, buffer, size, tag, user_context)
//   retry   nothing happened, for the reason that the code says; make progress and post again
// Throws std::invalid_argument naming the argument for a rank, tag or rcomp out of range or a null
// buffer with a size; peer_failure_error when `rank` is known to be gone.
//
// Messages up to the device's packet_size are copied out at once (inject); larger ones are moved by
// rendezvous straight from local_buffer into the receiver's. Any thread, any time, also from a
// handler. Not ordered.
class post_am_x : public option::runtime_option<post_am_x>,
                  public option::device_option<post_am_x>,
                  public option::comp_semantic_option<post_am_x>,
                  public option::tag_option<post_am_x>,
                  public option::user_context_option<post_am_x>,
                  public option::allow_done_option<post_am_x>,
                  public option::allow_posted_option<post_am_x>,
                  public option::allow_retry_option<post_am_x> {
 public:
  post_am_x(int rank, void* local_buffer, size_t size, comp_t local_comp, rcomp_t remote_comp)
      : rank_(rank),
        remote_comp_(remote_comp),
        local_buffer_(local_buffer),
        size_(size),
        local_comp_(local_comp) {}

  int rank() const { return rank_; }
  void* local_buffer() const { return local_buffer_; }
  size_t size() const { return size_; }
  comp_t local_comp() const { return local_comp_; }
  rcomp_t remote_comp() const { return remote_comp_; }

  status_t operator()() const;

 private:
  int rank_;
  rcomp_t remote_comp_;
  void* local_buffer_;
  size_t size_;
  comp_t local_comp_;
};
inline status_t post_am(int rank, void* local_buffer, size_t size, comp_t local_comp,
                        rcomp_t remote_comp) {
  return post_am_x(rank, local_buffer, size, local_comp, remote_comp)();
}

}  // namespace lci

#endif  // LCI_API_COMM_HPP_
