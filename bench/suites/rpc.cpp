// Calls: round trips, floods, calls that follow a put, and arguments of all sizes.

#include <atoll/engine/am.hpp>
#include <cstring>
#include <upcxx/upcxx.hpp>
#include <vector>

#include "harness/pattern.hpp"
#include "suites.hpp"

namespace atl::bench {
namespace {

group* counting = nullptr;  ///< whose counted() row is running, on the rank that is called
std::uint64_t replies = 0;
std::uint64_t last_argument = 0;

[[gnu::visibility("hidden")]] void take_reply(engine::message* m) {
  engine::release(m);
  ++replies;
}

[[gnu::visibility("hidden")]] void take_request(engine::message* m) {
  std::uint64_t value = 0;
  std::memcpy(&value, m->payload(), sizeof value);
  auto const source = m->source;
  engine::release(m);
  engine::am_short(source, engine::token_cache<&take_reply>::get(), &value, sizeof value,
                   engine::pressure::always);
}

void message_round_trip(group& g) {
  row const r{.suite = "rpc",
              .key = "am.roundtrip",
              .name = "engine message and its reply",
              .peer = "roundtrip",
              .bytes = 8};
  auto const run = [](std::uint64_t n) {
    auto const token = engine::token_cache<&take_request>::get();
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint64_t const until = replies + 1;
      engine::am_short(1, token, &i, sizeof i);
      while (replies != until) {
        if (!engine::poll()) pause();
      }
    }
  };
  g.served(r, run);
}

void empty_call(group& g) {
  row const r{.suite = "rpc",
              .key = "rpc.empty",
              .name = "rpc of an empty function",
              .peer = "roundtrip",
              .bytes = 8};
  g.served(r, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) upcxx::rpc(1, [] {}).wait();
  });
}

void call_with_result(group& g) {
  g.once([] {
    int const got = upcxx::rpc(
                        1, [](int v) { return v * 2 + upcxx::rank_me(); }, 20)
                        .wait();
    if (got != 41) wrong_data("result of an rpc");
  });
  row const r{
      .suite = "rpc", .key = "rpc.result", .name = "rpc(int) returning int", .peer = "roundtrip", .bytes = 8};
  g.served(r, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      keep(upcxx::rpc(
               1, [](int v) { return v + 1; }, static_cast<int>(i))
               .wait());
    }
  });
}

void fetch(group& g) {
  upcxx::dist_object<int> const object(upcxx::rank_me() + 40);
  g.meet();
  g.once([&] {
    if (object.fetch(1).wait() != 41) wrong_data("dist_object::fetch");
  });
  row const r{.suite = "rpc",
              .key = "dist_object.fetch",
              .name = "dist_object<int>::fetch",
              .peer = "roundtrip",
              .bytes = 8};
  g.served(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) keep(object.fetch(1).wait());
  });
  g.meet();
}

void one_way_flood(group& g) {
  counting = &g;
  g.meet();
  row const r{.suite = "rpc",
              .key = "rpc_ff.flood",
              .name = "rpc_ff, until all have run",
              .peer = "flood",
              .bytes = 8,
              .show = "rate",
              .least = 64};
  g.counted(r, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      upcxx::rpc_ff(
          1,
          [](std::uint64_t v) {
            last_argument = v;
            counting->note_served();
          },
          i);
    }
  });
}

void round_trip_flood(group& g) {
  row const r{.suite = "rpc",
              .key = "rpc.flood",
              .name = "rpc, futures conjoined, waited for at the end",
              .bytes = 8,
              .show = "rate",
              .least = 64,
              .most = 1 << 14};
  g.served(r, [](std::uint64_t n) {
    upcxx::promise<> all;
    for (std::uint64_t i = 0; i < n; ++i) {
      upcxx::rpc(
          1, upcxx::operation_cx::as_promise(all), [](std::uint64_t v) { last_argument = v; }, i);
    }
    all.finalize().wait();
  });
}

void put_then_call(group& g) {
  auto const own = upcxx::new_<std::uint64_t>(0);
  auto const there = upcxx::broadcast(own, 1).wait();
  counting = &g;
  g.meet();
  row const r{.suite = "rpc",
              .key = "put.remote_rpc",
              .name = "rput(remote_cx::as_rpc).wait(), until all have run",
              .bytes = 8,
              .show = "rate",
              .least = 64};
  g.counted(r, [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      upcxx::rput(i, there,
                  upcxx::operation_cx::as_future() |
                      upcxx::remote_cx::as_rpc([](std::uint64_t) { counting->note_served(); }, i))
          .wait();
    }
  });
  g.meet();
  upcxx::delete_(own);
}

void calls_with_arrays(group& g, std::size_t bytes) {
  std::vector<char> data(bytes);
  fill_pattern(data.data(), bytes, 0);
  g.once([&] {
    upcxx::rpc(
        1, [](std::vector<char> v) { check_pattern(v.data(), v.size(), 0, "rpc of a vector"); }, data)
        .wait();
    upcxx::rpc(
        1,
        [](upcxx::view<char> v, std::size_t n) {
          if (v.size() != n) wrong_data("size of a view");
          check_pattern(v.begin(), v.size(), 0, "rpc of a view");
        },
        upcxx::make_view(data), bytes)
        .wait();
  });
  row r{.suite = "rpc",
        .key = "rpc.vector",
        .name = "rpc of a std::vector",
        .peer = "oneway",
        .bytes = bytes,
        .show = "bandwidth",
        .limit = "2 copies",
        .limit_of_both = true};
  std::vector<char> copy(bytes);
  upcxx::global_ptr<char> owned;
  if (g.first()) owned = upcxx::new_array<char>(bytes);
  char* const between = address_if_local(upcxx::broadcast(owned, 0).wait());
  auto const both = [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) g.hand_over(data.data(), between, copy.data(), bytes);
  };
  auto const limit = [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      std::memcpy(copy.data(), data.data(), bytes);
      asm volatile("" : : "r"(copy.data()) : "memory");
    }
  };
  // Both ranks take part in that limit: what one of them does not have, neither has.
  served_on(
      g, r, on_one_host() ? between : nullptr,
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
          upcxx::rpc(
              1, [](std::vector<char> const& v) { keep(v.data()); }, data)
              .wait();
        }
      },
      both);
  r.limit = "memcpy";
  r.limit_of_both = false;
  r.key = "rpc.view";
  r.name = "rpc of a view";
  g.served(
      r,
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
          upcxx::rpc(
              1, [](upcxx::view<char> v) { keep(v.begin()); }, upcxx::make_view(data))
              .wait();
        }
      },
      limit);
  g.meet();
  if (owned) upcxx::delete_array(owned);
}

}  // namespace

void run_rpc(group& g, suite_options const& options) {
  message_round_trip(g);
  empty_call(g);
  call_with_result(g);
  fetch(g);
  one_way_flood(g);
  round_trip_flood(g);
  put_then_call(g);
  for (std::size_t const bytes : options.sizes) calls_with_arrays(g, bytes);
}

}  // namespace atl::bench
