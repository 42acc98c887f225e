// The stages of the solver on one rank, number by number against an independent implementation.

#include "solver/multigrid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "local_ranks.hpp"
#include "solver/multigrid_parts.hpp"
#include "solver/reference.hpp"

namespace hpgmg {
namespace {

struct stage_values {
  stencil op;
  int log2_box;
  double sum_f2;
  double least_diagonal, most_diagonal;
  double norm_af;
  double af_f;
  double most_beta, sum_beta;  ///< restricted
};
struct smooth_values {
  stencil op;
  int log2_box;
  smoother smooth;
  double norm_u;
  double norm_residual;
};
struct prolongation_values {
  stencil op;
  int log2_box;
  prolongation order;
  double error;
};

using enum stencil;

// clang-format off
constexpr stage_values stages[] = {
    {fv4, 4, 3.249980518711e+01, 1.481550394342e+03, 5.805075837132e+03, 4.070253849581e+02, 1.274816240598e+04, 1.202628844689e+00, 5.120000000000e+02},
    {fv4, 5, 2.904036714327e+02, 5.802765589071e+03, 2.319341281664e+04, 8.264566580216e+02, 1.263348851655e+05, 1.237409318205e+00, 4.096000000000e+03},
    {fv2, 4, 3.249980518711e+01, 1.185240315474e+03, 3.458760546262e+03, 3.615120527996e+02, 1.162153660680e+04, 1.202628844689e+00, 5.120000000000e+02},
    {fv2, 5, 2.904036714327e+02, 4.642212471257e+03, 1.382543483998e+04, 7.863087538954e+02, 1.224634324348e+05, 1.237409318205e+00, 4.096000000000e+03},
    {point7, 4, 2.832726003628e+01, 1.855688927850e+03, 2.303974466444e+04, 1.050368569271e+03, 5.915724495990e+04, 9.999818314368e+00, 4.701220056467e+03},
    {point7, 5, 2.266589283689e+02, 6.825615595352e+03, 9.215939372213e+04, 3.731369381287e+03, 7.717752051285e+05, 9.999915810550e+00, 3.760823834724e+04},
};
constexpr smooth_values smoothings[] = {
    {fv4, 4, smoother::gsrb, 1.347359847381e-03, 3.641106216499e-01},
    {fv4, 4, smoother::chebyshev, 1.544359557542e-03, 1.161831552845e-01},
    {fv4, 5, smoother::gsrb, 7.370085984175e-04, 1.118599218157e+00},
    {fv4, 5, smoother::chebyshev, 8.787644523253e-04, 4.444317931110e-01},
    {fv2, 4, smoother::gsrb, 1.553148524118e-03, 3.078889038280e-01},
    {fv2, 4, smoother::chebyshev, 1.868734933577e-03, 8.453626458217e-02},
    {fv2, 5, smoother::gsrb, 8.557206690921e-04, 9.884761901808e-01},
    {fv2, 5, smoother::chebyshev, 1.127881720218e-03, 3.633348173926e-01},
    {point7, 4, smoother::gsrb, 1.260705341221e-04, 3.062139239723e-01},
    {point7, 4, smoother::chebyshev, 1.771683592918e-04, 1.260910687518e-01},
    {point7, 5, smoother::gsrb, 3.370454628732e-05, 3.876235000693e-01},
    {point7, 5, smoother::chebyshev, 4.733368584271e-05, 1.836721030787e-01},
};
constexpr prolongation_values prolongations[] = {
    {fv4, 4, prolongation::quadratic, 3.362343917437e-01},
    {fv4, 4, prolongation::quartic, 3.037871765872e-01},
    {fv4, 5, prolongation::quadratic, 1.152522574811e-01},
    {fv4, 5, prolongation::quartic, 6.564280506226e-02},
    {fv2, 4, prolongation::quadratic, 3.362343917437e-01},
    {fv2, 5, prolongation::quadratic, 1.152522574811e-01},
    {point7, 4, prolongation::constant, 8.460651625072e-02},
    {point7, 4, prolongation::linear, 1.015732681866e-01},
    {point7, 5, prolongation::constant, 4.382954614189e-02},
    {point7, 5, prolongation::linear, 9.153935877877e-02},
};
// clang-format on

/// The last digit of the table may be off by one.
void expect_close(double value, double expected, char const* what) {
  EXPECT_NEAR(value, expected, 2e-12 * std::abs(expected)) << what;
}

problem one_box(stencil op, int log2_box, smoother smooth = smoother::gsrb) {
  problem p;
  p.op = op;
  p.log2_box = log2_box;
  p.smooth = smooth;
  return p;
}

/// Calls f(cell) for cells of a vector.
template <class F>
void for_cells(level const& l, int vector, F&& f) {
  for (auto const& own : l.boxes()) {
    for (int k = 0; k < l.layout().n; ++k) {
      for (int j = 0; j < l.layout().n; ++j) {
        for (int i = 0; i < l.layout().n; ++i) f(l.cells(own, vector)[l.layout().at(i, j, k)]);
      }
    }
  }
}

TEST(multigrid, operator_and_source) {
  for (auto const& expected : stages) {
    SCOPED_TRACE(testing::Message() << "operator " << static_cast<int>(expected.op) << ", 2^"
                                    << expected.log2_box);
    local_rank rank;
    multigrid m(one_box(expected.op, expected.log2_box), rank);
    expect_close(m.dot(0, f, f), expected.sum_f2, "sum of squares of f");
    double least = 1e300;
    double most = 0;
    for_cells(m.at(0), inverse_diagonal, [&](double x) {
      least = std::min(least, 1 / x);
      most = std::max(most, 1 / x);
    });
    expect_close(least, expected.least_diagonal, "least diagonal");
    expect_close(most, expected.most_diagonal, "largest diagonal");
    m.apply(0, temp, f);
    expect_close(m.max_norm(0, temp), expected.norm_af, "norm of A f");
    expect_close(m.dot(0, temp, f), expected.af_f, "(A f, f)");
    double largest = 0;
    double sum = 0;
    for_cells(m.at(1), beta_i, [&](double x) {
      largest = std::max(largest, x);
      sum += x;
    });
    expect_close(largest, expected.most_beta, "largest restricted beta");
    expect_close(sum, expected.sum_beta, "sum of restricted beta");
  }
}

TEST(multigrid, eigenvalue_bounds_of_all_levels) {
  for (auto const op : {fv4, fv2, point7}) {
    for (bool const periodic : {false, true}) {
      SCOPED_TRACE(testing::Message() << "operator " << static_cast<int>(op) << ", periodic " << periodic);
      // Some bounds are the same for all grids.
      int const log2_box = op == fv2 || (op == point7 && periodic) ? 5 : 7;
      problem p = one_box(op, log2_box);
      p.periodic = periodic;
      local_rank rank;
      multigrid m(p, rank);
      auto const known = find_reference(p, 1 << log2_box)->largest_eigenvalue;
      ASSERT_EQ(m.level_n(), static_cast<int>(known.size()));
      for (int l = 0; l < m.level_n(); ++l) {
        auto const [value, tolerance] = known[static_cast<std::size_t>(l)];
        EXPECT_NEAR(m.at(l).largest_eigenvalue, value, tolerance * value) << l;
      }
    }
  }
}

TEST(multigrid, norms_of_what_is_not_a_number_are_infinite) {
  local_rank rank;
  multigrid m(one_box(point7, 4), rank);
  m.solve(0);
  m.solve(1);
  EXPECT_TRUE(std::isfinite(m.max_norm(0, u)) && std::isfinite(m.richardson(1)));
  level const& finest = m.at(0);
  finest.cells(finest.boxes().front(), u)[finest.layout().at(1, 2, 3)] = std::nan("");
  EXPECT_TRUE(std::isinf(m.max_norm(0, u)));
  EXPECT_TRUE(std::isinf(m.richardson(1)));
}

TEST(multigrid, threads_share_levels_of_any_size) {
  EXPECT_FALSE(worth_threads(0, 16));
  EXPECT_FALSE(worth_threads(1, 16));
  EXPECT_TRUE(worth_threads(2, 16));
  EXPECT_TRUE(worth_threads(128, 256));  // 2^31 cells
  EXPECT_TRUE(worth_threads(1000, 512));
}

TEST(multigrid, one_call_of_the_smoother) {
  for (auto const& expected : smoothings) {
    SCOPED_TRACE(testing::Message() << "operator " << static_cast<int>(expected.op) << ", 2^"
                                    << expected.log2_box << ", smoother "
                                    << static_cast<int>(expected.smooth));
    local_rank rank;
    multigrid m(one_box(expected.op, expected.log2_box, expected.smooth), rank);
    m.smooth(0, u, f);
    expect_close(m.max_norm(0, u), expected.norm_u, "norm of u");
    m.residual(0, temp, u, f);
    expect_close(m.max_norm(0, temp), expected.norm_residual, "norm of the residual");
  }
}

TEST(multigrid, restricted_and_prolongated) {
  for (auto const& expected : prolongations) {
    SCOPED_TRACE(testing::Message() << "operator " << static_cast<int>(expected.op) << ", 2^"
                                    << expected.log2_box << ", prolongation "
                                    << static_cast<int>(expected.order));
    local_rank rank;
    multigrid m(one_box(expected.op, expected.log2_box), rank);
    m.restrict_vector(0, u, f);
    for_cells(m.at(0), u, [](double& x) { x = 0.125; });
    m.interpolate(0, false, expected.order);
    auto const error = [&] {
      double most = 0;
      std::vector<double> source;
      for_cells(m.at(0), f, [&](double x) { source.push_back(x); });
      std::size_t i = 0;
      for_cells(m.at(0), u, [&](double x) { most = std::max(most, std::abs(x - source[i++])); });
      return most;
    };
    expect_close(error(), expected.error, "P R f - f");
    // Added to -f it gives the same.
    std::vector<double> source;
    for_cells(m.at(0), f, [&](double x) { source.push_back(x); });
    std::size_t i = 0;
    for_cells(m.at(0), u, [&](double& x) { x = -source[i++]; });
    m.interpolate(0, true, expected.order);
    expect_close(m.max_norm(0, u), expected.error, "P R f - f, added");
  }
}

/// How often a mover runs, by the arenas between which it moves.
class counting_rank final : public runtime {
 public:
  struct count {
    plan moves;
    int runs = 0;
  };
  int rank() const override { return 0; }
  int size() const override { return 1; }
  group& world() override { return inner_.world(); }
  std::unique_ptr<group> split(bool in) override { return inner_.split(in); }
  std::unique_ptr<arena> allocate(std::ptrdiff_t doubles) override { return inner_.allocate(doubles); }
  std::unique_ptr<mover> make_mover(plan const& moves, group*) override {
    counts.push_back(std::make_unique<count>(count{moves}));
    return std::make_unique<counted>(*counts.back());
  }
  std::vector<std::unique_ptr<count>> counts;

