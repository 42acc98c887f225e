// Snippets of the page on streams. ATOLL_SIM_DEVICES=1 gives every machine a device.
#include <vector>

#include <atoll/graph.hpp>
#include <atoll/signal_array.hpp>
#include <atoll/stream.hpp>
#include <atoll/stream_barrier.hpp>
#include <atoll/stream_collectives.hpp>
#include <atoll/stream_neighbors.hpp>
#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();
  int const right = (me + 1) % ranks;
  int const left = (me + ranks - 1) % ranks;
  auto gpu = upcxx::make_gpu_allocator(1 << 20);
  constexpr auto kind = upcxx::gpu_default_device::kind;
  // [setup]
  auto const s = atl::make_stream(gpu);  // or the program's own cudaStream_t
  auto const plane = gpu.allocate<double>(100);
  auto const ghost = gpu.allocate<double>(100);
  auto const news = gpu.allocate<std::uint64_t>(2);
  auto const credit = news + 1;
  std::uint64_t const nothing_yet[2] = {0, 0};
  upcxx::copy(nothing_yet, news, 2).wait();
  upcxx::dist_object<upcxx::global_ptr<double, kind>> ghosts(ghost);
  upcxx::dist_object<upcxx::global_ptr<std::uint64_t, kind>> signals(news);
  auto const their_ghost = ghosts.fetch(right).wait();
  auto const their_news = signals.fetch(right).wait();
  auto const their_credit = signals.fetch(left).wait() + 1;
  upcxx::barrier();  // nobody signals before
  // [/setup]
  auto const count = gpu.allocate<std::uint64_t>(2);
  auto const flag = count + 1;
  upcxx::copy(nothing_yet, count, 2).wait();
  upcxx::dist_object<upcxx::global_ptr<std::uint64_t, kind>> counts(count);
  auto const their_count = counts.fetch(right).wait();
  auto const left_count = counts.fetch(left).wait();
  auto const their_flag = their_count + 1;
  upcxx::barrier();
  auto const shared = upcxx::new_array<double>(200);
  double* const values = shared.local();
  for (int i = 0; i < 100; ++i) values[i] = me;
  std::uint64_t const step = 1;
  upcxx::copy(values, plane, 100, atl::on_stream(s));  // in the place of a kernel

  // [exchange]
  // kernel<<<grid, block, 0, s>>>(gpu.local(plane));
  upcxx::copy(plane, their_ghost, 100,  // when the kernel is done; then the signal
              atl::on_stream(s) | atl::remote_cx::as_signal(their_news, step));
  atl::wait(s, news, step);  // what follows in s sees the left neighbour's plane
  // next<<<grid, block, 0, s>>>(gpu.local(ghost));
  atl::signal(s, their_credit, step);  // the left one may overwrite the ghost
  atl::wait(s, credit, step);          // as this rank may the right one's
  // [/exchange]

  // [array]
  auto signals_of_all =
      atl::make_signals(gpu, 2);  // collective: two a rank, all zero
  atl::signal(s, signals_of_all.at(right, 0), 1);
  atl::wait(s, signals_of_all.mine(0), 1);
  atl::wait(s);
  signals_of_all.destroy();  // collective
  // [/array]

  // [count]
  atl::signal(s, their_count, 1, atl::signal_op::add);
  atl::signal(s, left_count, 1, atl::signal_op::add);
  atl::wait(s, count, 2 * step);  // both neighbours, with one signal
  // [/count]

  // [reset]
  atl::signal(s, their_flag, 1);
  atl::wait_and_reset(s, flag, 1, atl::signal_cmp::equal);  // one node of a graph
  // [/reset]

  // [host]
  auto const done =
      upcxx::copy(ghost, values + 100, 100,  // the heap is pinned
                  atl::on_stream(s) | upcxx::operation_cx::as_future());
  auto const more = atl::when(s).then([] { return 1; });  // when s has come here
  atl::wait(s);  // with progress, unlike cudaStreamSynchronize
  // [/host]
  done.wait();
  UPCXX_ASSERT_ALWAYS(more.wait() == 1 && values[150] == left);

  // [future]
  auto const answer = upcxx::rpc(right, [] { return 42; });
  atl::wait(s, answer);  // s goes on when the answer has come
  // [/future]
  atl::wait(s);

  // [barrier]
  atl::stream_barrier all(gpu);  // collective, once
  all.enter(s);  // what follows comes after what was before in all streams
  atl::wait(s);
  all.destroy();  // collective
  // [/barrier]

  // [neighbours]
  std::vector<upcxx::intrank_t> const sides{left, right};
  atl::stream_neighbors around(gpu, sides);  // collective, once
  // kernel<<<grid, block, 0, s>>>(...);     // stores into the neighbours' ghosts
  around.sync(s);  // what follows sees what both neighbours have stored here
  // next<<<grid, block, 0, s>>>(...);
  around.sync(s);  // they may store again
  atl::wait(s);
  around.destroy();  // collective
  // [/neighbours]

  {
    atl::stream_neighbors both(gpu, sides);
    // [graph]
    atl::graph const steps = atl::capture(s, [&] {  // #include <atoll/graph.hpp>
      // kernel<<<grid, block, 0, s>>>(gpu.local(plane));
      upcxx::copy(plane, their_ghost, 100, atl::on_stream(s));
      both.sync(s);  // a stream_neighbors of both sides
      // next<<<grid, block, 0, s>>>(gpu.local(ghost));
      both.sync(s);  // the next launch may overwrite the ghost
    });
    for (int i = 0; i < 10; ++i) steps.launch(s);
    atl::wait(s);
    // [/graph]
    both.destroy();
  }

  auto const n = static_cast<std::size_t>(10 * ranks);
  auto const mine = gpu.allocate<double>(n);
  auto const parts = gpu.allocate<double>(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = me + 0.01 * static_cast<double>(i);
  upcxx::copy(values, mine, n, atl::on_stream(s));
  // [collectives]
  atl::stream_collectives among(gpu);       // collective, once
  auto const table = among.bind(parts, n);  // collective: n elements of each rank
  // kernel<<<grid, block, 0, s>>>(gpu.local(mine));
  table.gather_all(s, mine, 10);  // 10 of rank 0, 10 of rank 1, ...
  // next<<<grid, block, 0, s>>>(gpu.local(parts));
  table.all_to_all(s, mine, 10);   // from each the 10 that are for this rank
  table.broadcast(s, 0, mine, 5);  // rank 0's; the rest of the table stays
  atl::wait(s);
  among.destroy();  // collective
  // [/collectives]
  upcxx::copy(parts, values, n, atl::on_stream(s));
  atl::wait(s);
  UPCXX_ASSERT_ALWAYS(values[4] == 0.04 &&
                      values[n - 1] == ranks - 1 + 0.01 * (10 * me + 9));
  upcxx::delete_array(shared);
  gpu.deallocate(plane);
  gpu.deallocate(ghost);
  gpu.deallocate(news);
  gpu.deallocate(count);
  gpu.deallocate(mine);
  gpu.deallocate(parts);
  upcxx::barrier();
  gpu.destroy();
  upcxx::finalize();
}
