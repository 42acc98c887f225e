#pragma once

/// A network whose calls are made in the network of another host, so that ranks of one process talk between hosts of
/// scripts/hosts.sh: sockets belong to the network namespace of the thread that makes them.

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "transport/network.hpp"

namespace atl::transport {

class network_elsewhere final : public network {
 public:
  /// `space`: path of a network namespace. `open` is called there.
  template <class Open>
  network_elsewhere(std::string const& space, Open const& open)
      : space_(::open(space.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (space_ < 0) std::abort();
    enter();
    inner_ = open();
  }
  ~network_elsewhere() override {
    enter();
    inner_.reset();
    ::close(space_);
    here = -1;  // the number may be another's next
  }

  std::string_view name() const override { return inner_->name(); }
  std::string description() const override { return inner_->description(); }
  transport::abilities const& abilities() const override { return inner_->abilities(); }
  transport::limits const& limits() const override { return inner_->limits(); }
  message_sizes sizes(std::int32_t peer, lane where) const override { return inner_->sizes(peer, where); }
  ability atomic_support(atomic_op op, atomic_type type) const override {
    return inner_->atomic_support(op, type);
  }
  std::string last_error() const override { return inner_->last_error(); }
  std::span<std::byte const> address() const override { return inner_->address(); }
  started connect(std::int32_t peer, std::span<std::byte const> to) override {
    return there().connect(peer, to);
  }
  void close(std::int32_t peer) override { there().close(peer); }
  void give_up(std::int32_t peer) override { there().give_up(peer); }
  started send(std::int32_t peer, lane where, std::span<std::byte const> header, local_place payload,
               std::size_t bytes, operation* events) override {
    return there().send(peer, where, header, payload, bytes, events);
  }
  started begin(std::int32_t peer, lane where, std::size_t header, std::size_t least, std::size_t most,
                network_buffer& buffer) override {
    return there().begin(peer, where, header, least, most, buffer);
  }
  void commit(network_buffer& buffer, std::span<std::byte const> header, std::size_t bytes) override {
    there().commit(buffer, header, bytes);
  }
  void cancel(network_buffer& buffer) override { there().cancel(buffer); }
  started fetch(arrival_handle what, local_place into, operation* events) override {
    return there().fetch(what, into, events);
  }
  void release(arrival_handle what) override { there().release(what); }
  started put(std::int32_t peer, remote_place to, local_place from, std::size_t bytes,
              operation* events) override {
    return there().put(peer, to, from, bytes, events);
  }
  started get(std::int32_t peer, local_place to, remote_place from, std::size_t bytes,
              operation* events) override {
    return there().get(peer, to, from, bytes, events);
  }
  started put_pieces(std::int32_t peer, std::span<remote_piece const> to, std::span<local_piece const> from,
                     operation* events) override {
    return there().put_pieces(peer, to, from, events);
  }
  started get_pieces(std::int32_t peer, std::span<local_piece const> to, std::span<remote_piece const> from,
                     operation* events) override {
    return there().get_pieces(peer, to, from, events);
  }
  started put_notified(std::int32_t peer, remote_place to, local_place from, std::size_t bytes,
                       std::uint64_t tag, operation* events) override {
    return there().put_notified(peer, to, from, bytes, tag, events);
  }
  started flush(std::int32_t peer, operation* events) override { return there().flush(peer, events); }
  started flush_all(operation* events) override { return there().flush_all(events); }
  started atomic(std::int32_t peer, remote_place target, atomic_op op, atomic_type type, void const* operands,
                 local_place result, operation* events) override {
    return there().atomic(peer, target, op, type, operands, result, events);
  }
  registered register_memory(void* begin, std::size_t bytes, memory::kind_id kind,
                             std::int32_t device) override {
    return there().register_memory(begin, bytes, kind, device);
  }
  void forget(registration* memory) override { there().forget(memory); }
  std::size_t export_key(registration const* memory, std::span<std::byte> room) const override {
    return inner_->export_key(memory, room);
  }
  imported import_key(std::int32_t peer, std::span<std::byte const> key) override {
    return there().import_key(peer, key);
  }
  void drop_key(std::int32_t peer, remote_key* key) override { there().drop_key(peer, key); }
  unsigned poll(receiver& target) override { return there().poll(target); }
  std::size_t under_way() const override { return inner_->under_way(); }
  int descriptor() const override { return inner_->descriptor(); }
  bool arm() override { return there().arm(); }

 private:
  void enter() const {
    if (here != space_ && ::setns(space_, CLONE_NEWNET) != 0) std::abort();
    here = space_;
  }
  network& there() const {
    enter();
    return *inner_;
  }

  static inline thread_local int here = -1;  ///< where this thread is
  int space_;
  std::unique_ptr<network> inner_;
};

}  // namespace atl::transport
