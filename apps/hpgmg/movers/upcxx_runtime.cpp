// The program over Atoll.

#include <upcxx/upcxx.hpp>

#include "movers/array_mover.hpp"
#include "movers/bulk_mover.hpp"
#include "movers/natural_movers.hpp"
#include "movers/runtime.hpp"
#include "movers/shared_arena.hpp"

namespace hpgmg {
namespace {

constexpr std::size_t cache_line = 64;

class team_group final : public group {
 public:
  explicit team_group(upcxx::team const& members) : members_(members) {}
  double max(double mine) override { return upcxx::reduce_all(mine, upcxx::op_fast_max, members_).wait(); }
  double sum(double mine) override { return upcxx::reduce_all(mine, upcxx::op_fast_add, members_).wait(); }
  void barrier() override { upcxx::barrier(members_); }

 private:
  upcxx::team const& members_;
};

/// A team of its own.
class split_group final : public group {
 public:
  explicit split_group(upcxx::team&& members) : members_(std::move(members)), calls_(members_) {}
  ~split_group() override { members_.destroy(upcxx::entry_barrier::internal); }
  double max(double mine) override { return calls_.max(mine); }
  double sum(double mine) override { return calls_.sum(mine); }
  void barrier() override { calls_.barrier(); }

 private:
  upcxx::team members_;
  team_group calls_;
};

class upcxx_runtime final : public runtime {
 public:
  explicit upcxx_runtime(std::string_view communication) : communication_(communication) {
    upcxx::init();
    world_ = std::make_unique<team_group>(upcxx::world());
  }
  ~upcxx_runtime() override { upcxx::finalize(); }

  int rank() const override { return upcxx::rank_me(); }
  int size() const override { return upcxx::rank_n(); }
  group& world() override { return *world_; }
  std::unique_ptr<group> split(bool in) override {
    upcxx::team members = upcxx::world().split(in ? 0 : upcxx::team::color_none, upcxx::rank_me());
    return in ? std::make_unique<split_group>(std::move(members)) : nullptr;
  }
  std::unique_ptr<arena> allocate(std::ptrdiff_t doubles) override {
    // A rank without memory must not leave the others waiting for its pointer.
    upcxx::global_ptr<double> memory =
        upcxx::allocate<double>(static_cast<std::size_t>(doubles + 1), cache_line);
    if (upcxx::reduce_all(memory.is_null() ? 1 : 0, upcxx::op_fast_max).wait() != 0) {
      upcxx::deallocate(memory);
      throw failure{"the grids do not fit into the shared heaps (" + std::to_string(doubles * 8 >> 20) +
                    " MiB more on this rank); set UPCXX_SHARED_HEAP_SIZE to more, for example 1GB"};
    }
    return std::make_unique<shared_arena>(memory, doubles);
  }
  std::unique_ptr<mover> make_mover(plan const& moves, group* members) override {
    if (communication_ == "bulk") return make_bulk_mover(moves);
    // What happens once needs no arrays.
    return make_natural_mover(communication_ == "array" ? "+local" : communication_, moves, members);
  }
  std::unique_ptr<mover> make_exchange(level const& l, ghost_shape shape, group* members) override {
    return communication_ == "array" ? make_array_exchange(l, shape)
                                     : runtime::make_exchange(l, shape, members);
  }
  std::unique_ptr<mover> make_restriction(level const& fine, level const& coarse,
                                          restriction_plan const& what, group* members) override {
    return communication_ == "array" ? make_array_restriction(fine, coarse, what)
                                     : runtime::make_restriction(fine, coarse, what, members);
  }
  std::unique_ptr<mover> make_interpolation(level const& coarse, level const& fine,
                                            interpolation_plan const& what, group* members) override {
    return communication_ == "array" ? make_array_interpolation(fine, what)
                                     : runtime::make_interpolation(coarse, fine, what, members);
  }

 private:
  std::string communication_;
  std::unique_ptr<group> world_;
};

}  // namespace

std::unique_ptr<runtime> make_upcxx_runtime(std::string_view communication) {
  return std::make_unique<upcxx_runtime>(communication);
}

}  // namespace hpgmg
