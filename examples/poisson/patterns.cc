#include "examples/poisson/patterns.h"

#include <complex>

namespace poisson {
namespace {

constexpr size_t real_bytes = sizeof(double);
constexpr size_t complex_bytes = sizeof(std::complex<double>);

constexpr int tag_up = 0;  // towards larger y or z
constexpr int tag_down = 1;

size_t count(int n) { return static_cast<size_t>(n); }
size_t count(range of) { return static_cast<size_t>(of.size()); }

// Row `row` of the planes of a slab, counted as in the array (0 is the halo).
layout row_of_slab(const decomposition& part, int s, int row) {
  const shapes shape(part);
  const range slab = part.slab(s);
  layout made;
  made.length = shape.potential_row() * real_bytes;
  made.count = count(slab);
  made.stride = shape.potential_plane() * real_bytes;
  made.offset = count(slab.begin + 1) * made.stride + count(row) * made.length;
  return made;
}

// All rows but the halo of plane `plane`, counted as in the array.
layout potential_plane(const decomposition& part, int plane) {
  const shapes shape(part);
  layout made;
  made.length = count(part.y()) * shape.potential_row() * real_bytes;
  made.offset = (count(plane) * shape.potential_plane() + shape.potential_row()) * real_bytes;
  return made;
}

layout modes_plane(const decomposition& part) {
  layout made;
  made.length = shapes(part).y_plane() * complex_bytes;
  return made;
}

// The numbers of slab `s` that go from this rank's x_modes to the rank at `place` of the row, or
// come back.
layout in_x_modes(const decomposition& part, int s, int place) {
  const range slab = part.slab(s);
  const size_t plane = shapes(part).x_plane(place);
  layout made;
  made.offset = (shapes(part).x_block(place) + count(slab.begin) * plane) * complex_bytes;
  made.length = count(slab) * plane * complex_bytes;
  return made;
}

// Those that this rank's y_modes have from the rank at `place`.
layout in_y_modes(const decomposition& part, int s, int place) {
  const size_t modes = count(part.modes_x());
  const size_t plane = shapes(part).y_plane();
  const range slab = part.slab(s);
  const range theirs = part.y_of(place);
  layout made;
  made.offset = (count(slab.begin) * plane + count(theirs.begin) * modes) * complex_bytes;
  made.length = count(theirs) * modes * complex_bytes;
  made.count = count(slab);
  made.stride = plane * complex_bytes;
  return made;
}

template <class Sent, class Received>
pattern transpose(const decomposition& part, int send_region, Sent sent, int receive_region,
                  Received received) {
  pattern made;
  for (int place = 0; place < part.processes().y; ++place) {
    const int peer = part.rank_at(place, part.place_z());
    made.all_to_all.push_back(peer);
    if (place == part.place_y()) continue;
    made.sends.push_back({peer, 0, send_region, sent(place)});
    made.receives.push_back({peer, 0, receive_region, received(place)});
  }
  return made;
}

}  // namespace

shapes::shapes(const decomposition& part)
    : part_(part),
      x_(count(part.grid().x)),
      y_(count(part.y())),
      z_(count(part.z())),
      all_y_(count(part.grid().y)),
      own_modes_(count(part.modes_x())) {}

size_t shapes::x_plane(int place) const { return y_ * count(part_.modes_of(place)); }

size_t shapes::x_block(int place) const {
  size_t modes = count(part_.modes_of(place).begin);
  if (place > part_.place_y()) modes -= own_modes_;
  return z_ * y_ * modes;
}

size_t shapes::x_size() const { return z_ * y_ * (count(part_.modes()) - own_modes_); }

pattern halo_y(const decomposition& part, const regions& in, int s) {
  pattern made;
  const int ranks = part.processes().y;
  if (ranks == 1) return made;
  const int before = part.rank_at((part.place_y() + ranks - 1) % ranks, part.place_z());
  const int behind = part.rank_at((part.place_y() + 1) % ranks, part.place_z());
  const int last = part.y().size();
  made.sends = {{before, tag_down, in.potential, row_of_slab(part, s, 1)},
                {behind, tag_up, in.potential, row_of_slab(part, s, last)}};
  made.receives = {{behind, tag_down, in.potential, row_of_slab(part, s, last + 1)},
                   {before, tag_up, in.potential, row_of_slab(part, s, 0)}};
  return made;
}

pattern halo_up(const decomposition& part, const regions& in) {
  pattern made;
  const int z = part.place_z();
  if (z + 1 < part.processes().z) {
    made.sends = {{part.rank_at(part.place_y(), z + 1), tag_up, in.potential,
                   potential_plane(part, part.z().size())}};
  }
  if (z > 0) {
    made.receives = {
        {part.rank_at(part.place_y(), z - 1), tag_up, in.potential, potential_plane(part, 0)}};
  }
  return made;
}

pattern halo_down(const decomposition& part, const regions& in) {
  pattern made;
  const int z = part.place_z();
  if (z > 0) {
    made.sends = {
        {part.rank_at(part.place_y(), z - 1), tag_down, in.potential, potential_plane(part, 1)}};
  }
  if (z + 1 < part.processes().z) {
    made.receives = {{part.rank_at(part.place_y(), z + 1), tag_down, in.potential,
                      potential_plane(part, part.z().size() + 1)}};
  }
  return made;
}

pattern transpose_forward(const decomposition& part, const regions& in, int s) {
  return transpose(
      part, in.x_modes, [&](int place) { return in_x_modes(part, s, place); }, in.y_modes,
      [&](int place) { return in_y_modes(part, s, place); });
}

pattern transpose_backward(const decomposition& part, const regions& in, int s) {
  return transpose(
      part, in.y_modes, [&](int place) { return in_y_modes(part, s, place); }, in.x_modes,
      [&](int place) { return in_x_modes(part, s, place); });
}

pattern link_up(const decomposition& part, const regions& in, int from_z) {
  pattern made;
  if (part.place_z() == from_z) {
    made.sends = {{part.rank_at(part.place_y(), from_z + 1), tag_up, in.up, modes_plane(part)}};
  } else if (part.place_z() == from_z + 1) {
    made.receives = {{part.rank_at(part.place_y(), from_z), tag_up, in.below, modes_plane(part)}};
  }
  return made;
}

pattern link_down(const decomposition& part, const regions& in, int to_z) {
  pattern made;
  if (part.place_z() == to_z + 1) {
    made.sends = {{part.rank_at(part.place_y(), to_z), tag_down, in.down, modes_plane(part)}};
  } else if (part.place_z() == to_z) {
    made.receives = {
        {part.rank_at(part.place_y(), to_z + 1), tag_down, in.above, modes_plane(part)}};
  }
  return made;
}

}  // namespace poisson
