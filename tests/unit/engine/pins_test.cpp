// Pins that overlap, share pages and come before their devices: what kinds are told.

#include "engine/copies/pins.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace atl::engine {
namespace {

using memory::copy_end;
using memory::memory_range;
using memory::overlap;

constexpr std::size_t page = 4096;
alignas(page) std::byte bytes[64 * page];

memory_range pages(std::size_t first, std::size_t count) { return {bytes + first * page, count * page}; }

/// Knows what is pinned; refuses to be told of a page twice.
class recording_kind final : public memory::kind {
 public:
  [[nodiscard]] memory::kind_id id() const noexcept override { return memory::kind_id::cuda; }
  [[nodiscard]] int device_n() const noexcept override { return 1; }
  [[nodiscard]] std::string info() const override { return {}; }
  [[nodiscard]] std::string uuid(int) const override { return {}; }
  std::unique_ptr<memory::device_segment> create(int, std::uint64_t, void*) override { return nullptr; }
  memory::export_record export_segment(memory::device_segment const&, os::unique_fd&) override { return {}; }
  std::unique_ptr<memory::device_segment> import_segment(memory::export_record const&, os::unique_fd,
                                                         std::uint64_t, std::uint64_t) override {
    return nullptr;
  }
  void use_announcements(std::span<memory::announcement_line>) override {}
  void copy(copy_end, copy_end, std::size_t, std::uint32_t, memory::copy_record*,
            memory::announcement*) override {}
  bool poll() override { return false; }

  std::string pin(memory_range wanted_pages, memory_range wanted) override {
    EXPECT_EQ((wanted_pages.begin - bytes) % static_cast<std::ptrdiff_t>(page), 0);
    EXPECT_EQ(wanted_pages.bytes % page, 0u);
    EXPECT_TRUE(wanted.begin >= wanted_pages.begin &&
                wanted.begin + wanted.bytes <= wanted_pages.begin + wanted_pages.bytes);
    if (refuses) return "no more";
    for (auto const& [begin, length] : pinned) {
      EXPECT_FALSE(overlap(wanted_pages, {begin, length})) << "a page twice";
    }
    pinned[wanted_pages.begin] = wanted_pages.bytes;
    return {};
  }
  bool unpin(memory_range gone) override {
    if (overlap(gone, busy)) return false;
    pinned.erase(gone.begin);
    return true;
  }
  [[nodiscard]] bool is_pinned(memory_range range) override {
    for (std::byte* at = range.begin; at < range.begin + range.bytes; ++at) {
      bool found = false;
      for (auto const& [begin, length] : pinned) found = found || overlap({at, 1}, {begin, length});
      if (!found) return false;
    }
    return true;
  }
  [[nodiscard]] std::size_t page_count() const {
    std::size_t all = 0;
    for (auto const& [begin, length] : pinned) all += length;
    return all / page;
  }

