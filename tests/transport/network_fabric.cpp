#include "network_fabric.hpp"

namespace atl::transport {

taken node::arrived(arrival const& what) {
  if (on_message) return on_message(what);
  arrived_message message{what.peer, what.lane, bytes(what.header.begin(), what.header.end()), {}};
  if (!what.late) {
    message.payload.assign(what.payload, what.payload + what.bytes);
    messages.push_back(std::move(message));
    return taken::consumed;
  }
  message.payload.resize(what.bytes);
  auto fetch = std::make_unique<late_fetch>();
  fetch->asked = ask_finished;
  fetch->handle = what.handle;
  fetch->message = std::move(message);
  fetches_.push_back(std::move(fetch));
  return taken::kept;
}

void node::poll() {
  (void)net->poll(*this);
  for (std::size_t i = 0; i < fetches_.size();) {
    late_fetch& f = *fetches_[i];
    if (!f.started) {
      started const s = net->fetch(f.handle, {f.message.payload.data(), nullptr}, &f);
      EXPECT_TRUE(s == started::no_room || s == started::under_way || s == started::unreachable);
      f.started = s == started::under_way;
      if (s == started::unreachable) {
        net->release(f.handle);
        fetches_.erase(fetches_.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
    }
    if (f.finished != 0) {
      EXPECT_EQ(f.finished, 1);
      if (f.how == outcome::ok) messages.push_back(std::move(f.message));
      fetches_.erase(fetches_.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    ++i;
  }
}

void network_test::open(std::int32_t ranks) {
  nodes.clear();
  job = GetParam().make(ranks, GetParam().options);
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    nodes.push_back(std::make_unique<node>());
    nodes.back()->net = job->open(rank);
    nodes.back()->rank = rank;
  }
}

void network_test::connect(std::int32_t from, std::int32_t to) {
  for (int tries = 0; tries < 20 && !(at(from).connected(to) && at(to).connected(from)); ++tries) {
    int const refused = at(from).count(connection_change::refused, to);
    started s = started::no_room;
    ASSERT_TRUE(until([&] {
      s = at(from).net->connect(to, at(to).net->address());
      return s != started::no_room;
    }));
    ASSERT_TRUE(s == started::under_way || s == started::complete);
    ASSERT_TRUE(until([&] {
      return (at(from).connected(to) && at(to).connected(from)) ||
             at(from).count(connection_change::refused, to) != refused;
    }));
  }
  ASSERT_TRUE(at(from).connected(to) && at(to).connected(from));
}

void network_test::send(std::int32_t from, std::int32_t to, lane where, bytes const& header,
                        bytes const& payload) {
  counted op(ask_source);
  bytes copy = payload;
  started const s = persist([&] { return send_on(*at(from).net, to, where, header, copy, &op); });
  if (s != started::complete) {
    ASSERT_EQ(s, started::under_way);
    ASSERT_TRUE(until([&] { return op.source == 1; }));
    ASSERT_EQ(op.how, outcome::ok);
  }
  std::fill(copy.begin(), copy.end(), std::byte{0xee});  // it is ours again
}

registration* network_test::enter(std::int32_t owner, bytes& memory) {
  registered const r =
      at(owner).net->register_memory(memory.data(), memory.size(), static_cast<memory::kind_id>(1), -1);
  EXPECT_NE(r.memory, nullptr) << r.why_not;
  return r.memory;
}

remote_key* network_test::share(std::int32_t owner, registration* memory, std::int32_t user) {
  bytes blob(at(owner).net->limits().key_bytes);
  blob.resize(at(owner).net->export_key(memory, blob));
  for (int tries = 0; tries < 50; ++tries) {
    imported result;
    EXPECT_TRUE(until([&] {
      result = at(user).net->import_key(owner, blob);
      return result.status != started::no_room;
    }));
    if (result.status == started::complete) return result.key;
  }
  ADD_FAILURE() << "the key misses for ever";
  return nullptr;
}

}  // namespace atl::transport
