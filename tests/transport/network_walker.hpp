#pragma once

/// One rank of random traffic: carries out a plan of messages, puts that are read back, sums and closes, in a random
/// order, and checks whatever comes.

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "network_fabric.hpp"

namespace atl::transport {

inline constexpr std::size_t slot_bytes = 6000, slots = 24;
inline constexpr int messages_each = 60, puts_each = 24, adds_each = 20, closes_each = 2;

/// What all ranks know of each other before they start.
struct world {
  std::int32_t ranks = 0;
  std::vector<bytes> memory, keys, addresses;
  std::atomic<std::int32_t> done{0};

  /// Where rank `from` may write; the first line of all is a counter.
  static std::size_t place(std::int32_t from, std::size_t slot) {
    return 64 + (static_cast<std::size_t>(from) * slots + slot) * slot_bytes;
  }
};

class walker {
 public:
  walker(world& all, network& net, std::int32_t me, std::uint64_t seed)
      : all_(all),
        net_(net),
        me_(me),
        random_(seed * 100 + static_cast<std::uint64_t>(me)),
        keys_(static_cast<std::size_t>(all.ranks)) {
    for (std::int32_t to = 0; to < all.ranks; ++to) {
      if (to == me) continue;
      for (int i = 0; i < messages_each; ++i) plan_.push_back({item::message, to, i});
      for (int i = 0; i < puts_each; ++i) plan_.push_back({item::put, to, i});
      for (int i = 0; i < adds_each; ++i) plan_.push_back({item::add, to, i});
      for (int i = 0; i < closes_each; ++i) plan_.push_back({item::close, to, i});
    }
    std::shuffle(plan_.begin(), plan_.end(), random_);
    self.net.reset();
    self.on_message = [this](arrival const& what) { return arrived(what); };
    self.on_connection = [this](connection_event const& e) { connection(e); };
  }

  node self;  ///< only told; the network is the caller's

  /// Some of the plan, and a poll; false once all of it is done and everything has come.
  bool step() {
    if (!plan_.empty() && open_ < 12) {
      std::swap(plan_.back(), plan_[random_() % plan_.size()]);
      item const next = plan_.back();
      plan_.pop_back();
      if (!start(next)) plan_.push_back(next);
    }
    (void)net_.poll(self);
    fetch_late();
    if (finished_ || !plan_.empty() || open_ != 0 || !fetching_.empty()) return !finished_;
    if (seen_.size() < static_cast<std::size_t>(messages_each * (all_.ranks - 1))) return true;
    finished_ = true;
    return false;
  }
  int notes_sent() const { return notes_sent_; }
  std::size_t messages() const { return seen_.size(); }
  /// Everything that it was told, in its order, as one number.
  std::uint64_t trace() const { return trace_; }
  void first_poll() { (void)net_.poll(self); }
  std::string where() const {
    return "rank " + std::to_string(me_) + ": " + std::to_string(plan_.size()) + " to do, " +
           std::to_string(open_) + " open, " + std::to_string(seen_.size()) + " messages, " +
           std::to_string(fetching_.size()) + " fetches";
  }

 private:
  struct item {
    enum what { message, put, add, close } is;
    std::int32_t to;
    int number;
  };
  struct flight : operation {
    walker* whose = nullptr;
    item what{};
    bytes data, copy;
    bool reading = false, dead = false;
    std::uint64_t one = 1;
    started last = started::no_room;
  };
  struct late_fetch : operation {
    walker* whose = nullptr;
    arrival_handle handle;
    bytes header, payload;
    std::int32_t peer = -1;
    bool under_way = false, done = false;
  };

  remote_key* key_of(std::int32_t to) {
    remote_key*& key = keys_[static_cast<std::size_t>(to)];
    if (key != nullptr) return key;
    imported const result = net_.import_key(to, all_.keys[static_cast<std::size_t>(to)]);
    if (result.status == started::complete) key = result.key;
    return key;
  }

  bool start(item const& next) {
    if (next.is == item::close) {
      if (random_() % 50 == 0) net_.close(next.to);
      return random_() % 50 == 0;
    }
    auto flight_ = std::make_unique<flight>();
    flight& f = *flight_;
    f.whose = this;
    f.what = next;
    started s = started::no_room;
    if (next.is == item::message) {
      s = start_message(f);
    } else {
      remote_key* const key = key_of(next.to);
      if (key == nullptr) {
        (void)net_.connect(next.to, all_.addresses[static_cast<std::size_t>(next.to)]);
        return false;
      }
      s = next.is == item::put ? start_put(f, key) : start_add(f, key);
    }
    if (s == started::unreachable) {
      (void)net_.connect(next.to, all_.addresses[static_cast<std::size_t>(next.to)]);
      return false;
    }
    if (s == started::no_room) return false;
    EXPECT_NE(s, started::unsupported) << next.is;
    if (s == started::under_way || s == started::source_free) {
      ++open_;
      (void)flight_.release();
    }
    return true;
  }

