#pragma once

/// A network between the hosts of the model: it carries messages and connections of one rank to others in this process,
/// counts them, and says when they arrive. Everything else of the table is unsupported.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "transport/network.hpp"

namespace atl::scale {

using transport::started;

/// What travels.
struct alignas(16) packet {
  enum class kind : std::uint8_t { message, connect, accept, close, closed };

  std::int32_t from;
  kind what;
  transport::lane lane;
  std::uint16_t header_bytes;
  std::uint32_t payload_bytes;

  // Header and payload follow.
  [[nodiscard]] std::byte* header() { return reinterpret_cast<std::byte*>(this + 1); }
  [[nodiscard]] std::byte* payload() { return header() + room_for_header; }
  [[nodiscard]] std::size_t bytes() const { return std::size_t{header_bytes} + payload_bytes; }

  static constexpr std::size_t room_for_header = 64;
  static packet* make(std::int32_t from, kind what, std::size_t payload_room);
  void drop() { std::free(this); }
};

/// Who brings packets to other ranks.
class carrier {
 public:
  virtual void carry(std::int32_t to, packet* what) = 0;

 protected:
  ~carrier() = default;
};

class counting_network final : public transport::network {
 public:
  /// `dear`: a message costs so much that the engine has small ones leave together.
  counting_network(carrier& by, std::int32_t rank, std::size_t connections, bool dear);
  ~counting_network() override {
    if (arriving_ != nullptr) arriving_->drop();
  }

  /// Of the carrier, one at a time: poll() gives it to the engine.
  void arrive(packet* what) { arriving_ = what; }
  /// Connections that stand, those that are being closed included.
  [[nodiscard]] std::size_t standing() const { return standing_; }
  [[nodiscard]] std::size_t most_standing() const { return most_standing_; }
  /// That were made, ever, by whichever side.
  [[nodiscard]] std::uint64_t made() const { return made_; }

  std::string_view name() const override { return "counting"; }
  std::string description() const override { return "counts, and says when what arrives"; }
  transport::abilities const& abilities() const override { return abilities_; }
  transport::limits const& limits() const override { return limits_; }
  transport::message_sizes sizes(std::int32_t, transport::lane) const override;
  transport::ability atomic_support(transport::atomic_op, transport::atomic_type) const override {
    return {};
  }
  std::string last_error() const override { return "the model has no such operation"; }

  std::span<std::byte const> address() const override { return {}; }
  started connect(std::int32_t peer, std::span<std::byte const> address) override;
  void close(std::int32_t peer) override;
  void give_up(std::int32_t) override {}

  started send(std::int32_t peer, transport::lane where, std::span<std::byte const> header,
               transport::local_place payload, std::size_t bytes, transport::operation* events) override;
  started begin(std::int32_t peer, transport::lane where, std::size_t header_bytes, std::size_t least,
                std::size_t most, transport::network_buffer& buffer) override;
  void commit(transport::network_buffer& buffer, std::span<std::byte const> header,
              std::size_t bytes) override;
  void cancel(transport::network_buffer& buffer) override;
  unsigned poll(transport::receiver& target) override;
  std::size_t under_way() const override { return 0; }
  int descriptor() const override { return -1; }
  bool arm() override { return false; }

  // What the model does not play.
  started fetch(transport::arrival_handle, transport::local_place, transport::operation*) override {
    return started::unsupported;
  }
  void release(transport::arrival_handle) override {}
  started put(std::int32_t, transport::remote_place, transport::local_place, std::size_t,
              transport::operation*) override {
    return started::unsupported;
  }
  started get(std::int32_t, transport::local_place, transport::remote_place, std::size_t,
              transport::operation*) override {
    return started::unsupported;
  }
  started put_pieces(std::int32_t, std::span<transport::remote_piece const>,
                     std::span<transport::local_piece const>, transport::operation*) override {
    return started::unsupported;
  }
  started get_pieces(std::int32_t, std::span<transport::local_piece const>,
                     std::span<transport::remote_piece const>, transport::operation*) override {
    return started::unsupported;
  }
  started put_notified(std::int32_t, transport::remote_place, transport::local_place, std::size_t,
                       std::uint64_t, transport::operation*) override {
    return started::unsupported;
  }
  started flush(std::int32_t, transport::operation*) override { return started::unsupported; }
  started flush_all(transport::operation*) override { return started::unsupported; }
  started atomic(std::int32_t, transport::remote_place, transport::atomic_op, transport::atomic_type,
                 void const*, transport::local_place, transport::operation*) override {
    return started::unsupported;
  }
  transport::registered register_memory(void*, std::size_t, memory::kind_id, std::int32_t) override {
    return {};
  }
  void forget(transport::registration*) override {}
  std::size_t export_key(transport::registration const*, std::span<std::byte>) const override { return 0; }
  transport::imported import_key(std::int32_t, std::span<std::byte const>) override { return {}; }
  void drop_key(std::int32_t, transport::remote_key*) override {}

 private:
  enum class link : std::uint8_t { connecting, up, closing };

  void tell(std::int32_t peer, packet::kind what);
  void stands(std::int32_t peer);
  void ends(std::int32_t peer);
  void take(packet& p, transport::receiver& target);

  carrier& by_;
  std::int32_t rank_;
  transport::abilities abilities_;
  transport::limits limits_;
  std::unordered_map<std::int32_t, link> links_;  ///< none: not connected
  packet* arriving_ = nullptr;
  std::size_t standing_ = 0;
  std::size_t most_standing_ = 0;
  std::uint64_t made_ = 0;
};

}  // namespace atl::scale
