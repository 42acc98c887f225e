#pragma once

/// Runtimes around another one.

#include "movers/runtime.hpp"

namespace hpgmg {

/// Hands every call on.
class forwarding_runtime : public runtime {
 public:
  explicit forwarding_runtime(runtime& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  group& world() override { return inner_.world(); }
  std::unique_ptr<group> split(bool in) override { return inner_.split(in); }
  std::unique_ptr<arena> allocate(std::ptrdiff_t doubles) override { return inner_.allocate(doubles); }
  std::unique_ptr<mover> make_mover(plan const& moves, group* members) override {
    return inner_.make_mover(moves, members);
  }
  std::unique_ptr<mover> make_exchange(level const& l, ghost_shape shape, group* members) override {
    return inner_.make_exchange(l, shape, members);
  }
  std::unique_ptr<mover> make_restriction(level const& fine, level const& coarse,
                                          restriction_plan const& what, group* members) override {
    return inner_.make_restriction(fine, coarse, what, members);
  }
  std::unique_ptr<mover> make_interpolation(level const& coarse, level const& fine,
                                            interpolation_plan const& what, group* members) override {
    return inner_.make_interpolation(coarse, fine, what, members);
  }

 protected:
  [[nodiscard]] runtime& inner() { return inner_; }

 private:
  runtime& inner_;
};

/// Forgets the first region that goes to each rank, so that tests can prove that the checks fail.
class forgetful_runtime final : public forwarding_runtime {
 public:
  using forwarding_runtime::forwarding_runtime;
  std::unique_ptr<mover> make_mover(plan const& moves, group* members) override {
    plan rest = moves;
    forget_first(rest.sends);
    forget_first(rest.receives);
    return inner().make_mover(rest, members);
  }
  std::unique_ptr<mover> make_exchange(level const& l, ghost_shape shape, group* members) override {
    return runtime::make_exchange(l, shape, members);
  }

 private:
  /// Both sides list the regions between them in the same order.
  static void forget_first(std::vector<region>& list) {
    int last = -1;
    std::erase_if(list, [&](region const& r) {
      bool const first = r.peer != last;
      last = r.peer;
      return first;
    });
  }
};

}  // namespace hpgmg
