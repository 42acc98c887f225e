#include "solver/reference.hpp"

#include <span>

namespace hpgmg {
namespace {

enum equation { dirichlet, periodic, helmholtz };
constexpr auto gsrb = smoother::gsrb;
constexpr auto chebyshev = smoother::chebyshev;

struct f_cycle_row {
  equation kind;
  stencil op;
  smoother smooth;
  int cells;
  std::array<double, 3> norm;  ///< on h, 2h, 4h
  double error;
  double order;
};

// clang-format off
constexpr f_cycle_row f_cycles[] = {
    {dirichlet, stencil::fv4, gsrb, 16, {2.445831476e-03, 7.620856086e-04, 5.643886349e-05}, 1.072332112748e-04, 1.027},
    {dirichlet, stencil::fv4, gsrb, 32, {8.412949741e-04, 2.463322559e-03, 7.615331128e-04}, 2.741524561805e-05, 1.966},
    {dirichlet, stencil::fv4, gsrb, 48, {1.981469377e-04, 1.623386978e-03, 1.641086809e-03}, 7.296474457003e-06, 2.327},
    {dirichlet, stencil::fv4, gsrb, 64, {6.934041113e-05, 8.424292969e-04, 2.464277273e-03}, 2.889820931068e-06, 3.247},
    {dirichlet, stencil::fv4, gsrb, 128, {7.454823501e-06, 6.934667597e-05, 8.424967268e-04}, 2.342436689257e-07, 3.625},
    {dirichlet, stencil::fv4, gsrb, 256, {5.144230117e-07, 7.454872258e-06, 6.934706240e-05}, 1.486406621008e-08, 3.978},
    {dirichlet, stencil::fv4, chebyshev, 16, {3.570660619e-04, 3.419620785e-04, 1.810100718e-05}, 1.089574003398e-04, 0.998},
    {dirichlet, stencil::fv4, chebyshev, 32, {2.755795534e-04, 3.599825812e-04, 3.416886726e-04}, 2.640413904733e-05, 2.044},
    {dirichlet, stencil::fv4, chebyshev, 48, {2.824939328e-04, 2.249581334e-04, 3.118283323e-04}, 7.839224581969e-06, 2.204},
    {dirichlet, stencil::fv4, chebyshev, 64, {1.927722079e-04, 2.756620993e-04, 3.601418378e-04}, 2.865766864619e-06, 3.205},
    {dirichlet, stencil::fv4, chebyshev, 128, {2.675528584e-05, 1.927871428e-04, 2.756671850e-04}, 5.627329270662e-08, 5.670},
    {dirichlet, stencil::fv4, chebyshev, 256, {2.081011564e-06, 2.675545638e-05, 1.927880646e-04}, 7.245785355395e-09, 2.957},
    {dirichlet, stencil::fv2, gsrb, 16, {1.065882107e-03, 6.057290325e-04, 3.200241065e-05}, 9.851793960543e-05, 0.931},
    {dirichlet, stencil::fv2, gsrb, 32, {3.774957329e-03, 1.058515810e-03, 6.052876449e-04}, 1.171592818772e-04, -0.266},
    {dirichlet, stencil::fv2, gsrb, 48, {3.337443174e-03, 3.261969689e-03, 1.884509904e-03}, 6.440617719772e-05, 1.116},
    {dirichlet, stencil::fv2, gsrb, 64, {2.500181688e-03, 3.776949961e-03, 1.058151849e-03}, 3.829371121659e-05, 1.614},
    {dirichlet, stencil::fv2, gsrb, 128, {8.100803924e-04, 2.500328373e-03, 3.777070013e-03}, 9.649246296773e-06, 1.989},
    {dirichlet, stencil::fv2, gsrb, 256, {2.140020701e-04, 8.100840250e-04, 2.500337436e-03}, 2.386525136412e-06, 2.016},
    {dirichlet, stencil::fv2, chebyshev, 16, {3.432212453e-04, 9.764647204e-05, 4.496367383e-05}, 9.929599798443e-05, 0.918},
    {dirichlet, stencil::fv2, chebyshev, 32, {1.434897981e-03, 3.437897010e-04, 9.758928086e-05}, 1.154534149186e-04, -0.233},
    {dirichlet, stencil::fv2, chebyshev, 48, {1.853581881e-03, 9.176424933e-04, 3.376617903e-04}, 6.540824438777e-05, 1.130},
    {dirichlet, stencil::fv2, chebyshev, 64, {1.638758839e-03, 1.435264659e-03, 3.438173477e-04}, 3.887772415537e-05, 1.571},
    {dirichlet, stencil::fv2, chebyshev, 128, {6.265635583e-04, 1.638845382e-03, 1.435287071e-03}, 9.088541006941e-06, 2.097},
    {dirichlet, stencil::fv2, chebyshev, 256, {1.739725654e-04, 6.265663168e-04, 1.638850732e-03}, 2.135847982573e-06, 2.089},
    {dirichlet, stencil::point7, gsrb, 16, {3.653337767e-03, 3.115568520e-03, 1.217856402e-03}, 2.290441581441e-05, 1.004},
    {dirichlet, stencil::point7, gsrb, 32, {2.503708753e-03, 3.571130309e-03, 3.082109274e-03}, 7.357529298567e-06, 1.617},
    {dirichlet, stencil::point7, gsrb, 48, {1.886962981e-03, 3.267932876e-03, 4.143089008e-03}, 3.505403889149e-06, 1.777},
    {dirichlet, stencil::point7, gsrb, 64, {1.370240410e-03, 2.483435806e-03, 3.551079147e-03}, 2.028835856275e-06, 1.853},
    {dirichlet, stencil::point7, gsrb, 128, {7.053727802e-04, 1.366741989e-03, 2.478425013e-03}, 5.247387897153e-07, 1.949},
    {dirichlet, stencil::point7, gsrb, 256, {3.575826307e-04, 7.049019388e-04, 1.365870753e-03}, 1.328926958586e-07, 1.981},
    {dirichlet, stencil::point7, chebyshev, 16, {3.991576115e-03, 4.022616840e-03, 4.396543800e-04}, 2.380492948904e-05, 1.012},
    {dirichlet, stencil::point7, chebyshev, 32, {2.805612080e-03, 3.956948747e-03, 4.000680298e-03}, 7.265175998778e-06, 1.692},
    {dirichlet, stencil::point7, chebyshev, 48, {1.927753715e-03, 3.456833214e-03, 4.105789832e-03}, 3.398072612567e-06, 1.834},
    {dirichlet, stencil::point7, chebyshev, 64, {1.466558574e-03, 2.786836270e-03, 3.947731794e-03}, 1.965669840888e-06, 1.880},
    {dirichlet, stencil::point7, chebyshev, 128, {7.378260784e-04, 1.462708520e-03, 2.782204477e-03}, 5.133683596407e-07, 1.935},
    {dirichlet, stencil::point7, chebyshev, 256, {3.655730381e-04, 7.373370047e-04, 1.461751956e-03}, 1.312645480965e-07, 1.967},
    {periodic, stencil::fv4, gsrb, 64, {6.911891950e-05, 8.356510274e-04, 1.393170722e-03}, 3.119825555045e-06, 2.946},
    {periodic, stencil::fv4, gsrb, 128, {7.452249783e-06, 6.912518524e-05, 8.357185691e-04}, 2.403393117184e-07, 3.698},
    {helmholtz, stencil::fv4, gsrb, 64, {6.922131878e-05, 8.399308281e-04, 2.434722980e-03}, 2.884941570620e-06, 3.237},
    {periodic, stencil::fv4, chebyshev, 64, {2.230756416e-04, 3.348981160e-04, 1.088543483e-04}, 2.942328833512e-06, 3.085},
    {periodic, stencil::fv4, chebyshev, 128, {2.925368415e-05, 2.230932414e-04, 3.349060286e-04}, 3.251516641329e-08, 6.500},
    {helmholtz, stencil::fv4, chebyshev, 64, {1.924630450e-04, 2.753723063e-04, 3.566807163e-04}, 2.862784684883e-06, 3.197},
    {periodic, stencil::fv2, gsrb, 64, {2.496620828e-03, 3.748246170e-03, 1.098182179e-03}, 3.808285946253e-05, 1.565},
    {periodic, stencil::fv2, gsrb, 128, {8.089791880e-04, 2.496767496e-03, 3.748366271e-03}, 9.622229074195e-06, 1.985},
    {helmholtz, stencil::fv2, gsrb, 64, {2.491161502e-03, 3.761312917e-03, 1.047132433e-03}, 3.810347424941e-05, 1.611},
    {periodic, stencil::fv2, chebyshev, 64, {1.638533557e-03, 1.436427225e-03, 2.304247801e-04}, 3.859617690896e-05, 1.541},
    {periodic, stencil::fv2, chebyshev, 128, {6.265436352e-04, 1.638620107e-03, 1.436449671e-03}, 9.056770610577e-06, 2.091},
    {helmholtz, stencil::fv2, chebyshev, 64, {1.633540962e-03, 1.429750430e-03, 3.412942040e-04}, 3.868690898439e-05, 1.568},
    {periodic, stencil::point7, gsrb, 64, {8.659455759e-04, 1.399613440e-03, 2.055164696e-03}, 1.567707730679e-07, 2.256},
    {periodic, stencil::point7, gsrb, 128, {4.499720807e-04, 8.650728184e-04, 1.398167510e-03}, 4.582102662369e-08, 1.773},
    {helmholtz, stencil::point7, gsrb, 64, {1.369552450e-03, 2.481863933e-03, 3.547834387e-03}, 2.028585919463e-06, 1.852},
    {periodic, stencil::point7, chebyshev, 64, {8.511818908e-04, 1.451059733e-03, 1.566507602e-03}, 1.887426176516e-07, 2.220},
    {periodic, stencil::point7, chebyshev, 128, {4.400099081e-04, 8.503113096e-04, 1.449550488e-03}, 4.305968188298e-08, 2.130},
    {helmholtz, stencil::point7, chebyshev, 64, {1.466377709e-03, 2.785659086e-03, 3.942465823e-03}, 1.965245548947e-06, 1.880},
};

/// Until 1e-10, for Poisson's equation with u = 0 on the boundary, N = 64.
struct history_row {
  stencil op;
  smoother smooth;
  std::vector<double> reduction;
  double error;  ///< 0: not known
  double order;
};

history_row const f_then_v_cycles[] = {
    {stencil::fv4, gsrb, {7.171390e-05, 1.026011e-06, 1.498618e-08, 2.288179e-10, 3.636775e-12}, 3.469551290e-06, 2.779},
    {stencil::fv4, chebyshev, {1.993707e-04, 1.370978e-06, 9.509576e-09, 6.294274e-11}, 3.469551220e-06, 2.779},
    {stencil::fv2, gsrb, {2.585762e-03, 1.204958e-04, 5.898810e-06, 3.102505e-07, 1.677898e-08, 9.278312e-10, 5.220912e-11}, 4.061097309e-05, 1.502},
    {stencil::fv2, chebyshev, {1.694853e-03, 3.002211e-05, 6.071831e-07, 1.376835e-08, 3.244308e-10, 7.858915e-12}, 4.061097294e-05, 1.502},
    {stencil::point7, gsrb, {6.422487e-03, 5.748614e-04, 7.123593e-05, 8.919100e-06, 1.138494e-06, 1.479298e-07, 1.955311e-08, 2.625244e-09, 3.572569e-10, 4.917429e-11}, 1.986724603e-06, 1.857},
    {stencil::point7, chebyshev, {6.873942e-03, 7.570837e-05, 2.316828e-05, 6.843791e-07, 9.082319e-08, 4.335028e-09, 4.038037e-10, 2.516288e-11}, 1.986724603e-06, 1.857},
};

history_row const v_cycles[] = {
    {stencil::fv4, gsrb, {3.85677e-02, 6.95445e-04, 1.26502e-05, 2.32357e-07, 4.34610e-09, 8.33210e-11}, 0, 0},
    {stencil::fv4, chebyshev, {6.32640e-03, 4.66033e-05, 3.12991e-07, 2.47465e-09, 1.86451e-11}, 0, 0},
    {stencil::fv2, gsrb, {9.34361e-02, 4.52173e-03, 2.27816e-04, 1.18864e-05, 6.38754e-07, 3.51713e-08, 1.97529e-09, 1.12730e-10, 6.52261e-12}, 0, 0},
    {stencil::fv2, chebyshev, {1.70704e-02, 3.35722e-04, 7.38314e-06, 1.71918e-07, 4.15650e-09, 1.02930e-10, 2.59740e-12}, 0, 0},
    {stencil::point7, gsrb, {1.09692e+00, 2.30195e-02, 2.12985e-03, 3.23527e-04, 4.69802e-05, 6.84022e-06, 9.93013e-07, 1.43891e-07, 2.08086e-08, 3.00420e-09, 4.33111e-10, 6.23704e-11}, 0, 0},
    {stencil::point7, chebyshev, {1.05650e+00, 2.52304e-02, 4.18695e-03, 1.80265e-04, 1.86822e-05, 1.06956e-06, 9.05755e-08, 5.99573e-09, 4.63909e-10, 3.28464e-11}, 0, 0},
};

/// Norms of f on h, 2h, 4h.
struct source_row {
  int cells;
  std::array<double, 3> volume;
  std::array<double, 3> point;
};
constexpr source_row sources[] = {
    {16, {5.968872628299e-01, 1.844504598761e-01, 2.464916372660e-02}, {2.110375097424e-01, 1.856088081127e-01, 1.640815798549e-01}},
    {32, {8.748951839747e-01, 6.007449875581e-01, 1.843492673356e-01}, {2.130170224011e-01, 2.072635769788e-01, 1.819990335638e-01}},
    {48, {9.420235769540e-01, 7.913963867473e-01, 4.216492170084e-01}, {2.132725440228e-01, 2.114848939470e-01, 2.019656004020e-01}},
    {64, {9.669033123675e-01, 8.754087410019e-01, 6.009551875966e-01}, {2.133504501876e-01, 2.119243533964e-01, 2.063590498258e-01}},
    {128, {9.916067008959e-01, 9.669414334675e-01, 8.754395234728e-01}, {2.134949363473e-01, 2.130697292256e-01, 2.116548908393e-01}},
    {256, {9.978941433914e-01, 9.916091861552e-01, 9.669437904514e-01}, {2.135162893430e-01, 2.134249465295e-01, 2.130004179859e-01}},
};
constexpr std::array<double, 3> periodic_point_source = {1.354606195078e-01, 1.331427446356e-01, 1.243917967854e-01};  // N = 64

struct eigenvalue_row {
  equation kind;
  int cells;
  std::vector<known_bound> bound;
};
/// Of fv4.
eigenvalue_row const eigenvalues[] = {
    {dirichlet, 32, {{2.223793917728256}}},
    {dirichlet, 64, {{2.223387382534929}}},
    {dirichlet, 48, {{2.223470419044874}, {2.224369199339673}, {2.228709351402784}, {2.163934426229508}, {2.193548387096774}}},
    {dirichlet, 128, {{2.223332976448990}, {2.223387382550026}, {2.223793919672764}, {2.226274209954397}, {2.230456244630961}, {2.232895109306462}, {1.375886524822695}}},
    {periodic, 128, {{2.133901449464571}, {2.134465223894590}, {2.135560839761895}, {2.137486087364598}, {2.139777122676336}, {2.140448539342049}, {2.000000000000000}}},
};
// clang-format on

/// Iterations of a solve on h, 2h, 4h with one F-cycle, N = 64.
std::array<int, 3> bottom_iterations(stencil op, smoother smooth) {
  if (op == stencil::fv2) return {6, 5, 4};
  if (op == stencil::point7) return {7, 6, 5};
  return smooth == gsrb ? std::array{10, 8, 7} : std::array{11, 9, 7};
}

equation equation_of(problem const& what) {
  return what.helmholtz ? helmholtz : what.periodic ? periodic : dirichlet;
}

std::optional<std::array<double, 3>> source_norm(problem const& what, int cells) {
  bool const volume = what.kind() == problem_kind::volume;
  if (!volume && (what.periodic || what.helmholtz)) {
    bool const known = what.periodic && !what.helmholtz && cells == 64;
    return known ? std::optional(periodic_point_source) : std::nullopt;
  }
  for (auto const& row : sources) {
    if (row.cells == cells) return volume ? row.volume : row.point;
  }
  return std::nullopt;
}

std::vector<known_bound> eigenvalue_bounds(problem const& what, int cells) {
  if (what.helmholtz) return {};
  if (what.op == stencil::fv4) {
    for (auto const& row : eigenvalues) {
      if (row.kind == equation_of(what) && row.cells == cells) return row.bound;
    }
    return {};
  }
  if ((cells & (cells - 1)) != 0) return {};
  std::vector<known_bound> bounds;
  for (int n = cells; n >= (what.periodic ? 2 : 4); n /= 2) bounds.push_back({2});
  if (what.periodic) return bounds;
  // Every cell is in a corner. The coefficients of fv2 are 1 on the mean of each face.
  if (what.op == stencil::fv2) bounds.insert(bounds.end(), {{4. / 3}, {1}});
  if (what.op == stencil::point7 && cells == 128) bounds.insert(bounds.end(), {{1.286089, 4e-7}, {1}});
  return bounds;
}

/// What repeated cycles do.
void add_history(reference& to, std::span<history_row const> table, problem const& what) {
  for (auto const& row : table) {
    if (row.op != what.op || row.smooth != what.smooth) continue;
    to.reduction = row.reduction;
    if (row.error == 0) continue;
    to.error = row.error;
    to.order = row.order;
  }
}

}  // namespace

double norm_tolerance(int cells) { return cells <= 64 ? 1e-8 : cells <= 128 ? 1e-7 : 1e-5; }
double error_tolerance(int cells) { return cells <= 128 ? 1e-9 : 1e-8; }

std::optional<reference> find_reference(problem const& what, int cells) {
  if (what.periodic && what.helmholtz) return std::nullopt;
  reference result;
  result.source_norm = source_norm(what, cells);
  result.largest_eigenvalue = eigenvalue_bounds(what, cells);
  equation const kind = equation_of(what);
  if (what.start == cycle::f) {
    for (auto const& row : f_cycles) {
      if (row.kind != kind || row.op != what.op || row.smooth != what.smooth || row.cells != cells) continue;
      result.residual_norm = row.norm;
      result.error = row.error;
      result.order = row.order;
      if (cells == 64 && kind == dirichlet)
        result.bottom_iterations = bottom_iterations(what.op, what.smooth);
    }
  } else if (cells == 64 && kind == dirichlet) {
    if (what.start == cycle::v) {
      add_history(result, v_cycles, what);
    } else {
      add_history(result, f_then_v_cycles, what);
    }
  }
  bool const known = result.source_norm || !result.largest_eigenvalue.empty() || result.residual_norm ||
                     !result.reduction.empty();
  return known ? std::optional(result) : std::nullopt;
}

}  // namespace hpgmg