  int runs(arena const* source, arena const* destination) const {
    int sum = 0;
    for (auto const& c : counts)
      sum += c->moves.source == source && c->moves.destination == destination ? c->runs : 0;
    return sum;
  }

 private:
  class counted final : public mover {
   public:
    explicit counted(count& c) : count_(c), inner_(c.moves) {}
    void run(std::ptrdiff_t source_offset, std::ptrdiff_t destination_offset, bool disturbed,
             move_times& times) override {
      ++count_.runs;
      inner_.run(source_offset, destination_offset, disturbed, times);
    }

   private:
    count& count_;
    local_mover inner_;
  };
  local_rank inner_;
};

TEST(multigrid, phases_of_communication_in_a_solve) {
  struct {
    stencil op;
    std::vector<int> exchanges;  ///< in all shapes, from the finest level to the bottom
  } const cases[] = {
      {fv4, {14 + 0, 26 + 2, 39 + 3, 52 + 4, 65 + 5, 22 + 6}},
      {point7, {10 + 0, 18 + 1, 27 + 1, 36 + 1, 45 + 1, 54 + 1, 14 + 1}},
  };
  for (auto const& c : cases) {
    counting_rank rank;
    problem p = one_box(c.op, 6, smoother::chebyshev);
    multigrid m(p, rank);
    for (auto& each : rank.counts) each->runs = 0;
    m.solve(0);
    ASSERT_EQ(m.level_n(), static_cast<int>(c.exchanges.size()));
    for (int l = 0; l < m.level_n(); ++l) {
      EXPECT_EQ(rank.runs(&m.at(l).memory(), &m.at(l).memory()), c.exchanges[static_cast<std::size_t>(l)])
          << l;
      // Restrictions from the next finer level, which the scratch memory of that is for.
      int restrictions = 0;
      for (auto const& each : rank.counts) {
        bool const into =
            each->moves.destination == &m.at(l).memory() && each->moves.source != &m.at(l).memory();
        restrictions += into ? each->runs : 0;
      }
      EXPECT_EQ(restrictions, l == 0 ? 0 : l + 1) << l;
    }
  }
}

}  // namespace
}  // namespace hpgmg
