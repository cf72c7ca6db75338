"""bindings/generate.py refuses what breaks the rules of the ABI, and keeps the order of the table.

Each test edits a copy of the headers and runs the generator on it. Run with python3 -m unittest.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings"))

from generator.abi_headers import read_headers  # noqa: E402
from generator.abi_model import HeaderError  # noqa: E402


class Generator(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)
        shutil.copytree(ROOT / "include", self.tree / "include")
        (self.tree / "bindings").mkdir()
        shutil.copytree(ROOT / "bindings/generator", self.tree / "bindings/generator",
                        ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("generate.py", "api_order.txt"):
            shutil.copy(ROOT / "bindings" / name, self.tree / "bindings" / name)

    def run_it(self, *options):
        done = subprocess.run([sys.executable, "-B", str(self.tree / "bindings/generate.py"), *options],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def edit(self, header, old, new):
        path = self.tree / "include/millrace" / header
        text = path.read_text()
        self.assertEqual(text.count(old), 1, f"{old!r} in {header}")
        path.write_text(text.replace(old, new))

    def refused(self, *words):
        with self.assertRaises(HeaderError) as raised:
            read_headers(self.tree / "include/millrace")
        for word in words:
            self.assertIn(word, str(raised.exception))

    def test_same_result_anywhere(self):
        self.assertEqual(self.run_it()[0], 0)
        for path in self.tree.rglob("*"):
            below = path.relative_to(self.tree)
            if path.is_file() and "generator" not in below.parts:
                self.assertEqual(path.read_bytes(), (ROOT / below).read_bytes(), below)
        self.assertEqual(self.run_it("--check"), (0, ""))

    def test_check_names_stale_files_and_writes_nothing(self):
        self.run_it()
        api = self.tree / "include/millrace/api.h"
        before = api.read_bytes() + b"\n"
        api.write_bytes(before)
        code, output = self.run_it("--check")
        self.assertEqual((code, output), (1, "stale: include/millrace/api.h\n"))
        self.assertEqual(api.read_bytes(), before)

    def test_scalars(self):
        for bad in ("bool x", "long x", "size_t x", "unsigned x : 3", "enum mr_kind x", "int x",
                    "mr_unknown x", "uint32_t x, y", "mr_context x", "union { int a; } x"):
            with self.subTest(bad):
                self.setUp()
                self.edit("norm.h", "  float epsilon;", f"  {bad};\n  float epsilon;")
                self.refused("norm.h")

    def test_padding(self):
        self.edit("norm.h", "  float epsilon;", "  uint32_t more;\n  float epsilon;")
        self.refused("mr_rmsnorm_args", "padding")

    def test_sized_structs(self):
        self.edit("norm.h", "  uint32_t flags;\n  mr_tensor input;", "  uint32_t bits;\n  mr_tensor input;")
        self.refused("mr_rmsnorm_args", "struct_size, flags")

    def test_initialisers(self):
        self.edit("norm.h", "MR_TENSOR_INIT, MR_TENSOR_INIT, 0.0f, 0u}",
                  "MR_TENSOR_INIT, MR_TENSOR_INIT, 0.0f}")
        self.refused("MR_RMSNORM_ARGS_INIT", "8 values for 9 fields")

    def test_missing_initialiser(self):
        path = self.tree / "include/millrace/norm.h"
        path.write_text(re.sub(r"#define MR_RMSNORM_ARGS_INIT(.*\\\n)*.*\n", "", path.read_text()))
        self.refused("MR_RMSNORM_ARGS_INIT")

    def test_declarations(self):
        good = "MR_API mr_status mr_matmul_plan_workspace"
        for bad in ("enum mr_kind { MR_A };", "int mr_plain(void);", "extern int mr_data;",
                    "MR_API mr_status mr_x(mr_error* err);", "MR_API mr_status x(void) MR_NOEXCEPT;",
                    "MR_API mr_status mr_x(mr_tensor t, mr_error* err) MR_NOEXCEPT;",
                    "MR_API mr_status mr_x(mr_error* err, int32_t y) MR_NOEXCEPT;",
                    "MR_API void mr_x(mr_error* err) MR_NOEXCEPT;",
                    "MR_API mr_status mr_x(const char* text, ...) MR_NOEXCEPT;",
                    "MR_API mr_status mr_x(int32_t) MR_NOEXCEPT;",
                    "MR_API mr_status mr_matmul(int32_t y, mr_error* err) MR_NOEXCEPT;",
                    "#define MR_TWICE(x) (2 * (x))", "#define MR_TEXT \"text\"", "#pragma pack(1)",
                    "#define MR_OK 0", "// a comment", "#if MR_ABI_MAJOR > 3\n#endif"):
            with self.subTest(bad):
                self.setUp()
                self.edit("matmul.h", good, f"{bad}\n{good}")
                self.refused("matmul.h:")

    def test_a_header_that_millrace_h_leaves_out(self):
        (self.tree / "include/millrace/more.h").write_text("")
        self.refused("more.h")

    def test_new_functions_go_to_the_end(self):
        self.run_it()
        self.edit("base.h", "MR_API uint32_t mr_abi_version", "MR_API uint32_t mr_added(void) MR_NOEXCEPT;\n"
                                                              "MR_API uint32_t mr_abi_version")
        code, output = self.run_it()
        self.assertEqual(code, 0)
        self.assertNotIn("warning", output)
        order = (self.tree / "bindings/api_order.txt").read_text().split()
        self.assertEqual(order, (ROOT / "bindings/api_order.txt").read_text().split() + ["mr_added"])
        self.assertIn("uint32_t (*added)(void);\n} mr_api;",
                      (self.tree / "include/millrace/api.h").read_text())

    def remove_abi_version(self):
        self.edit("base.h", "MR_API uint32_t mr_abi_version(void) MR_NOEXCEPT;", "")

    def swap_first_two(self):
        order = self.tree / "bindings/api_order.txt"
        names = order.read_text().split()
        names[0], names[1] = names[1], names[0]
        order.write_text("\n".join(names) + "\n")

    def test_removal_and_reordering_warn_before_abi_1(self):
        for change in (self.remove_abi_version, self.swap_first_two):
            self.setUp()
            change()
            code, output = self.run_it()
            self.assertEqual(code, 0)
            self.assertIn("warning: the table changes from slot", output)

    def test_removal_and_reordering_are_refused_from_abi_1_on(self):
        for change in (self.remove_abi_version, self.swap_first_two):
            self.setUp()
            self.edit("base.h", "#define MR_ABI_MAJOR 0u", "#define MR_ABI_MAJOR 1u")
            self.assertEqual(self.run_it()[0], 0)
            change()
            code, output = self.run_it()
            self.assertEqual(code, 2)
            self.assertIn("permanent", output)


if __name__ == "__main__":
    unittest.main()
