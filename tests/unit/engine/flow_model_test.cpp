// The protocol of messages, all orders of its steps, at limits of one or two: nothing stands still, is lost or comes
// twice, and nothing grows over its bound. And that this would be noticed: the same with a rule taken away.
//
// The rules are those of docs/design/flow-control.md; the models are in flow/. Counterexamples are printed.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "flow/network_model.hpp"
#include "flow/shm_model.hpp"

namespace {

using flow::between;
using flow::call;
using flow::network_shape;
using flow::shm_shape;

flow::verdict verdict_of(shm_shape const& shape) { return flow::check(flow::shm_model(shape)); }
flow::verdict verdict_of(network_shape const& shape) { return flow::check(flow::network_model(shape)); }

template <class Shape>
void expect_good(char const* what, Shape const& shape) {
  flow::verdict const v = verdict_of(shape);
  EXPECT_TRUE(v.good) << what << ": " << flow::text_of(v);
}

template <class Shape>
void expect_found(char const* what, Shape const& shape, std::string const& words) {
  flow::verdict const v = verdict_of(shape);
  EXPECT_FALSE(v.good) << what;
  EXPECT_NE(v.words.find(words), std::string::npos) << what << ": " << flow::text_of(v);
  std::printf("%s: %s", what, flow::text_of(v).c_str());
}

/// Counts to ten, and cannot go on from one number, or goes round among two.
struct counting {
  struct state {
    std::uint8_t number;
  };
  std::uint8_t stops_at = 0;
  std::uint8_t turns_at = 0;
  std::uint8_t forbidden = 0;

