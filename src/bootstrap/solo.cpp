#include <unistd.h>

#include <cstdlib>

#include "base/os/memfd.hpp"
#include "bootstrap/factories.hpp"

namespace atl::bootstrap {
namespace {

/// No launcher: everything is answered here.
class solo_channel final : public channel {
 public:
  solo_channel() : job_id_(os::random_hex(16)) {
    diagnostics_.pid.store(static_cast<std::int32_t>(::getpid()), std::memory_order_relaxed);
  }

  std::string_view name() const override { return "solo"; }
  placement const& where() const override { return where_; }
  std::string_view job_id() const override { return job_id_; }
  std::vector<std::string> exchange(std::string_view mine) override { return {std::string(mine)}; }
  void publish(std::string_view card) override { card_ = card; }
  std::string published_by(std::int32_t /*rank*/) override { return card_; }
  rank_diagnostics& diagnostics() override { return diagnostics_; }
  char const* console_env(char const* name) override { return std::getenv(name); }
  [[noreturn]] void abort(int exit_code) override { ::_exit(failure_status(exit_code)); }
  void mark(rank_state state) override { diagnostics_.state.store(state, std::memory_order_relaxed); }

 private:
  placement where_;
  std::string job_id_;
  std::string card_;
  rank_diagnostics diagnostics_;
};

}  // namespace

std::unique_ptr<channel> make_solo() { return std::make_unique<solo_channel>(); }

}  // namespace atl::bootstrap
