#pragma once

/// Graphs of what is started in a stream: captured once, launched again and again, each time as one thing. Not part of
/// upcxx.hpp.
///
///     atl::graph const step = atl::capture(s, [&] {
///       atl::device::launch(team, s, shape, update{}, team, team.local(field));  // or kernel<<<grid, block, 0, s>>>(...)
///       upcxx::copy(plane, their_ghost, count, atl::on_stream(s) | atl::remote_cx::as_signal(their_news, 1));
///       atl::wait_and_reset(s, news, 1, atl::signal_cmp::equal);
///     });
///     for (int i = 0; i < steps; ++i) step.launch(s);
///     atl::wait(s);
///
/// Of streams of CUDA, and of simulated devices; not of HIP. What can be captured: docs/guide/streams.md. Programs may as well
/// capture streams of CUDA by its own calls.

#include <utility>

#include <atoll/stream.hpp>

namespace atl::inline UPCXX_MODE {

/// An executable graph. It moves, and ends with its object, when what has been launched goes on; or with the library, before which
/// it should end. Memory of the library that it uses stays until then.
class graph {
 public:
  /// None.
  graph() noexcept = default;
  explicit graph(engine::graph_name name) noexcept : name_(name) {}
  graph(graph&& other) noexcept : name_(std::exchange(other.name_, {})) {}
  graph& operator=(graph&& other) noexcept {
    if (this != &other) {
      end();
      name_ = std::exchange(other.name_, {});
    }
    return *this;
  }
  ~graph() { end(); }

  [[nodiscard]] explicit operator bool() const noexcept { return name_.handle != nullptr; }
  /// Executes it once in `s`, a stream of the device of which it was captured, behind what is there. Executions of one graph come
  /// one after the other, in whatever streams.
  /// @progress  none; user where the stream is full (see wait() of a stream)
  void launch(stream const& s) const {
    detail::make_room(s);
    engine::launch_graph(name_, name_of(s));
  }

 private:
  void end() noexcept {
    if (name_.handle != nullptr) engine::drop_graph(name_);
  }

  engine::graph_name name_;
};

namespace detail {

/// Ends a capture whatever happens.
class open_capture {
 public:
  explicit open_capture(stream const& s) : name_(name_of(s)) { engine::begin_capture(name_); }
  open_capture(open_capture const&) = delete;
  open_capture& operator=(open_capture const&) = delete;
  ~open_capture() {
    if (!ended_) engine::abandon_capture(name_);
  }
  graph end() {
    ended_ = true;
    return graph(engine::end_capture(name_));
  }

 private:
  engine::stream_name name_;
  bool ended_ = false;
};

}  // namespace detail

/// A graph of what `f()` starts in `s`, which happens with each launch and not now. What `f` throws leaves no graph.
///
/// @param s  not captured yet; none of the default streams.
/// @progress none, but for what `f` does.
template <class F>
[[nodiscard]] graph capture(stream const& s, F&& f) {
  detail::open_capture of(s);
  std::forward<F>(f)();
  return of.end();
}

}  // namespace atl::inline UPCXX_MODE
