// Which algorithm a collective goes by.

#include <atoll/engine/collectives.hpp>

#include "engine/collectives/blocks.hpp"
#include "engine/collectives/by_messages.hpp"
#include "engine/collectives/flat.hpp"
#include "engine/collectives/flat_broadcast.hpp"
#include "engine/collectives/flat_reduce.hpp"
#include "engine/collectives/named.hpp"
#include "engine/collectives/scan.hpp"
#include "engine/collectives/under_way.hpp"

namespace atl::engine {

namespace {

std::uint8_t code_of(std::uint8_t operation_code, std::size_t element_bytes) {
  return operation_code != 0 ? operation_code : own_operation(element_bytes);
}

}  // namespace

void start_broadcast(team_view& team, collective_signature signature, void* buffer, std::size_t bytes,
                     std::int32_t root, on_done done) {
  if (goes_flat(team)) {
    launch_flat(make_flat_broadcast(team, signature, done, buffer, bytes, root));
  } else {
    launch(make_tree_broadcast(team, signature, done, buffer, bytes, root));
  }
}

void start_broadcast(team_view& team, void* buffer, std::size_t bytes, std::int32_t root, on_done done) {
  start_broadcast(team, sign(collective_kind::broadcast, root, bytes), buffer, bytes, root, done);
}

void start_reduce(team_view& team, collective_signature signature, reduction const& what, on_done done) {
  if (goes_flat(team)) {
    launch_flat(make_flat_reduce(team, signature, done, what));
  } else {
    launch(make_reduce(team, signature, done, what));
  }
}

void start_reduce(team_view& team, void const* source, void* target, std::size_t count,
                  std::size_t element_bytes, combine_function combine, void const* operation,
                  std::int32_t root, on_done done, std::uint8_t operation_code) {
  auto const kind = root < 0 ? collective_kind::reduce_all : collective_kind::reduce_one;
  collective_signature const signature =
      sign(kind, root, count * element_bytes, code_of(operation_code, element_bytes));
  start_reduce(team, signature, {source, target, count, element_bytes, combine, operation, root}, done);
}

void start_gather_all(team_view& team, collective_signature signature, void const* mine, std::size_t bytes,
                      void* all, on_done done) {
  launch(make_gather(team, signature, done, mine, bytes, all));
}

void start_gather_all(team_view& team, void const* mine, std::size_t bytes, void* all, on_done done) {
  start_gather_all(team, sign(collective_kind::gather, -1, bytes), mine, bytes, all, done);
}

void start_scatter(team_view& team, void const* all, std::size_t bytes, void* mine, std::int32_t root,
                   on_done done) {
  launch(make_scatter(team, sign(collective_kind::scatter, root, bytes), done, all, bytes, mine, root));
}

void start_gather(team_view& team, void const* mine, std::size_t bytes, void* all, std::int32_t root,
                  on_done done) {
  launch(make_gather_to_one(team, sign(collective_kind::gather, root, bytes), done, mine, bytes, all, root));
}

void start_all_to_all(team_view& team, void const* source, std::size_t bytes, void* target, on_done done) {
  launch(make_all_to_all(team, sign(collective_kind::all_to_all, -1, bytes), done, source, bytes, target));
}

void start_scan(team_view& team, void const* source, void* target, std::size_t count,
                std::size_t element_bytes, combine_function combine, void const* operation, on_done done,
                std::uint8_t operation_code) {
  reduction const what{source, target, count, element_bytes, combine, operation, -1};
  launch(make_scan(team,
                   sign(collective_kind::scan, -1, what.bytes(), code_of(operation_code, element_bytes)),
                   done, what));
}

}  // namespace atl::engine
