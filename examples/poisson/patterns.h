// The communication patterns of the solver: sender, receiver and array section of each message.
#ifndef EXAMPLES_POISSON_PATTERNS_H_
#define EXAMPLES_POISSON_PATTERNS_H_

#include <cstddef>

#include "examples/poisson/decomposition.h"
#include "examples/poisson/transport.h"

namespace poisson {

// The shapes of a rank's arrays. Numbers of one row are next to each other, then rows, then planes.
class shapes {
 public:
  explicit shapes(const decomposition& part);

  // With a row before and behind in y, and a plane below and above.
  size_t potential_row() const { return x_; }
  size_t potential_plane() const { return (y_ + 2) * x_; }
  size_t potential_size() const { return (z_ + 2) * potential_plane(); }
  // Complex numbers. Pencils along y: [z][all y][own modes]. Pencils along x: what belongs to them
  // is a block for each other rank of the row, [z][y][modes of that rank]; the own modes are never
  // there.
  size_t x_plane(int place) const;  // of the block for the rank at that place of the row
  size_t x_block(int place) const;  // where it begins
  size_t x_size() const;
  size_t y_plane() const { return all_y_ * own_modes_; }
  size_t y_size() const { return z_ * y_plane(); }

 private:
  decomposition part_;
  size_t x_, y_, z_, all_y_, own_modes_;
};

// Regions of the transport.
struct regions {
  int potential = 0;
  int x_modes = 0;
  int y_modes = 0;
  int below = 0;  // a plane of modes each: what comes from below,
  int above = 0;  // from above,
  int up = 0;     // and what goes there
  int down = 0;
};

// Rows of the potential at the borders in y, of slab `s`. With one rank in y: no messages.
pattern halo_y(const decomposition& part, const regions& in, int s);
// The plane of the potential at the top goes to the rank above, or that at the bottom below.
pattern halo_up(const decomposition& part, const regions& in);
pattern halo_down(const decomposition& part, const regions& in);

// Slab `s` from pencils along x to pencils along y, and back; to the other ranks of the row.
pattern transpose_forward(const decomposition& part, const regions& in, int s);
pattern transpose_backward(const decomposition& part, const regions& in, int s);
// The plane `up` of rank `from_z` (place in z) to `below` of the next one; and `down` of that to
// `above` of the former. For ranks with another place: no messages.
pattern link_up(const decomposition& part, const regions& in, int from_z);
pattern link_down(const decomposition& part, const regions& in, int to_z);

}  // namespace poisson

#endif  // EXAMPLES_POISSON_PATTERNS_H_
