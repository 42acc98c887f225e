// Snippets of the page on progress.
#include <upcxx/upcxx.hpp>

namespace {
int received = 0;  // calls that reached me
}

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();

  // [poll]
  auto const compute_a_little = [] {};
  upcxx::future<> reply = upcxx::rpc((me + 1) % ranks, [] { ++received; });
  while (!reply.is_ready()) {
    compute_a_little();
    upcxx::progress();  // serves others, and learns of the reply
  }
  // [/poll]

  // [quiet]
  // Calls that send calls: when has everything ended? Count what was sent and done.
  static long sent = 0, done = 0;
  struct spread {
    static void run(int depth) {
      ++done;
      if (depth == 0) return;
      for (int i = 0; i < 2; ++i) {
        ++sent;
        upcxx::rpc_ff((upcxx::rank_me() + 1 + i) % upcxx::rank_n(), &spread::run,
                      depth - 1);
      }
    }
  };
  ++sent;
  upcxx::rpc_ff(me, &spread::run, 4);
  long counts[2];
  long previous = -1;
  for (;;) {
    upcxx::progress();
    long const mine[2] = {sent, done};
    upcxx::reduce_all(mine, counts, 2, upcxx::op_fast_add).wait();
    if (counts[0] == counts[1] && counts[0] == previous)
      break;  // equal, and the same twice: it is over
    previous = counts[0];
  }
  // [/quiet]
  UPCXX_ASSERT_ALWAYS(counts[0] == 31L * ranks);

  // [discharge]
  upcxx::rpc_ff((me + 1) % ranks, [] { ++received; });
  upcxx::
      discharge();  // from here on my call needs nothing more of me: I may block elsewhere
  // [/discharge]
  upcxx::barrier();
  while (received < 2) upcxx::progress();
  upcxx::barrier();
  upcxx::finalize();
}
