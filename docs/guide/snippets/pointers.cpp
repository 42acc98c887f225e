// Snippets of the page on global pointers.
#include <string>

#include <upcxx/upcxx.hpp>

struct particle {
  double position[3];
  double mass;
};

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const right = (me + 1) % upcxx::rank_n();

  // [allocate]
  // Constructed, like new double(3.5).
  upcxx::global_ptr<double> one = upcxx::new_<double>(3.5);
  // Default-initialised, like new double[1000].
  upcxx::global_ptr<double> many = upcxx::new_array<double>(1000);
  // Memory only; null when the heap is full.
  upcxx::global_ptr<int> raw = upcxx::allocate<int>(16);
  // [/allocate]

  // [local]
  double* const mine = many.local();  // an ordinary pointer, for this process only
  for (int i = 0; i < 1000; ++i) mine[i] = me + i;
  // [/local]

  // [share]
  upcxx::dist_object<upcxx::global_ptr<double>> arrays(many);
  upcxx::global_ptr<double> theirs = arrays.fetch(right).wait();
  UPCXX_ASSERT_ALWAYS(theirs.where() == right);
  // [/share]

  upcxx::barrier();
  // [host]
  if (theirs.is_local()) {  // true for all ranks of one host
    double const first = theirs.local()[0];
    UPCXX_ASSERT_ALWAYS(first == right);
  }
  // Works wherever the owner is.
  UPCXX_ASSERT_ALWAYS(upcxx::rget(theirs + 10).wait() == right + 10);
  // [/host]

  // [back]
  upcxx::global_ptr<double> again = upcxx::to_global_ptr(mine + 5);
  UPCXX_ASSERT_ALWAYS(again == many + 5 && again - many == 5);
  int on_the_stack = 0;
  UPCXX_ASSERT_ALWAYS(upcxx::try_global_ptr(&on_the_stack) == nullptr);
  // [/back]

  // [member]
  upcxx::global_ptr<particle> p = upcxx::new_<particle>(particle{{1, 2, 3}, 4.5});
  upcxx::global_ptr<double> mass = upcxx_memberof(p, mass);
  UPCXX_ASSERT_ALWAYS(upcxx::rget(mass).wait() == 4.5);
  // [/member]

  // [casts]
  upcxx::global_ptr<double const> reading = many;  // const comes by itself
  auto bytes = upcxx::reinterpret_pointer_cast<unsigned char const>(reading);
  UPCXX_ASSERT_ALWAYS(bytes.where() == me);
  // [/casts]

  upcxx::barrier();  // nobody reads any more
  // [free]
  upcxx::delete_(one);
  upcxx::delete_array(many);
  upcxx::deallocate(raw);
  // [/free]
  upcxx::delete_(p);
  upcxx::finalize();
}
