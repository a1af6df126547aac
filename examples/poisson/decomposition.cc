#include "examples/poisson/decomposition.h"

#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace poisson {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw std::invalid_argument(absl::StrCat(parts...));
}

}  // namespace

process_grid choose_process_grid(int ranks) {
  process_grid chosen{ranks, 1};
  for (int z = 1; z * z <= ranks; ++z) {
    if (ranks % z == 0) chosen = {ranks / z, z};
  }
  return chosen;
}

range share(int n, int parts, int i) {
  const auto begin_of = [&](int part) {
    return static_cast<int>(static_cast<long long>(n) * part / parts);
  };
  return {begin_of(i), begin_of(i + 1)};
}

decomposition::decomposition(grid_size grid, process_grid processes, int rank, int slabs)
    : grid_(grid),
      processes_(processes),
      slabs_(slabs),
      place_y_(rank % processes.y),
      place_z_(rank / processes.y) {
  if (grid.x < 2 || grid.x % 2 != 0) refuse("a grid of ", grid.x, " points in x: must be even");
  if (processes.y > grid.y || processes.y > modes()) {
    refuse("a grid of ", grid.x, " x ", grid.y, " x ", grid.z, " has ", grid.y, " points in y and ",
           modes(), " modes in x, too few for ", processes.y, " ranks in y");
  }
  if (processes.z > grid.z) {
    refuse("a grid of ", grid.z, " points in z is too small for ", processes.z, " ranks in z");
  }
  if (slabs > grid.z / processes.z) {
    refuse("a rank has ", grid.z / processes.z, " planes, too few for ", slabs,
           " slabs; take fewer slabs (--slabs)");
  }
  y_ = y_of(place_y_);
  z_ = share(grid.z, processes.z, place_z_);
  modes_x_ = modes_of(place_y_);
}

}  // namespace poisson
