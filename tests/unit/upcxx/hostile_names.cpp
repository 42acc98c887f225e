// A program that has functions of every name that the interface's headers call, in the namespace of its types. Calls without
// a namespace would find them by their arguments. It need only compile: that the headers' own functions are called.

#include <deque>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <atoll/array.hpp>
#include <atoll/irregular.hpp>
#include <atoll/strided.hpp>
#include <upcxx/upcxx.hpp>

// Deleted ones stop the compiler wherever they are chosen, also by an ambiguous choice, and where a result is not used.
#define HOSTILE(name)                                             \
  template <class A>                                              \
  void name(A&&) = delete;                                        \
  template <class A>                                              \
  void name(A const&) = delete;                                   \
  template <class A>                                              \
  void name(A&) = delete;                                         \
  template <class A, class B>                                     \
  void name(A&&, B&&) = delete;                                   \
  template <class A, class B>                                     \
  void name(A&&, B const&) = delete;                              \
  template <class A, class B>                                     \
  void name(A&&, B&) = delete;                                    \
  template <class A, class B>                                     \
  void name(A const&, B&&) = delete;                              \
  template <class A, class B>                                     \
  void name(A const&, B const&) = delete;                         \
  template <class A, class B>                                     \
  void name(A const&, B&) = delete;                               \
  template <class A, class B>                                     \
  void name(A&, B&&) = delete;                                    \
  template <class A, class B>                                     \
  void name(A&, B const&) = delete;                               \
  template <class A, class B>                                     \
  void name(A&, B&) = delete;                                     \
  template <class A, class B, class C>                            \
  void name(A&&, B&&, C&&) = delete;                              \
  template <class A, class B, class C>                            \
  void name(A&&, B&&, C const&) = delete;                         \
  template <class A, class B, class C>                            \
  void name(A const&, B const&, C const&) = delete;               \
  template <class A, class B, class C>                            \
  void name(A&, B const&, C const&) = delete;                     \
  template <class A, class B, class C>                            \
  void name(A&, B&, C&) = delete;                                 \
  template <class A, class B, class C, class D>                   \
  void name(A&&, B&&, C&&, D&&) = delete;                         \
  template <class A, class B, class C, class D>                   \
  void name(A const&, B const&, C const&, D const&) = delete;     \
  template <class A, class B, class C, class D, class E, class F> \
  void name(A&&, B&&, C&&, D&&, E&&, F&&) = delete;

