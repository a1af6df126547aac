// The decomposition of the grid: the part of each rank.
#ifndef EXAMPLES_POISSON_DECOMPOSITION_H_
#define EXAMPLES_POISSON_DECOMPOSITION_H_

namespace poisson {

// Points in each direction.
struct grid_size {
  int x = 0;
  int y = 0;
  int z = 0;
};

// Ranks in the two directions that are divided.
struct process_grid {
  int y = 1;
  int z = 1;
};
// The one with the fewest ranks in z that has as many as in y, or fewer: 1 x 1, 2 x 1, 3 x 1,
// 2 x 2, 5 x 1, 3 x 2, ...
process_grid choose_process_grid(int ranks);

struct range {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
};
// The i-th of `parts` parts of 0 to n - 1, whose sizes differ by 1 at most.
range share(int n, int parts, int i);

// Pencils along x: a rank has all x, and shares of y and z. Pencils along y, in Fourier space: the
// same share of z, all y, and a share of the modes in x. Ranks of the same share of z are a row;
// those in the same place of neighboring rows are each other's neighbors in z.
class decomposition {
 public:
  // Throws std::invalid_argument, saying what to change, if a rank or a slab would have no part.
  // `slabs`: parts of z that a rank goes through one after the other.
  decomposition(grid_size grid, process_grid processes, int rank, int slabs);

  grid_size grid() const { return grid_; }
  process_grid processes() const { return processes_; }
  int slabs() const { return slabs_; }
  // Of a real transform in x.
  int modes() const { return grid_.x / 2 + 1; }

  int rank() const { return rank_at(place_y_, place_z_); }
  int place_y() const { return place_y_; }
  int place_z() const { return place_z_; }
  int rank_at(int place_y, int place_z) const { return place_z * processes_.y + place_y; }

  range y() const { return y_; }
  range z() const { return z_; }
  range modes_x() const { return modes_x_; }
  // Those of the rank at that place of the row.
  range y_of(int place_y) const { return share(grid_.y, processes_.y, place_y); }
  range modes_of(int place_y) const { return share(modes(), processes_.y, place_y); }
  // Planes of the s-th slab, from the rank's first plane.
  range slab(int s) const { return share(z().size(), slabs_, s); }

 private:
  grid_size grid_;
  process_grid processes_;
  int slabs_;
  int place_y_;
  int place_z_;
  range y_;
  range z_;
  range modes_x_;
};

}  // namespace poisson

#endif  // EXAMPLES_POISSON_DECOMPOSITION_H_