  started start_message(flight& f) {
    lane const where = f.what.number % 2 == 0 ? lane::request : lane::control;
    message_sizes const sizes = net_.sizes(f.what.to, where);
    std::size_t const length = size_of(me_, f.what.to, f.what.number, sizes);
    f.data = pattern(length, static_cast<std::uint64_t>(f.what.number));
    std::uint32_t const header[2]{static_cast<std::uint32_t>(f.what.number),
                                  static_cast<std::uint32_t>(length)};
    auto const head = std::as_bytes(std::span(header));
    f.asked = ask_source;
    f.on_event = [](operation& op, completion, outcome how) {
      EXPECT_EQ(how, outcome::ok);
      auto& mine = static_cast<flight&>(op);
      --mine.whose->open_;
      delete &mine;
    };
    if (length > sizes.in_place || length > sizes.eager || f.what.number % 3 != 0) {
      return net_.send(f.what.to, where, head, {f.data.data(), nullptr}, f.data.size(), &f);
    }
    network_buffer buffer;
    started const s = net_.begin(f.what.to, where, head.size(), length, length, buffer);
    if (s != started::complete) return s;
    std::copy(f.data.begin(), f.data.end(), buffer.payload);
    net_.commit(buffer, head, length);
    return s;
  }
  static std::size_t size_of(std::int32_t from, std::int32_t to, int number, message_sizes const& sizes) {
    auto const n = static_cast<std::size_t>(number * 7 + from * 3 + to);
    std::size_t const some[] = {n % 40, 32 + n % 64, n * 13 % 2100, n * 29 % 5000,
                                n % 4 == 0 ? sizes.eager + n * 9 : n};
    return std::min(some[n % 5], sizes.late);
  }

