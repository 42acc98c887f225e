#pragma once

/// Copies in pieces through host memory of the initiator: between devices of different kinds, or where one end
/// is out of this process' reach, as host memory of other hosts is. Each piece is loaded into a buffer and stored from there; an end that is
/// host memory here needs no buffer. A half whose memory is out of reach is done by the owner, asked by a
/// message: to load it sends the bytes, to store it acknowledges. Host memory elsewhere is put to and got from.

#include <cstddef>
#include <deque>
#include <vector>

#include <atoll/engine/am.hpp>

#include "engine/copies/segments.hpp"
#include "engine/progress/work.hpp"

namespace atl::engine {

/// Under the engine's lock.
class staged_copies {
 public:
  /// Counts what it does for peers as part of `work`.
  staged_copies(segment_table& segments, work_source& work) : segments_(segments), work_(work) {}

  /// `done->landed` is called when all is in place.
  void start(copy_place const& to, copy_place const& from, std::size_t bytes, memory::copy_record* done);
  /// Tries again what found no memory for messages; true if anything moved.
  bool retry();

  // Called by messages: the owner's side …
  void serve_load(message* m);
  void serve_store(message* m);
  // … and the initiator's.
  void loaded(message* m);
  void stored(message* m);
  [[noreturn]] static void refused(message* m);

 private:
  /// Private memory for data on their way. What finds no room waits; alone, anything fits.
  class room {
   public:
    [[nodiscard]] bool fits(std::size_t bytes) const noexcept { return used_ == 0 || used_ + bytes <= most; }
    void take(std::size_t bytes) noexcept { used_ += bytes; }
    void give_back(std::size_t bytes) noexcept { used_ -= bytes; }

   private:
    static constexpr std::size_t most = std::size_t{16} << 20;
    std::size_t used_ = 0;
  };
  struct staged;
  struct piece;
  struct service;

  void begin_pieces(staged* w);
  void finish(piece* p);
  void close(staged* w);
  bool advance(piece* p);
  bool do_half(piece* p, copy_place const& device, std::byte* host);
  void give_buffer(piece* p);
  void give_buffers();
  bool refuse(message* m);
  service* begin_service(message* m);
  void begin_loads();
  bool answer(service* s) noexcept;
  static void half_landed(memory::copy_record* record) noexcept;
  static bool remote_half_landed(copy_completion* half) noexcept;
  static void service_landed(memory::copy_record* record) noexcept;

  segment_table& segments_;
  work_source& work_;
  // What could not be sent for want of memory.
  std::vector<piece*> waiting_pieces_;
  std::vector<service*> waiting_services_;
  // What has no room yet. There are two, or ranks that ask each other could wait for each other without end.
  room for_services_;
  std::deque<service*> without_load_;
  bool loads_begin_ = false;  ///< loads are being begun, and may end meanwhile
  room for_pieces_;
  std::deque<piece*> without_buffer_;
  bool buffers_given_ = false;  ///< buffers are being given, and may come back meanwhile
};

}  // namespace atl::engine