  std::map<std::byte*, std::size_t> pinned;
  memory_range busy;
  bool refuses = false;
};

TEST(pins, whole_pages_are_pinned_until_the_pin_ends) {
  recording_kind kind;
  host_pins pins;
  pins.use(kind);
  pins.use(kind);
  auto const one = pins.add({bytes + 5 * page + 100, 2 * page});
  EXPECT_EQ(kind.pinned, (std::map<std::byte*, std::size_t>{{bytes + 5 * page, 3 * page}}));
  EXPECT_TRUE(pins.is_pinned(one));
  EXPECT_TRUE(pins.remove(one));
  EXPECT_TRUE(kind.pinned.empty());
}

TEST(pins, kinds_that_come_later_are_told) {
  recording_kind first;
  recording_kind second;
  host_pins pins;
  auto const one = pins.add(pages(3, 2));
  EXPECT_FALSE(pins.is_pinned(one));
  pins.use(first);
  EXPECT_TRUE(pins.is_pinned(one));
  pins.use(second);
  EXPECT_EQ(first.pinned, second.pinned);
  second.pinned.clear();
  EXPECT_FALSE(pins.is_pinned(one));  // all of them
  EXPECT_TRUE(pins.remove(one));
  EXPECT_EQ(first.page_count(), 0u);
}

TEST(pins, each_ends_what_others_do_not_want) {
  recording_kind kind;
  host_pins pins;
  pins.use(kind);
  auto const low = pins.add(pages(0, 20));
  auto const high = pins.add(pages(10, 20));
  auto const inner = pins.add(pages(12, 2));
  EXPECT_EQ(kind.page_count(), 30u);
  EXPECT_EQ(kind.pinned.size(), 2u);
  EXPECT_TRUE(pins.remove(low));
  EXPECT_FALSE(kind.is_pinned(pages(9, 1)));  // may be freed now
  EXPECT_EQ(kind.page_count(), 20u);
  EXPECT_TRUE(pins.is_pinned(high));
  EXPECT_TRUE(pins.is_pinned(inner));
  EXPECT_TRUE(pins.remove(high));
  EXPECT_TRUE(pins.is_pinned(inner));
  EXPECT_EQ(kind.page_count(), 2u);
  EXPECT_TRUE(pins.remove(inner));
  EXPECT_EQ(kind.page_count(), 0u);
}

TEST(pins, of_the_same_memory_twice_cost_nothing) {
  recording_kind kind;
  host_pins pins;
  pins.use(kind);
  auto const one = pins.add(pages(0, 4));
  auto const two = pins.add(pages(0, 4));
  kind.busy = pages(1, 1);  // nothing is unpinned, so nothing need be waited for
  EXPECT_TRUE(pins.remove(one));
  EXPECT_TRUE(pins.is_pinned(two));
  EXPECT_FALSE(pins.remove(two));
  EXPECT_TRUE(pins.is_pinned(two));
  kind.busy = {};
  EXPECT_TRUE(pins.remove(two));
  EXPECT_EQ(kind.page_count(), 0u);
}

TEST(pins, a_gap_between_others_is_pinned) {
  recording_kind kind;
  host_pins pins;
  pins.use(kind);
  auto const low = pins.add(pages(2, 2));
  auto const high = pins.add(pages(8, 2));
  auto const all = pins.add(pages(0, 12));
  EXPECT_EQ(kind.page_count(), 12u);
  EXPECT_EQ(kind.pinned.size(), 5u);
  EXPECT_TRUE(pins.remove(high));
  EXPECT_TRUE(pins.is_pinned(all));
  EXPECT_TRUE(pins.remove(all));
  EXPECT_EQ(kind.page_count(), 2u);
  EXPECT_TRUE(pins.is_pinned(low));
}

TEST(pins, neighbours_in_one_page_do_not_end_each_other) {
  recording_kind kind;
  host_pins pins;
  pins.use(kind);
  auto const one = pins.add({bytes + 100, page});
  auto const two = pins.add({bytes + 100 + page, page});
  EXPECT_EQ(kind.page_count(), 3u);
  kind.busy = pages(0, 1);
  EXPECT_FALSE(pins.remove(one));  // its copies
  kind.busy = {};
  EXPECT_TRUE(pins.remove(one));
  EXPECT_TRUE(pins.is_pinned(two));
  EXPECT_EQ(kind.page_count(), 2u);
}

TEST(pins, one_that_comes_while_another_waits_for_its_end_is_pinned) {
  recording_kind kind;
  host_pins pins;
  pins.use(kind);
  auto const all = pins.add(pages(0, 8));
  auto const high = pins.add(pages(6, 4));
  kind.busy = pages(8, 1);
  EXPECT_TRUE(pins.remove(all));
  auto const low = pins.add(pages(5, 4));
  kind.busy = pages(9, 1);
  EXPECT_FALSE(pins.remove(high));
  auto const late = pins.add(pages(4, 6));
  kind.busy = {};
  EXPECT_TRUE(pins.remove(high));
  EXPECT_TRUE(pins.is_pinned(low));
  EXPECT_TRUE(pins.is_pinned(late));
}

TEST(pins, what_was_let_go_already_is_pinned_for_one_that_comes_then) {
  recording_kind idle;
  recording_kind busy;
  host_pins pins;
  pins.use(idle);
  pins.use(busy);
  auto const high = pins.add(pages(4, 4));
  auto const all = pins.add(pages(0, 8));
  EXPECT_TRUE(pins.remove(high));
  busy.busy = pages(6, 1);
  EXPECT_FALSE(pins.remove(all));  // but of half of it
  EXPECT_EQ(busy.page_count(), 4u);
  EXPECT_EQ(idle.page_count(), 0u);
  auto const late = pins.add(pages(0, 4));
  auto const later = pins.add(pages(6, 2));
  EXPECT_TRUE(pins.is_pinned(late));
  EXPECT_TRUE(pins.is_pinned(later));
  busy.busy = {};
  EXPECT_TRUE(pins.remove(all));
  EXPECT_TRUE(pins.is_pinned(late));
  EXPECT_TRUE(pins.is_pinned(later));
  EXPECT_TRUE(pins.remove(late));
  EXPECT_TRUE(pins.remove(later));
  EXPECT_EQ(busy.page_count() + idle.page_count(), 0u);
}

TEST(pins, the_first_refusal_is_a_warning_with_figures) {
  recording_kind kind;
  host_pins pins;
  kind.refuses = true;
  testing::internal::CaptureStderr();
  auto const one = pins.add(pages(0, 2));
  pins.use(kind);
  auto const two = pins.add(pages(4, 2));
  std::string const said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("8 KiB of private memory at"), std::string::npos) << said;
  EXPECT_NE(said.find("not pinned for cuda devices, so copies to and from there are slower: no more."),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("private memory"), said.rfind("private memory"));
  EXPECT_FALSE(pins.is_pinned(one));
  EXPECT_FALSE(pins.is_pinned(two));
  EXPECT_TRUE(pins.remove(one));
  EXPECT_TRUE(pins.remove(two));
}

}  // namespace
}  // namespace atl::engine
