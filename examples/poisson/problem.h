// The problem that is solved, whose solution is known.
//
//   -div(k grad u) = f  on [0,1)^3, periodic in x and y, u = 0 at z = 0 and z = 1,
//
// as of the pressure in a flow of two fluids. k = 1 + contrast * cos cos cos, between 1 - contrast
// and 1 + contrast; with a contrast of 0 it is Poisson's equation.
#ifndef EXAMPLES_POISSON_PROBLEM_H_
#define EXAMPLES_POISSON_PROBLEM_H_

#include <cstddef>
#include <vector>

#include "examples/poisson/decomposition.h"

namespace poisson {

class problem {
 public:
  problem(grid_size grid, double contrast);

  double contrast() const { return contrast_; }
  // At point (i, j, l). Each index may also be -1 or n. x and y begin at 0; z at one step from the
  // wall, and ends so.
  double coefficient(int i, int j, int l) const;
  double solution(int i, int j, int l) const;
  double right_side(int i, int j, int l) const;
  double step_x() const { return 1 / static_cast<double>(grid_.x); }
  double step_y() const { return 1 / static_cast<double>(grid_.y); }
  double step_z() const { return 1 / static_cast<double>(grid_.z + 1); }

 private:
  // A function of one coordinate, and its derivatives.
  struct jet {
    double value;
    double first;
    double second;
  };
  // Of the solution, and of the factors of k - 1: at points -1 to n.
  struct direction {
    std::vector<jet> solution;
    std::vector<jet> wave;
  };
  static const jet& at(const std::vector<jet>& jets, int i) {
    return jets[static_cast<size_t>(i + 1)];
  }

  grid_size grid_;
  double contrast_;
  direction x_, y_, z_;
};

}  // namespace poisson

#endif  // EXAMPLES_POISSON_PROBLEM_H_