namespace hostile_program {

#include "hostile_names.inc"

struct app_plain {
  int a = 0;
  double b = 0;
  bool operator<(app_plain const& o) const { return a < o.a; }
  bool operator==(app_plain const& o) const { return a == o.a; }
};
struct app_hash {
  std::size_t operator()(app_plain const& x) const { return static_cast<std::size_t>(x.a); }
};

struct app_fields {
  std::string text;
  app_plain x;
  std::vector<app_plain> many;
  bool operator<(app_fields const& o) const { return text < o.text; }
  UPCXX_SERIALIZED_FIELDS(text, x, many)
};
struct app_values {
  app_fields first;
  int second;
  app_values(app_fields f, int i) : first(std::move(f)), second(i) {}
  UPCXX_SERIALIZED_VALUES(first, second)
};
struct app_derived : app_fields {
  app_fields more[2];
  UPCXX_SERIALIZED_FIELDS(UPCXX_SERIALIZED_BASE(app_fields), more)
};
/// Arrives as another type.
struct app_custom {
  int a = 0;
  struct upcxx_serialization {
    template <class Writer>
    static void serialize(Writer& w, app_custom const& x) {
      auto place = w.template reserve<app_plain>();
      w.write(x.a);
      w.write_sequence(&x.a, &x.a + 1);
      w.commit(place, app_plain{});
    }
    template <class Reader, class Storage>
    static app_fields* deserialize(Reader& r, Storage storage) {
      r.template read<app_plain>();
      r.template read<int>();
      int into[1];
      r.template read_sequence_into<int>(&into[0], 1);
      return storage.construct();
    }
  };
  bool operator<(app_custom const& o) const { return a < o.a; }
};

template <class T>
void app_serialize_one(T const& value) {
  static_cast<void>(upcxx::serialization_traits<T>::deserialized_value(value));
  upcxx::rpc(
      0, [](upcxx::deserialized_type_t<T> const&) {}, value)
      .wait();
}
template <class... T>
void app_serialize_each() {
  (app_serialize_one(T()), ...);
}

void use_serialization(app_fields& f, std::vector<app_custom>& many) {
  app_serialize_each<app_plain, app_fields, app_derived, app_custom, std::string, std::filesystem::path>();
  app_serialize_each<std::pair<app_fields, app_custom>, std::tuple<app_plain, app_fields, app_custom>,
                     std::array<app_fields, 2>, std::array<app_custom, 2>>();
  app_serialize_each<std::optional<app_fields>, std::variant<app_plain, app_fields, app_custom>,
                     std::unique_ptr<app_fields>>();
  app_serialize_each<std::vector<app_plain>, std::vector<app_custom>, std::vector<bool>,
                     std::deque<app_fields>, std::list<app_plain>, std::forward_list<app_fields>>();
  app_serialize_each<std::set<app_plain>, std::multiset<app_fields>, std::map<app_fields, app_custom>,
                     std::multimap<app_plain, app_plain>, std::unordered_map<app_plain, app_custom, app_hash>,
                     std::unordered_set<app_plain, app_hash>>();
  app_serialize_one(app_values(f, 1));
  app_serialize_one(std::ref(f));
  upcxx::rpc_ff(
      0,
      [](upcxx::view<app_custom> a, upcxx::view<app_plain> b) {
        app_fields into;
        a.begin().deserialize_overwrite(into);
        for (auto const& x : b) static_cast<void>(x.a);
      },
      upcxx::make_view(many), upcxx::make_view(&f.x, &f.x + 1));
}

template <class... T>
void app_futures_of(upcxx::future<T...> const& given) {
  given.then([](T const&...) {});
  given.then([](T const&...) { return app_fields(); }).then([](app_fields const&) {
    return upcxx::make_future(app_plain());
  });
  static_cast<void>(given.result_tuple());
  static_cast<void>(given.result());
  static_cast<void>(given.result_reference());
  static_cast<void>(given.wait());
  static_cast<void>(given.wait_reference());
  static_cast<void>(
      upcxx::when_all(given, app_plain(), upcxx::make_future(app_fields()), upcxx::make_future()));
}

void use_futures(app_fields& f) {
  upcxx::promise<app_fields, app_plain> p;
  p.require_anonymous(1);
  p.fulfill_anonymous(1);
  app_futures_of(p.get_future());
  p.fulfill_result(app_fields(), app_plain());
  app_futures_of(upcxx::when_all(app_fields(), upcxx::promise<app_plain>().get_future()));
  app_futures_of(upcxx::to_future(app_plain()));
  app_futures_of(upcxx::make_future<app_fields&>(f));
  upcxx::make_future(f).then(&app_fields::x);
}

void use_lpcs(app_fields& f) {
  upcxx::persona& to = upcxx::current_persona();
  to.lpc_ff([f] {});
  app_futures_of(to.lpc([f] { return f; }));
  app_futures_of(to.lpc([f] { return upcxx::make_future(f, app_plain()); }));
  to.lpc([f] {}).wait();
  static_cast<void>(to.lpc([&f]() -> app_fields& { return f; }));
  static_cast<void>(to.lpc([] { return std::unique_ptr<app_fields>(); }));
}

app_plain app_function(app_plain const& x) { return x; }

void use_rpcs(upcxx::team& over, app_fields& f, upcxx::global_ptr<app_plain> g) {
  auto const to_all = [](auto&& promised) {
    return upcxx::operation_cx::as_future() |
           upcxx::operation_cx::as_lpc(upcxx::current_persona(), [](auto&&...) {}) |
           upcxx::operation_cx::as_promise(promised) | upcxx::source_cx::as_future() |
           upcxx::source_cx::as_lpc(upcxx::current_persona(), [f = app_fields()] {});
  };
  upcxx::rpc(0, app_function, app_plain()).wait();
  upcxx::rpc(0, &app_function, app_plain()).wait();
  static_cast<void>(upcxx::rpc(over, 0, to_all(upcxx::promise<app_plain>()), app_function, app_plain()));
  static_cast<void>(upcxx::rpc(
      over, 0, [](app_fields&&, app_fields const&) { return upcxx::make_future(app_custom(), app_plain()); },
      f, app_custom()));
  static_cast<void>(upcxx::rpc(
      0, [](upcxx::global_ptr<app_plain>, upcxx::team&) -> upcxx::future<> { return {}; }, g, over));
  upcxx::rpc_ff(
      over, 0, [](upcxx::view<app_fields>) {}, upcxx::make_view(std::vector<app_fields>()));
  static_cast<void>(upcxx::rpc_ff(0, upcxx::source_cx::as_future(), app_function, app_plain()));
}

void use_objects(upcxx::team& over) {
  upcxx::dist_object<app_fields> object(app_fields{}, over);
  upcxx::dist_object<app_plain> in_place(over);
  upcxx::dist_object<app_fields> moved(std::move(object));
  moved.emplace();
  static_cast<void>(moved.fetch(0).wait());
  static_cast<void>(in_place.id().when_here());
  static_cast<void>(in_place.id() == in_place.id());
  static_cast<void>(std::hash<upcxx::dist_id<app_plain>>()(in_place.id()));
  upcxx::rpc(
      0,
      [](upcxx::dist_object<app_fields>&, upcxx::dist_object<app_plain> const&, upcxx::team&) {
        return app_plain();
      },
      moved, in_place, over)
      .wait();
}

void use_transfers(upcxx::global_ptr<app_plain> g, app_fields& f) {
  app_plain x;
  auto const all = upcxx::operation_cx::as_future() |
                   upcxx::operation_cx::as_lpc(upcxx::current_persona(), [f] {}) |
                   upcxx::operation_cx::as_promise(upcxx::promise<>()) |
                   upcxx::remote_cx::as_rpc([](app_fields&&, app_plain) {}, f, app_plain());
  static_cast<void>(upcxx::rput(x, g, all));
  static_cast<void>(upcxx::rput(&x, g, 1, all | upcxx::source_cx::as_defer_future()));
  static_cast<void>(upcxx::copy(&x, g, 1, all));
  static_cast<void>(upcxx::copy(g, g, 1, all));
  static_cast<void>(upcxx::rget(g).wait());
  static_cast<void>(
      upcxx::rget(g, upcxx::operation_cx::as_defer_future() |
                         upcxx::operation_cx::as_lpc(upcxx::current_persona(), [f](app_plain) {}) |
                         upcxx::operation_cx::as_promise(upcxx::promise<app_plain>())));
  static_cast<void>(upcxx::rget(g, &x, 1));
  std::vector<std::pair<app_plain*, std::size_t>> local{{&x, 1}};
  std::vector<std::pair<upcxx::global_ptr<app_plain>, std::size_t>> shared{{g, 1}};
  std::vector<app_plain*> local_runs{&x};
  std::vector<upcxx::global_ptr<app_plain>> shared_runs{g};
  static_cast<void>(upcxx::rput_irregular(local.begin(), local.end(), shared.begin(), shared.end(), all));
  static_cast<void>(upcxx::rget_irregular(shared.begin(), shared.end(), local.begin(), local.end()));
  static_cast<void>(upcxx::rput_regular(local_runs.begin(), local_runs.end(), 1, shared_runs.begin(),
                                        shared_runs.end(), 1, all));
  static_cast<void>(upcxx::rget_regular(shared_runs.begin(), shared_runs.end(), 1, local_runs.begin(),
                                        local_runs.end(), 1));
  static_cast<void>(upcxx::rput_strided<1>(&x, {{8}}, g, {{8}}, {{1}}, all));
  static_cast<void>(upcxx::rget_strided<1>(g, {{8}}, &x, {{8}}, {{1}}));
}

void use_collectives(upcxx::team& over, app_fields& f) {
  app_plain x;
  auto const add = [](auto a, auto const&) { return a; };
  auto const all = upcxx::operation_cx::as_future() |
                   upcxx::operation_cx::as_lpc(upcxx::current_persona(), [f](auto&&...) {});
  upcxx::barrier_async(over, all).wait();
  static_cast<void>(upcxx::broadcast(x, 0, over, all));
  static_cast<void>(upcxx::broadcast(&x, 1, 0, over, all));
  static_cast<void>(upcxx::reduce_one(x, add, 0, over, all));
  static_cast<void>(upcxx::reduce_all(x, add, over, all));
  static_cast<void>(upcxx::reduce_all(&x, &x, 1, add, over, all));
  static_cast<void>(upcxx::experimental::broadcast_nontrivial(f, 0, over, all));
  static_cast<void>(upcxx::experimental::reduce_one_nontrivial(f, add, 0, over, all));
  static_cast<void>(upcxx::experimental::reduce_all_nontrivial(f, add, over, all));
}

void use_memory(upcxx::global_ptr<app_plain> g) {
  upcxx::delete_(upcxx::new_<app_fields>());
  upcxx::delete_array(upcxx::new_array<app_fields>(3));
  upcxx::deallocate(upcxx::allocate<app_plain>(3));
  static_cast<void>(upcxx::new_<app_fields>(std::nothrow));
  static_cast<void>(upcxx_memberof(g, a));
  static_cast<void>(upcxx_memberof_general(g, b));
  static_cast<void>(upcxx::reinterpret_pointer_cast<int>(g));
  static_cast<void>(upcxx::to_global_ptr(g.local()));
  static_cast<void>(g + 1 == g && g < g && g - g == 0);
}

void use_arrays(upcxx::team& over, app_fields& f) {
  auto const all = upcxx::operation_cx::as_future() |
                   upcxx::operation_cx::as_lpc(upcxx::current_persona(), [f] {}) |
                   upcxx::remote_cx::as_rpc([](app_fields&&) {}, f);
  atl::domain<2> const box{{0, 0}, {2, 2}};
  auto const mine = atl::make_array<app_plain>(box);
  upcxx::dist_object<atl::array<app_plain, 2>> everywhere(mine.view(), over);
  static_cast<void>(atl::copy(everywhere.fetch(0).wait(), mine, all));
  std::vector<atl::array<app_plain, 2>> const boxes{mine.view()};
  atl::ghost_exchange<app_plain, 2>(boxes, 1, atl::shape::faces, box).run();
  atl::dist_array<app_plain, 2> const array(box, {.depth = 1});
  static_cast<void>(array.local());
  std::ptrdiff_t const stride = sizeof(app_plain);
  std::size_t const counts[] = {sizeof(app_plain), 1};
  static_cast<void>(
      atl::copy_strided(mine.view().data(), &stride, mine.view().data().local(), &stride, counts, 2, all));
  std::vector<std::pair<upcxx::global_ptr<app_plain>, std::size_t>> runs{{mine.view().data(), 1}};
  static_cast<void>(atl::copy_irregular(runs.begin(), runs.end(), runs.begin(), runs.end(), all));
  std::vector<upcxx::global_ptr<app_plain>> starts{mine.view().data()};
  static_cast<void>(atl::copy_regular(starts.begin(), starts.end(), 1, starts.begin(), starts.end(), 1, all));
}

}  // namespace hostile_program
