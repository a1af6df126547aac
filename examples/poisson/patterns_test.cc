#include "examples/poisson/patterns.h"

#include <algorithm>
#include <array>
#include <complex>
#include <vector>

#include "gtest/gtest.h"

namespace poisson {
namespace {

using complex = std::complex<double>;

constexpr grid_size grid{10, 7, 9};
constexpr process_grid processes{3, 2};
constexpr int slabs = 3;
constexpr int ranks = 6;
constexpr regions in{0, 1, 2, 3, 4, 5, 6};

decomposition part_of(int rank) { return decomposition(grid, processes, rank, slabs); }

// The arrays of one rank.
struct arrays {
  std::array<std::vector<complex>, 7> regions;
  double* potential() { return reinterpret_cast<double*>(regions[0].data()); }
  char* bytes(int region) {
    return reinterpret_cast<char*>(regions[static_cast<size_t>(region)].data());
  }
};

std::vector<arrays> make_arrays() {
  std::vector<arrays> all(ranks);
  for (int r = 0; r < ranks; ++r) {
    const shapes shape(part_of(r));
    auto& regions = all[static_cast<size_t>(r)].regions;
    regions[0].resize(shape.potential_size() / 2 + 1, complex(-1, -1));
    regions[1].resize(shape.x_size(), -1);
    regions[2].resize(shape.y_size(), -1);
    for (size_t i = 3; i < 7; ++i) regions[i].resize(shape.y_plane(), -1);
  }
  return all;
}

// Each message goes to the one receive that is meant.
template <class Make>
void exchange_all(std::vector<arrays>* all, Make make) {
  std::vector<pattern> patterns;
  for (int r = 0; r < ranks; ++r) patterns.push_back(make(part_of(r)));
  size_t receives = 0;
  for (const pattern& each : patterns) receives += each.receives.size();
  for (int from = 0; from < ranks; ++from) {
    for (const message& sent : patterns[static_cast<size_t>(from)].sends) {
      const auto& theirs = patterns[static_cast<size_t>(sent.peer)].receives;
      const auto meant = [&](const message& each) {
        return each.peer == from && each.tag == sent.tag;
      };
      ASSERT_EQ(std::count_if(theirs.begin(), theirs.end(), meant), 1);
      const message& got = *std::find_if(theirs.begin(), theirs.end(), meant);
      ASSERT_EQ(sent.bytes.size(), got.bytes.size());
      std::vector<char> packed(sent.bytes.size());
      pack((*all)[static_cast<size_t>(from)].bytes(sent.region), sent.bytes, packed.data());
      unpack(packed.data(), (*all)[static_cast<size_t>(sent.peer)].bytes(got.region), got.bytes);
      --receives;
    }
  }
  EXPECT_EQ(receives, 0u) << "receives for which nothing is sent";
}

// The part of a global array that all ranks hold.
complex number(int x, int y, int z) { return {x + 0.5 * y, 1.0 * z}; }

TEST(Patterns, TransposesThereAndBack) {
  std::vector<arrays> all = make_arrays();
  // Calls visit(array's number, number(x, y, z)), by rank; with the modes that leave it, or are
  // its.
  const auto for_each_sent = [&](auto visit) {
    for (int r = 0; r < ranks; ++r) {
      const decomposition part = part_of(r);
      const shapes shape(part);
      for (int place = 0; place < processes.y; ++place) {
        if (place == part.place_y()) continue;
        complex* next = all[static_cast<size_t>(r)].regions[1].data() + shape.x_block(place);
        for (int z = part.z().begin; z < part.z().end; ++z) {
          for (int y = part.y().begin; y < part.y().end; ++y) {
            for (int x = part.modes_of(place).begin; x < part.modes_of(place).end; ++x) {
              visit(next++, number(x, y, z));
            }
          }
        }
      }
    }
  };
  const auto for_each_y_mode = [&](auto visit) {
    for (int r = 0; r < ranks; ++r) {
      const decomposition part = part_of(r);
      complex* next = all[static_cast<size_t>(r)].regions[2].data();
      for (int z = part.z().begin; z < part.z().end; ++z) {
        for (int y = 0; y < grid.y; ++y) {
          const bool is_sent = y < part.y().begin || y >= part.y().end;
          for (int x = part.modes_x().begin; x < part.modes_x().end; ++x) {
            visit(next++, is_sent ? number(x, y, z) : -1);
          }
        }
      }
    }
  };
  size_t sent = 0;
  for_each_sent([&](complex* at, complex value) {
    *at = value;
    ++sent;
  });
  size_t all_numbers = 0;
  for (const arrays& each : all) all_numbers += each.regions[1].size();
  EXPECT_EQ(sent, all_numbers);
  for (int s = 0; s < slabs; ++s) {
    exchange_all(&all, [&](const decomposition& part) { return transpose_forward(part, in, s); });
  }
  for_each_y_mode([](complex* at, complex value) {
    ASSERT_EQ(*at, value);
    *at *= 2;
  });
  for (int s = 0; s < slabs; ++s) {
    exchange_all(&all, [&](const decomposition& part) { return transpose_backward(part, in, s); });
  }
  for_each_sent([](const complex* at, complex value) { ASSERT_EQ(*at, 2.0 * value); });
}

TEST(Patterns, HalosAreOfTheNeighbors) {
  std::vector<arrays> all = make_arrays();
  const auto value_of = [](int x, int y, int z) { return x + 100.0 * y + 10000.0 * z; };
  const auto at = [&](int rank, int x, int y, int z) -> double& {
    const shapes shape(part_of(rank));
    return all[static_cast<size_t>(rank)]
        .potential()[static_cast<size_t>(z + 1) * shape.potential_plane() +
                     static_cast<size_t>(y + 1) * shape.potential_row() + static_cast<size_t>(x)];
  };
  for (int r = 0; r < ranks; ++r) {
    const decomposition part = part_of(r);
    for (int z = 0; z < part.z().size(); ++z) {
      for (int y = 0; y < part.y().size(); ++y) {
        for (int x = 0; x < grid.x; ++x) {
          at(r, x, y, z) = value_of(x, y + part.y().begin, z + part.z().begin);
        }
      }
    }
  }
  for (int s = 0; s < slabs; ++s) {
    exchange_all(&all, [&](const decomposition& part) { return halo_y(part, in, s); });
  }
  exchange_all(&all, [](const decomposition& part) { return halo_up(part, in); });
  exchange_all(&all, [](const decomposition& part) { return halo_down(part, in); });
  for (int r = 0; r < ranks; ++r) {
    const decomposition part = part_of(r);
    const range y = part.y();
    const range z = part.z();
    for (int x = 0; x < grid.x; ++x) {
      for (int l = 0; l < z.size(); ++l) {
        EXPECT_EQ(at(r, x, -1, l), value_of(x, (y.begin + grid.y - 1) % grid.y, z.begin + l));
        EXPECT_EQ(at(r, x, y.size(), l), value_of(x, y.end % grid.y, z.begin + l));
      }
      for (int j = 0; j < y.size(); ++j) {
        EXPECT_EQ(at(r, x, j, -1), z.begin == 0 ? -1 : value_of(x, y.begin + j, z.begin - 1));
        EXPECT_EQ(at(r, x, j, z.size()), z.end == grid.z ? -1 : value_of(x, y.begin + j, z.end));
      }
    }
  }
}

TEST(Patterns, PlanesGoToTheNextRankInZ) {
  std::vector<arrays> all = make_arrays();
  for (int r = 0; r < ranks; ++r) {
    for (complex& each : all[static_cast<size_t>(r)].regions[5]) each = 10 + r;
    for (complex& each : all[static_cast<size_t>(r)].regions[6]) each = 20 + r;
  }
  exchange_all(&all, [](const decomposition& part) { return link_up(part, in, 0); });
  exchange_all(&all, [](const decomposition& part) { return link_down(part, in, 0); });
  for (int r = 0; r < ranks; ++r) {
    const bool bottom = r < processes.y;
    for (const complex& each : all[static_cast<size_t>(r)].regions[3]) {
      EXPECT_EQ(each, bottom ? complex(-1) : complex(10 + r - processes.y));
    }
    for (const complex& each : all[static_cast<size_t>(r)].regions[4]) {
      EXPECT_EQ(each, bottom ? complex(20 + r + processes.y) : complex(-1));
    }
  }
}

}  // namespace
}  // namespace poisson