  started start_put(flight& f, remote_key* key) {
    std::size_t const at = world::place(me_, static_cast<std::size_t>(f.what.number));
    if (f.data.empty()) {
      f.data = pattern(1 + static_cast<std::size_t>(f.what.number * 251 % static_cast<int>(slot_bytes)),
                       static_cast<std::uint64_t>(me_ * 1000 + f.what.number));
      f.copy = f.data;
    }
    f.asked = ask_both;
    f.on_event = [](operation& op, completion what, outcome how) {
      auto& mine = static_cast<flight&>(op);
      if (what == completion::source) {
        std::fill(mine.copy.begin(), mine.copy.end(), std::byte{0xee});
        return;
      }
      mine.whose->put_finished(mine, how);
    };
    if (f.what.number % 4 == 1 && net_.abilities().put_notified) {
      auto const tag = static_cast<std::uint64_t>(f.what.number) << 32 | f.data.size();
      started const s = net_.put_notified(f.what.to, {key, at}, {f.copy.data()}, f.copy.size(), tag, &f);
      notes_sent_ += s == started::under_way || s == started::source_free || s == started::complete;
      return s;
    }
    std::size_t const half = f.data.size() / 2;
    if (f.what.number % 4 == 2 && net_.abilities().put_pieces && half != 0) {
      remote_piece const to[2]{{{key, at}, half}, {{key, at + half}, f.data.size() - half}};
      local_piece const from{{f.copy.data()}, f.data.size()};
      return net_.put_pieces(f.what.to, to, {&from, 1}, &f);
    }
    return net_.put(f.what.to, {key, at}, {f.copy.data()}, f.copy.size(), &f);
  }
  /// Reads back what was put; both again if the key missed.
  void put_finished(flight& f, outcome how) {
    --open_;
    note(3, f.what.to, static_cast<std::uint64_t>(f.what.number) * 8 + static_cast<std::uint64_t>(how));
    bool const again = how != outcome::ok;
    if (again) {
      EXPECT_TRUE(how == outcome::bad_key || how == outcome::refused);
    } else if (f.reading) {
      EXPECT_EQ(f.copy, f.data) << "rank " << me_ << " put " << f.what.number << " at " << f.what.to;
    }
    if (again || !f.reading) {
      flight* const next = &f;
      retry_.push_back(next);
      if (!again) f.reading = true;
      return;
    }
    delete &f;
  }
  void go_on() {
    for (std::size_t i = 0; i < retry_.size();) {
      flight& f = *retry_[i];
      remote_key* const key = key_of(f.what.to);
      started s = key == nullptr ? started::no_room : started::complete;
      if (key != nullptr && f.reading) {
        f.copy.assign(f.data.size(), std::byte{0});
        s = net_.get(f.what.to, {f.copy.data()},
                     {key, world::place(me_, static_cast<std::size_t>(f.what.number))}, f.copy.size(), &f);
      } else if (key != nullptr) {
        f.copy = f.data;
        s = net_.put(f.what.to, {key, world::place(me_, static_cast<std::size_t>(f.what.number))},
                     {f.copy.data()}, f.copy.size(), &f);
      }
      if (s == started::unreachable || (s == started::no_room && key == nullptr)) {
        (void)net_.connect(f.what.to, all_.addresses[static_cast<std::size_t>(f.what.to)]);
      }
      EXPECT_NE(s, started::unsupported);
      if (s == started::under_way || s == started::source_free) {
        ++open_;
        retry_.erase(retry_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }

  started start_add(flight& f, remote_key* key) {
    if (!net_.atomic_support(atomic_op::add, atomic_type::uint64)) return started::complete;
    f.asked = ask_finished;
    f.on_event = [](operation& op, completion, outcome how) {
      auto& mine = static_cast<flight&>(op);
      --mine.whose->open_;
      if (how == outcome::bad_key) mine.whose->plan_.push_back(mine.what);
      delete &mine;
    };
    return net_.atomic(f.what.to, {key, 0}, atomic_op::add, atomic_type::uint64, &f.one, {}, &f);
  }

  void check(std::int32_t peer, std::span<std::byte const> header, std::span<std::byte const> payload) {
    std::uint32_t said[2]{};
    ASSERT_EQ(header.size(), sizeof said);
    std::memcpy(said, header.data(), sizeof said);
    note(1, peer, said[0]);
    EXPECT_EQ(payload.size(), said[1]);
    EXPECT_TRUE(std::ranges::equal(payload, pattern(said[1], said[0])));
    int const times = ++seen_[std::pair{peer, said[0]}];
    EXPECT_EQ(times, 1) << "message " << said[0] << " of " << peer << " came again";
  }
  taken arrived(arrival const& what) {
    if (!what.late) {
      check(what.peer, what.header, {what.payload, what.bytes});
      return taken::consumed;
    }
    auto fetch = std::make_unique<late_fetch>();
    fetch->whose = this;
    fetch->handle = what.handle;
    fetch->header.assign(what.header.begin(), what.header.end());
    fetch->payload.resize(what.bytes);
    fetch->peer = what.peer;
    fetch->asked = ask_finished;
    fetch->on_event = [](operation& op, completion, outcome how) {
      EXPECT_EQ(how, outcome::ok);
      static_cast<late_fetch&>(op).done = true;
    };
    fetching_.push_back(std::move(fetch));
    return taken::kept;
  }
  void fetch_late() {
    go_on();
    for (auto& f : fetching_) {
      if (!f->under_way)
        f->under_way = net_.fetch(f->handle, {f->payload.data()}, f.get()) == started::under_way;
      if (f->done) check(f->peer, f->header, f->payload);
    }
    std::erase_if(fetching_, [](auto const& f) { return f->done; });
    open_retries();
  }
  void open_retries() {
    // What is to be repeated counts as open.
    open_ = open_ - counted_retries_ + static_cast<int>(retry_.size());
    counted_retries_ = static_cast<int>(retry_.size());
  }
  void note(std::uint64_t what, std::int32_t peer, std::uint64_t number) {
    trace_ = (trace_ ^ (what << 48 | static_cast<std::uint64_t>(peer) << 32 | number)) * 0x100000001b3U;
  }
  void connection(connection_event const& e) {
    if (all_.done == all_.ranks) return;  // peers end
    note(2, e.peer, static_cast<std::uint64_t>(e.what));
    EXPECT_NE(e.what, connection_change::lost) << e.words;
    if (e.what != connection_change::closed) return;
    remote_key*& key = keys_[static_cast<std::size_t>(e.peer)];
    if (key != nullptr) net_.drop_key(e.peer, key);
    key = nullptr;
  }

  world& all_;
  network& net_;
  std::int32_t me_;
  std::mt19937_64 random_;
  std::vector<item> plan_;
  std::vector<remote_key*> keys_;
  std::vector<flight*> retry_;
  std::vector<std::unique_ptr<late_fetch>> fetching_;
  std::map<std::pair<std::int32_t, std::uint32_t>, int> seen_;
  int open_ = 0, counted_retries_ = 0, notes_sent_ = 0;
  bool finished_ = false;
  std::uint64_t trace_ = 0xcbf29ce484222325U;
};

}  // namespace atl::transport
