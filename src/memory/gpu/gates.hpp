#pragma once

/// Waits in streams of drivers whose streams wait for words of the driver's own alone. The stream waits for such a word, a gate, and the
/// host for the word that is meant: once the stream has come to its gate the host looks, until the word has the value, and opens it.

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "memory/gpu/driver.hpp"
#include "memory/gpu/event_pool.hpp"
#include "memory/program_streams.hpp"

namespace atl::memory::gpu {

class gates {
 public:
  gates(driver& with, event_pool& events) : driver_(with), events_(events) {}
  ~gates();
  gates(gates const&) = delete;
  gates& operator=(gates const&) = delete;

  /// At the stream's end. The word is in an own segment or in host memory. Ends the job where the driver has no gates.
  void wait(int device, stream_handle s, copy_end word, std::uint64_t value, comparison c);
  /// Opens gates; true if it did.
  bool poll();
  /// Whether a stream stands before a gate, or will.
  [[nodiscard]] bool any() const noexcept { return !lines_.empty(); }

 private:
  /// Of one device. Its values grow, so that it can be used again at once: who waited for less goes on whenever it looks.
  struct gate {
    address word;
    std::uint64_t last;
  };
  struct awaited {
    event come;
    copy_end word;
    std::uint64_t value;
    comparison how;
    std::uint64_t opens;  ///< value of the gate
  };
  /// A stream and its waits, in its order: the others have not begun when it stands before the first.
  struct line {
    int device;
    stream_handle on;
    gate before;
    std::deque<awaited> waits;
    bool has_come = false;
  };
  using line_name = std::list<line>::iterator;
  /// Looks at words in segments on one device: copies of them to the host, some at a time.
  struct watch {
    static constexpr std::size_t most = 512;
    struct alignas(4096) page {
      std::array<std::uint64_t, most> words;
    };
    int device = 0;
    stream queue;
    event seen = nullptr;
    std::unique_ptr<page> found = std::make_unique<page>();
    bool registered = false;
    std::vector<line_name> wanted;
    std::vector<line_name> looked_for;  ///< copies of whose words are under way, in the order of `found`
  };

  line& line_of(int device, stream_handle s);
  watch& watch_on(int device);
  bool look(watch& with);
  bool open_if(line& first, std::uint64_t now);

  driver& driver_;
  event_pool& events_;
  std::list<line> lines_;
  std::vector<std::unique_ptr<watch>> watches_;  ///< by device
  std::vector<std::vector<gate>> spare_;         ///< by device
};

}  // namespace atl::memory::gpu
