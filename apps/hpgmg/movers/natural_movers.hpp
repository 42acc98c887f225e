#pragma once

/// Communication as one thinks of it: every region is copied directly from the box that has the data to the
/// box that needs it. The variants of the paper, each with one thing more than the one before.

#include <memory>
#include <string_view>

#include "movers/runtime.hpp"

namespace hpgmg {

/// `name` is one of
///   baseline  a row is a message, which carries it to its place; a barrier before and after each phase
///   +shm      a row is a one-sided put, which the library turns into a copy where memory is shared
///   +local    the program looks whether memory is shared, once per region, and copies the region itself
///   +vis      what is not shared is one strided put per region
///   +group    neighbours wait for each other instead of everybody for everybody
/// Collective over the world; null for another name.
std::unique_ptr<mover> make_natural_mover(std::string_view name, plan const& moves, group* members);

}  // namespace hpgmg