  state start() const { return {}; }
  bool is_end(state const& s) const { return s.number == 10; }
  char const* broken(state const& s) const {
    return s.number != 0 && s.number == forbidden ? "forbidden" : nullptr;
  }
  template <class Emit>
  void steps(state const& s, Emit const& emit) const {
    if (is_end(s) || (s.number != 0 && s.number == stops_at)) return;
    auto const to =
        static_cast<std::uint8_t>(turns_at != 0 && s.number == turns_at ? s.number - 1 : s.number + 1);
    emit(state{to}, flow::step{0, to, "counts"});
  }
};

/// With all that a payload can travel by (transit memory, memory that peers read, pieces), under several limits.
void expect_good_by_all_ways(char const* what, shm_shape shape) {
  for (std::size_t const memory : {2U, 3U, 5U}) {
    for (std::size_t const ring : {1U, 2U}) {
      for (std::size_t const blocks : {0U, 1U, 2U}) {
        for (bool const read : {true, false}) {
          SCOPED_TRACE(testing::Message()
                       << memory << " units, ring " << ring << ", " << blocks << " blocks, reads " << read);
          shape.memory = memory;
          shape.ring = ring;
          shape.blocks = blocks;
          shape.read_peers = read;
          expect_good(what, shape);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

void expect_good_by_all_limits(char const* what, network_shape shape) {
  for (std::size_t const memory : {2U, 3U, 5U}) {
    for (std::size_t const window : {1U, 2U}) {
      for (std::size_t const credit : {1U, 2U}) {
        SCOPED_TRACE(testing::Message() << memory << " units, window " << window << ", credit " << credit);
        shape.memory = memory;
        shape.window = window;
        shape.credit = credit;
        shape.return_at = 1;
        expect_good(what, shape);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

template <class Shape>
Shape both_send(std::size_t each, call what) {
  Shape shape;
  for (std::size_t i = 0; i < each; ++i) {
    for (std::uint8_t from = 0; from < 2; ++from) {
      what.from = from;
      what.to = static_cast<std::uint8_t>(1 - from);
      shape.calls.push_back(what);
    }
  }
  return shape;
}

constexpr call large_call{.large = true, .answered = true, .large_answer = true, .may_be_refused = true};

/// Rank 1 keeps what rank 0 sends until rank 2 tells it to give it up; rank 0 calls rank 2 meanwhile.
shm_shape kept_arguments() {
  shm_shape shape;
  shape.ranks = 3;
  shape.calls.assign(3, {.from = 0, .to = 1, .large = true, .kept = true, .may_be_refused = true});
  shape.calls.push_back({.from = 0, .to = 2, .answered = true, .large_answer = true, .may_be_refused = true});
  shape.calls.push_back({.from = 2, .to = 1, .tells = true});
  return shape;
}

}  // namespace

TEST(flow_model_checker, finds_what_is_wrong_with_a_model) {
  counting model;
  EXPECT_TRUE(flow::check(model).good);
  model.stops_at = 3;
  EXPECT_EQ(flow::check(model).words, "deadlock: nobody can move");
  EXPECT_EQ(flow::check(model).trace.size(), 3U);
  model.stops_at = 0;
  model.turns_at = 4;
  EXPECT_EQ(flow::check(model).words, "the end is out of reach");
  model.forbidden = 2;
  EXPECT_EQ(flow::check(model).words, "forbidden");
  EXPECT_EQ(flow::check(model).trace.size(), 2U);
}

TEST(flow_model_inside_a_host, both_inject_and_discharge) {
  for (bool const large : {false, true}) {
    shm_shape shape = both_send<shm_shape>(3, {.large = large, .may_be_refused = true});
    shape.then = {between::discharges, between::discharges};
    expect_good_by_all_ways("both discharge", shape);
  }
}

TEST(flow_model_inside_a_host, large_answers) {
  shm_shape shape = both_send<shm_shape>(2, {.answered = true, .large_answer = true, .may_be_refused = true});
  expect_good_by_all_ways("large answers", shape);
  shape.then = {between::discharges, between::internal_for_a_while};
  expect_good_by_all_ways("large answers, one discharges", shape);
}

TEST(flow_model_inside_a_host, large_calls_with_large_answers) {
  auto shape = both_send<shm_shape>(3, large_call);
  shape.blocks = 0;
  shape.memory = 5;
  expect_good("large calls, large answers", shape);
  shape = both_send<shm_shape>(2, large_call);
  shape.then = {between::discharges, between::discharges};
  expect_good_by_all_ways("large calls, large answers, both discharge", shape);
}

TEST(flow_model_inside_a_host, an_initiator_without_user_progress_for_a_while) {
  shm_shape shape;
  shape.calls.assign(5, {.from = 0, .to = 1, .answered = true, .large_answer = true, .may_be_refused = true});
  for (between const then : {between::discharges, between::internal_for_a_while}) {
    shape.then = {then};
    expect_good_by_all_ways("one calls and discharges", shape);
  }
}

TEST(flow_model_inside_a_host, calls_from_callbacks) {
  shm_shape shape = both_send<shm_shape>(2, {.large = true, .may_be_refused = true});
  for (std::size_t i = 0; i < 2; ++i) {
    call next = shape.calls[1 - i];
    next.sends = -1;
    shape.calls[i].sends = static_cast<std::int8_t>(shape.calls.size());
    shape.calls.push_back(next);
  }
  expect_good_by_all_ways("calls from callbacks", shape);
}

TEST(flow_model_inside_a_host, a_rank_that_keeps_its_arguments) {
  expect_good_by_all_ways("kept arguments", kept_arguments());
}

TEST(flow_model_inside_a_host, three_ranks_in_a_ring) {
  shm_shape shape;
  shape.ranks = 3;
  for (std::uint8_t r = 0; r < 3; ++r) {
    auto const right = static_cast<std::uint8_t>((r + 1) % 3);
    shape.calls.push_back({.from = r,
                           .to = right,
                           .large = true,
                           .answered = true,
                           .large_answer = true,
                           .may_be_refused = true});
  }
  shape.calls.push_back({.from = 0, .to = 1, .may_be_refused = true});
  shape.then = {between::discharges, between::discharges, between::discharges};
  expect_good_by_all_ways("three ranks", shape);
}

// ---- the same with a rule taken away ----

TEST(flow_model_inside_a_host, finds_a_discharge_that_keeps_the_limit) {
  shm_shape shape = both_send<shm_shape>(3, {.may_be_refused = true});
  shape.then = {between::discharges, between::discharges};
  shape.memory = 2;
  shape.discharge_keeps_limit = true;
  expect_found("mutual", shape, "deadlock");

  shape.calls.assign(6, {.from = 0, .to = 1, .answered = true, .large_answer = true, .may_be_refused = true});
  shape.then = {between::discharges};
  shape.blocks = 0;
  expect_found("alone", shape, "deadlock");
}

TEST(flow_model_inside_a_host, finds_memory_that_only_waiting_requests_could_free) {
  shm_shape shape = kept_arguments();
  shape.memory = 2;
  shape.blocks = 0;
  shape.program_keeps_limit = true;
  expect_found("kept arguments", shape, "deadlock");
}

TEST(flow_model_inside_a_host, finds_one_lane_for_all) {
  shm_shape shape = both_send<shm_shape>(3, {.answered = true, .large_answer = true, .may_be_refused = true});
  shape.memory = 2;
  shape.blocks = 0;
  expect_good("two lanes", shape);
  shape.one_lane = true;
  expect_found("one lane", shape, "deadlock");
}

TEST(flow_model_inside_a_host, finds_answers_that_wait_for_requests_to_be_read) {
  auto shape = both_send<shm_shape>(3, large_call);
  shape.blocks = 0;
  shape.memory = 5;
  shape.shared_slots = true;
  expect_found("shared slots", shape, "deadlock");
}

TEST(flow_model_inside_a_host, finds_answers_that_need_credit) {
  shm_shape shape = both_send<shm_shape>(3, {.answered = true, .large_answer = true, .may_be_refused = true});
  expect_good("answers without credit", shape);
  shape.answers_need_credit = true;
  expect_found("answers need credit", shape, "refused");
}

TEST(flow_model_inside_a_host, finds_answers_that_nobody_looks_at) {
  shm_shape shape = both_send<shm_shape>(2, {.answered = true, .large_answer = true, .may_be_refused = true});
  shape.then = {between::internal_for_a_while, between::internal_for_a_while};
  shape.memory = 2;
  shape.looks_only_at_rings = true;
  expect_found("looks only at rings", shape, "deadlock");
}

TEST(flow_model_inside_a_host, finds_arrivals_that_leave_no_reserve) {
  // The callback of rank 0's calls sends one to rank 0, whose ring rank 2 may have filled.
  shm_shape shape;
  shape.ranks = 3;
  shape.calls.assign(3, {.from = 0, .to = 1, .may_be_refused = true});
  shape.calls.push_back({.from = 2, .to = 0, .may_be_refused = true});
  shape.calls.push_back({.from = 1, .to = 0});
  shape.calls[0].sends = 4;
  shape.memory = 2;
  shape.then = {between::none, between::internal_for_a_while};
  expect_good("reserve", shape);
  shape.reserve = 0;
  expect_found("no reserve", shape, "refused");
}

TEST(flow_model_inside_a_host, finds_a_rendezvous_that_ends_behind_requests) {
  shm_shape shape;
  shape.calls.assign(5, {.from = 1, .to = 0, .may_be_refused = true});
  shape.calls[0] = {.from = 0, .to = 1, .large = true, .may_be_refused = true};
  shape.blocks = 0;
  shape.then = {between::discharges};
  shape.discharge_keeps_limit = true;
  expect_good("told by a flag", shape);
  shape.told_behind_requests = true;
  expect_found("told behind requests", shape, "deadlock");
}

// ---- between hosts ----

TEST(flow_model_between_hosts, both_inject_and_discharge) {
  for (bool const large : {false, true}) {
    auto shape = both_send<network_shape>(2, {.large = large, .may_be_refused = true});
    shape.then = {between::discharges, between::discharges};
    expect_good_by_all_limits("both discharge, network", shape);
  }
}

TEST(flow_model_between_hosts, large_answers) {
  auto shape = both_send<network_shape>(2, {.answered = true, .large_answer = true, .may_be_refused = true});
  shape.then = {between::discharges, between::internal_for_a_while};
  expect_good_by_all_limits("large answers, network", shape);
}

TEST(flow_model_between_hosts, an_initiator_without_user_progress_for_a_while) {
  network_shape shape;
  shape.calls.assign(4, {.from = 0, .to = 1, .answered = true, .large_answer = true, .may_be_refused = true});
  shape.then = {between::discharges};
  expect_good_by_all_limits("one calls and discharges, network", shape);
}

TEST(flow_model_between_hosts, an_initiator_that_goes_after_its_discharge) {
  network_shape shape;
  shape.calls.assign(4, {.from = 0, .to = 1, .large = true, .may_be_refused = true});
  shape.calls[0].large = false;
  shape.then = {between::discharges_and_goes, between::internal_for_a_while};
  expect_good_by_all_limits("goes, network", shape);
}

TEST(flow_model_between_hosts, a_rank_that_keeps_its_arguments) {
  network_shape shape;
  shape.calls.assign(2, {.from = 0, .to = 1, .large = true, .kept = true, .may_be_refused = true});
  shape.calls.push_back({.from = 1, .to = 0, .answered = true, .large_answer = true, .may_be_refused = true});
  shape.calls.push_back({.from = 0, .to = 1, .large = true, .tells = true, .may_be_refused = true});
  expect_good_by_all_limits("kept arguments, network", shape);
}

TEST(flow_model_between_hosts, finds_an_offer_that_is_forgotten) {
  network_shape shape;
  shape.calls.assign(1, {.from = 0, .to = 1, .large = true});
  shape.then = {between::discharges_and_goes};
  expect_good("offer", shape);
  shape.forgets_offers = true;
  expect_found("forgotten offer", shape, "deadlock");
}

TEST(flow_model_between_hosts, finds_an_injection_that_waits_although_nothing_moves) {
  auto shape = both_send<network_shape>(3, {.may_be_refused = true});
  shape.memory = 6;
  shape.reserve = 6;
  shape.credit = 1;
  shape.spill = 1;
  expect_good("little is kept for one target", shape);
  shape.waits_for_ever = true;
  expect_found("waits for ever", shape, "deadlock");
}

TEST(flow_model_between_hosts, finds_a_program_that_asks_for_all_beyond_the_limit) {
  network_shape shape;
  shape.calls.assign(5, {.from = 0, .to = 1, .large = true, .may_be_refused = true});
  shape.memory = 10;
  shape.reserve = 9;
  shape.credit = 5;
  expect_good("one beyond the limit", shape);
  shape.asks_for_all = true;
  expect_found("asks for all", shape, "too much arrived");
}

TEST(flow_model_between_hosts, finds_a_discharge_that_keeps_the_limit) {
  auto shape = both_send<network_shape>(3, {.large = true, .may_be_refused = true});
  shape.then = {between::discharges, between::discharges};
  shape.memory = 5;
  shape.discharge_keeps_limit = true;
  expect_found("mutual, network", shape, "deadlock");
}

TEST(flow_model_between_hosts, finds_answers_that_need_credit) {
  auto shape = both_send<network_shape>(3, {.answered = true, .may_be_refused = true});
  shape.memory = 2;
  shape.credit = 1;
  shape.answers_need_credit = true;
  expect_found("answers need credit, network", shape, "deadlock");
}

TEST(flow_model_between_hosts, finds_internal_progress_that_takes_in_all) {
  network_shape shape;
  shape.calls.assign(6, {.from = 0, .to = 1, .may_be_refused = true});
  shape.then = {between::none, between::internal_for_a_while};
  shape.memory = 2;
  shape.credit = 1;
  expect_good("internal progress within the limit", shape);
  shape.takes_in_all = true;
  expect_found("internal progress takes all", shape, "too much arrived");
}

TEST(flow_model_between_hosts, finds_memory_that_only_waiting_requests_could_free) {
  network_shape shape;
  shape.calls.assign(3, {.from = 0, .to = 1, .large = true, .kept = true, .may_be_refused = true});
  shape.calls.push_back({.from = 0, .to = 1, .large = true, .tells = true, .may_be_refused = true});
  shape.memory = 4;
  shape.program_keeps_limit = true;
  expect_found("kept arguments, network", shape, "deadlock");
}
