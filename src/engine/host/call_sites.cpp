#include "engine/host/call_sites.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "base/call_site.hpp"

namespace atl::engine {

void write_call_site(char (&to)[call_site_bytes]) noexcept {
  std::string const text = call_site();
  std::size_t const bytes = std::min(text.size(), sizeof to - 1);
  std::memcpy(to, text.data(), bytes);
  to[bytes] = '\0';
  static constexpr char cut[] = "...\n";
  if (bytes < text.size()) std::memcpy(to + bytes - (sizeof cut - 1), cut, sizeof cut);
}

namespace {

void write(call_site_text& to) noexcept {
  if (to.ready.load(std::memory_order_relaxed) != 0) return;
  write_call_site(to.text);
  to.ready.store(1, std::memory_order_release);  // pairs with the acquire in ask_call_site()
}

}  // namespace

std::string ask_call_site(host_domain const& host, std::uint32_t peer) {
  constexpr int milliseconds = 1500;  // it looks only now and then
  call_site_text& site = host.page(peer).site;
  write(host.own_page().site);  // it may ask us
  site.asked.store(1, std::memory_order_relaxed);
  host.wake(peer);
  for (int i = 0; i < milliseconds; ++i) {
    if (site.ready.load(std::memory_order_acquire) != 0) return site.text;
    timespec const pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return {};
}

void answer_call_site(host_domain const& host) noexcept {
  call_site_text& site = host.own_page().site;
  if (site.asked.load(std::memory_order_relaxed) != 0) [[unlikely]]
    write(site);
}

}  // namespace atl::engine
