// Several devices: parts of long puts and gets go over further ones beside the first. All else takes the first one.
//
//   ask_rails ──>            with the first long transfer to a peer
//             <── rails      where the peer listens, and on which networks
//   connect  ───request──>   for each pair on one network; the peer accepts
//
// Who puts and gets connects, so a pair of ranks that both do has two wires on a device. Until they stand, and where they do not come
// to stand, transfers take the first device. What is put over several devices is in no order with messages: those that follow wait
// until it is there (peer::rail_puts). A wire that breaks is a peer that is lost to who puts and gets over it; the other end, which uses
// it for nothing, lets go of it.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/ofi/ofi_network.hpp"

namespace atl::transport::ofi {
namespace {

constexpr std::uint32_t rail_mark = 0x5249464f;  // "OFIR"

/// Ends of one network find each other: libfabric names a network the same everywhere (FNV-1a of that).
std::uint32_t network_of(context const& opened) {
  std::uint32_t hash = 2166136261U;
  for (char const c : std::string_view(opened.info().fabric_attr->name)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return hash;
}

}  // namespace

struct ofi_network::rail_request {
  std::uint32_t mark;
  std::int32_t rank;
  std::int32_t to;
  std::uint32_t number;  ///< of the connection to which it belongs
  std::uint64_t job;
};

/// Those that cannot be opened are left out.
void ofi_network::open_rails(std::vector<info_ptr> devices, network_config const& config) {
  for (info_ptr& each : devices) {
    rail made{std::make_unique<context>()};
    network_config all = config;
    all.address_room = ~std::size_t{0};  // they travel in messages
    if (!made.opened->open({std::move(each), {}, context_->says_delivered()}, all).empty()) continue;
    if (context_->descriptor() >= 0 && !context_->watch(made.opened->descriptor())) continue;
    if (made.opened->registers_local()) {
      static_cast<void>(made.opened->enter(confirmed_, sizeof confirmed_, FI_READ, made.confirmed));
    }
    rails_.push_back(std::move(made));
  }
}

std::string ofi_network::description() const {
  std::string text = context_->description();
  for (rail const& each : rails_) text += ", " + name_of(each.opened->info());
  if (!context_->why().empty()) text += "; " + context_->why();
  return text;
}

void ofi_network::close_rails() {
  for (auto const& [id, owner] : rail_owners_) {
    close_object(owner.whom->rails->at(owner.which, owner.mine).endpoint);
  }
  for (rail& each : rails_) close_object(each.confirmed);
}

bool ofi_network::poll_rails() {
  bool drained = true;
  for (rail const& each : rails_) {
    if (each.ends != 0 || !dead_records_.empty()) drained = read_completions(*each.opened) && drained;
  }
  return drained;
}

// ---- connections ---------------------------------------------------------------------------------

void ofi_network::ask_rails(peer& p) {
  if (p.rails == nullptr) p.rails = std::make_unique<rail_ends>();
  if (!std::exchange(p.rails->asked, true)) say_word(p, wire::ask_rails, {});
}

void ofi_network::tell_rails(peer& p) {
  std::vector<std::byte> list;
  for (rail const& each : rails_) {
    std::span<std::byte const> to;
    static_cast<void>(context_->reads_address(each.opened->address(), to));
    std::uint32_t const words[]{network_of(*each.opened), static_cast<std::uint32_t>(to.size())};
    auto const bytes = std::as_bytes(std::span(words));
    list.insert(list.end(), bytes.begin(), bytes.end());
    list.insert(list.end(), to.begin(), to.end());
  }
  say_word(p, wire::rails, list);
}

/// `list`: the peer's, as it has told them.
void ofi_network::connect_rails(peer& p, std::span<std::byte const> list) {
  if (p.rails == nullptr || p.now != peer::link::connected || p.lost) return;
  std::uint32_t words[2];
  for (std::uint8_t theirs = 0; theirs < most_further && list.size() >= sizeof words; ++theirs) {
    std::memcpy(words, list.data(), sizeof words);
    list = list.subspan(sizeof words);
    if (words[1] > list.size()) return;
    for (std::size_t which = 0; which < rails_.size(); ++which) {
      if (p.rails->mine[which].endpoint != nullptr || network_of(*rails_[which].opened) != words[0]) continue;
      connect_rail(p, which, theirs, list.first(words[1]));
      break;
    }
    list = list.subspan(words[1]);
  }
}

void ofi_network::connect_rail(peer& p, std::size_t which, std::uint8_t theirs,
                               std::span<std::byte const> to) {
  std::string why;
  fid_ep* const made = rails_[which].opened->make_endpoint(to, &p, why);
  if (made == nullptr) {
    fall_back(p, which, why);
    return;
  }
  own_rail(p, which, true, made);
  p.rails->far[which] = theirs;
  rail_request const request{rail_mark, me_, p.rank, p.number, job_};
  if (int const e = fi_connect(made, to.data(), &request, sizeof request); e != 0) {
    drop_rail(p, which, true);
    fall_back(p, which, words_of(e));
  }
}

void ofi_network::own_rail(peer& p, std::size_t which, bool mine, fid_ep* made) {
  p.rails->at(which, mine) = {made, false};
  rail_owners_[&made->fid] = {&p, which, mine};
  ++rails_[which].ends;
}

void ofi_network::drop_rail(peer& p, std::size_t which, bool mine) {
  rail_ends::end& end = p.rails->at(which, mine);
  if (end.endpoint == nullptr) return;
  rail_owners_.erase(&end.endpoint->fid);
  close_object(end.endpoint);
  end.stands = false;
  --rails_[which].ends;
}

/// With the connection to which they belong.
void ofi_network::release_rails(peer& p) {
  if (p.rails == nullptr) return;
  for (std::size_t which = 0; which < rails_.size(); ++which) {
    drop_rail(p, which, true);
    drop_rail(p, which, false);
  }
  p.rails->asked = false;
}

/// A device over which a peer cannot be reached is not used to it. The first time a process says so.
void ofi_network::fall_back(peer const& p, std::size_t which, std::string_view why) {
  if (std::exchange(said_fall_back_, true)) return;
  std::string const name = name_of(rails_[which].opened->info());
  std::fprintf(
      stderr,
      "atoll: network: rank %d cannot connect to rank %d over %s (%.*s), and leaves that device out. "
      "ATOLL_NET_DEVICES=%s uses the first device alone\n",
      me_, p.rank, name.c_str(), static_cast<int>(why.size()), why.data(),
      context_->info().domain_attr->name);
}

// ---- events --------------------------------------------------------------------------------------

void ofi_network::take_rail_request(std::size_t which, info_ptr asked, std::span<std::byte const> said) {
  rail_request request{};
  if (said.size() >= sizeof request) std::memcpy(&request, said.data(), sizeof request);
  context& on = *rails_[which].opened;
  bool const for_me = request.mark == rail_mark && request.job == job_ && request.to == me_;
  peer* const p = for_me ? find(request.rank) : nullptr;
  bool const known = p != nullptr && p->endpoint != nullptr && !p->lost && p->number == request.number &&
                     (p->rails == nullptr || p->rails->theirs[which].endpoint == nullptr);
  std::string why;
  fid_ep* const made = known ? on.make_endpoint(*asked, p, why) : nullptr;
  if (made == nullptr) {
    on.reject(*asked);
    return;
  }
  if (p->rails == nullptr) p->rails = std::make_unique<rail_ends>();
  own_rail(*p, which, false, made);
  if (fi_accept(made, nullptr, 0) != 0) drop_rail(*p, which, false);
}

void ofi_network::take_rail_event(std::uint32_t what, fid* of) {
  auto const found = rail_owners_.find(of);
  if (found == rail_owners_.end()) return;
  auto const [p, which, mine] = found->second;
  if (what == FI_CONNECTED) {
    p->rails->at(which, mine).stands = true;
  } else if (what == FI_SHUTDOWN && !mine) {
    drop_rail(*p, which, false);  // perhaps it has not come to stand at the other end
  } else if (what == FI_SHUTDOWN) {
    p->hung_up = true;
    touch(*p);
  }
}

void ofi_network::take_rail_failure(fid* of, int error) {
  auto const found = rail_owners_.find(of);
  if (found == rail_owners_.end()) return;
  auto const [p, which, mine] = found->second;
  if (mine && p->rails->mine[which].stands) {
    lose(*p, words_of(error));
    return;
  }
  drop_rail(*p, which, mine);
  if (mine) fall_back(*p, which, words_of(error));
}

// ---- transfers -----------------------------------------------------------------------------------

/// 0, the first device, and those that stand to the owner of a key, which knows memory there, too. Returns how many.
std::size_t ofi_network::ways_to(peer const& p, remote_key const& key,
                                 std::array<std::uint8_t, most_rails>& ways) const {
  std::size_t n = 1;
  ways[0] = 0;
  if (p.rails == nullptr) return n;
  for (std::size_t which = 0; which < rails_.size(); ++which) {
    bool const stands = p.rails->mine[which].stands;
    if (stands && key.further[p.rails->far[which]] != FI_KEY_NOTAVAIL) {
      ways[n++] = static_cast<std::uint8_t>(which + 1);
    }
  }
  return n;
}

}  // namespace atl::transport::ofi
