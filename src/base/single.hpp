#pragma once

/// Objects of which there is one at a time, though maybe one after the other.

namespace atl {

/// Base of such an object. Whoever makes it owns it; others find it here,
/// since calls of programs bring no context along.
template <class T>
class single {
 public:
  single(single const&) = delete;
  single& operator=(single const&) = delete;

  /// The one there is. Only while it exists.
  static T& here() noexcept { return *current_; }
  static bool exists() noexcept { return current_ != nullptr; }
  /// Where several take turns in one process, as ranks of a model do: this is the one there is from now on.
  static void take_turn(T& next) noexcept { current_ = &next; }

 protected:
  explicit single(T* self) noexcept { current_ = self; }
  ~single() { current_ = nullptr; }

 private:
  static inline constinit T* current_ = nullptr;
};

}  // namespace atl
