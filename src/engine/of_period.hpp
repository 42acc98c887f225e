#pragma once

/// Objects of which there is one in each period of the library, from start to stop.

namespace atl::engine {

/// Base of such an object. The world owns it; it is found here because calls of programs bring no context.
template <class T>
class of_period {
 public:
  of_period(of_period const&) = delete;
  of_period& operator=(of_period const&) = delete;

  /// This period's. Only between start and stop.
  static T& here() noexcept { return *current_; }
  static bool exists() noexcept { return current_ != nullptr; }

 protected:
  explicit of_period(T* self) noexcept { current_ = self; }
  ~of_period() { current_ = nullptr; }

 private:
  static inline constinit T* current_ = nullptr;
};

}  // namespace atl::engine
