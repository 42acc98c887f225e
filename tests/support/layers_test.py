#!/usr/bin/env python3
"""The order of layers, and that its check sees what breaks it."""

import importlib.util
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("layers", ROOT / "scripts" / "layers.py")
layers = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(layers)


class Layers(unittest.TestCase):
    def test_no_include_of_the_tree_points_up(self):
        complaints, looked_at = layers.check(ROOT)
        self.assertEqual(complaints, [])
        self.assertGreater(looked_at, 500)

    def found_in(self, **files):
        """Complaints about a tree of these files, whose names have __ for / and end in _hpp or _cpp."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in files.items():
                path = root / (name.replace("__", "/")[:-4] + "." + name[-3:])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text + "\n", encoding="utf-8")
            return layers.check(root)[0]

    def test_upward_includes_are_found(self):
        self.assertEqual(
            self.found_in(src__base__low_cpp='#include <upcxx/high.hpp>', include__upcxx__high_hpp=""),
            ["src/base/low.cpp:1: includes include/upcxx/high.hpp: base lies below front end"])
        self.assertEqual(
            self.found_in(src__engine__host__a_cpp='\n  # include "engine/world.hpp"', src__engine__world_hpp=""),
            ["src/engine/host/a.cpp:2: includes src/engine/world.hpp: engine: host domain lies below engine"])

    def test_neighbours_and_applications_are_kept_apart(self):
        self.assertEqual(
            self.found_in(src__engine__copies__a_cpp='#include "engine/collectives/b.hpp"', src__engine__collectives__b_hpp=""),
            ["src/engine/copies/a.cpp:1: includes src/engine/collectives/b.hpp: engine: copies does not know engine: collectives"])
        self.assertEqual(
            self.found_in(apps__a__main_cpp='#include <atoll/engine/am.hpp>', include__atoll__engine__am_hpp=""),
            ["apps/a/main.cpp:1: includes include/atoll/engine/am.hpp: "
             "applications are written against the public interface only"])

    def test_downward_includes_and_the_face_of_the_engine_are_allowed(self):
        self.assertEqual(
            self.found_in(src__upcxx__a_cpp='#include "engine/world.hpp"\n#include <vector>',
                          src__engine__world_hpp='#include "engine/host/page.hpp"',
                          src__engine__host__page_hpp='#include <atoll/engine/job.hpp>',
                          include__atoll__engine__job_hpp="",
                          apps__a__main_cpp='#include <atoll/array.hpp>\n#include <upcxx/upcxx.hpp>',
                          include__atoll__array_hpp="", include__upcxx__upcxx_hpp=""),
            [])


if __name__ == "__main__":
    unittest.main()
