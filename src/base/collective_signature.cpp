#include "base/collective_signature.hpp"

#include "base/error.hpp"

namespace atl {

namespace {

char const* name_of(collective_kind kind) {
  switch (kind) {
    case collective_kind::none:
      return "nothing";
    case collective_kind::barrier:
      return "barrier";
    case collective_kind::broadcast:
      return "broadcast";
    case collective_kind::reduce_one:
      return "reduce_one";
    case collective_kind::reduce_all:
      return "reduce_all";
    case collective_kind::gather:
      return "gather";
    case collective_kind::split:
      return "team::split";
    case collective_kind::create:
      return "team::create";
    case collective_kind::destroy:
      return "team::destroy";
    case collective_kind::broadcast_object:
      return "broadcast_nontrivial";
    case collective_kind::reduce_one_object:
      return "reduce_one_nontrivial";
    case collective_kind::reduce_all_object:
      return "reduce_all_nontrivial";
    case collective_kind::finalize:
      return "finalize";
    case collective_kind::scatter:
      return "scatter";
    case collective_kind::all_to_all:
      return "all_to_all";
    case collective_kind::scan:
      return "scan";
    case collective_kind::atomic_domain:
      return "atomic_domain";
    case collective_kind::device_allocator:
      return "device_allocator";
  }
  return "unknown";
}

std::string describe_operation(unsigned code) {
  static constexpr char const* names[] = {"add", "mul", "min", "max", "bit_and", "bit_or", "bit_xor"};
  static constexpr char const* types[] = {"bool", "signed", "unsigned", "floating"};
  if (is_own_operation(code)) {
    unsigned const bytes = code - predefined_operations;
    std::string const size =
        bytes <= largest_told ? format("%u", bytes) : format("more than %u", largest_told);
    return format("an operation of the program's own, of elements of %s bytes", size.c_str());
  }
  unsigned const name = (code - 1) / 20;
  return format("op_fast_%s of %s elements", name < 7 ? names[name] : "?", types[(code - 1) % 20 / 5]);
}

}  // namespace

std::string describe(collective_signature what) {
  collective_kind const kind = kind_of(what);
  auto const root = static_cast<std::int32_t>(what >> signature_root_shift & signature_root_mask) - 1;
  unsigned const operation = operation_of(what);
  auto const bytes = static_cast<unsigned long long>(what & 0xffffffffU);
  std::string text = name_of(kind);
  switch (kind) {
    case collective_kind::broadcast:
    case collective_kind::reduce_one:
    case collective_kind::reduce_all:
    case collective_kind::gather:
    case collective_kind::scatter:
    case collective_kind::all_to_all:
    case collective_kind::scan:
      text += format(" of %llu bytes", bytes);
      break;
    default:
      break;
  }
  if (operation != 0) text += format(" by %s", describe_operation(operation).c_str());
  if (root >= 0) text += format(" with root %d", root);
  return text;
}

std::string describe_team(std::uint64_t id) {
  id = whole_team(id);
  if (id == 1) return "world()";
  auto const leader = id >> 32U;
  if (leader == 0) return "local_team()";
  return format("the team no. %u that rank %lld leads", static_cast<unsigned>(id),
                static_cast<long long>(leader) - 1);
}

}  // namespace atl
