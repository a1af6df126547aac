// Collective operations on blocks whose pieces are apart from each other.
#ifndef LCI_COLL_STAGING_H_
#define LCI_COLL_STAGING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "lci/api/types.hpp"

namespace lci::coll {

// Whether the pieces of the layout follow each other in their order, without gaps.
bool is_contiguous(const layout_t& layout);
// Whether two pieces of the layout have a byte in common. Takes time in proportion to the smaller
// one of the two counts.
bool has_overlap(const layout_t& layout);
// Whether the size of the layout, and the offset behind its last byte, can be represented.
bool is_representable(const layout_t& layout);

// The program's blocks, and room where their bytes stand one behind the other. The operation sends
// from the room and receives into it: so ranks with different layouts, and ranks without layouts,
// carry out the same operation.
//
// Thread safety: none; a persistent collective uses one object in all of its starts.
class staging {
 public:
  // Layouts of blocks, in the order in which they stand in the room. The program's `buffer`
  // outlives the operation. Returns the room, which is freed with this object.
  const char* stage_send(const void* buffer, std::vector<layout_t> blocks);
  char* stage_receive(void* buffer, std::vector<layout_t> blocks);

  // Before the operation begins: copies the blocks that are sent into the room.
  void pack() const;
  // After its end: copies what has been received from the room to the program's blocks.
  void unpack() const;

 private:
  struct side {
    std::vector<layout_t> blocks;
    std::unique_ptr<char[]> room;
  };
  static side make_side(std::vector<layout_t> blocks);

  const char* from_ = nullptr;
  char* to_ = nullptr;
  side sent_;
  side received_;
};

// An Operation (operations.h, blocks.h, rooted.h) on the room of a staging.
template <class Operation>
class staged final : public Operation {
 public:
  template <class Ticket, class... Arguments>
  staged(const Ticket& own, std::shared_ptr<staging> buffers, const Arguments&... arguments)
      : Operation(own, arguments...), buffers_(std::move(buffers)) {}
  // The other ranks may use the room until the operation has ended.
  ~staged() override { this->end(); }
  staged(const staged&) = delete;
  staged& operator=(const staged&) = delete;

 private:
  bool step() override {
    if (packed_ != this->number()) {
      buffers_->pack();
      packed_ = this->number();
    }
    if (!Operation::step()) return false;
    buffers_->unpack();
    return true;
  }

  const std::shared_ptr<staging> buffers_;
  uint64_t packed_ = 0;  // the number of the operation that has been packed
};

}  // namespace lci::coll

#endif  // LCI_COLL_STAGING_H_
