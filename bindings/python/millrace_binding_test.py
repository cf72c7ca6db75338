"""The Python binding against the library that MILLRACE_LIBRARY names; for python3 -m unittest."""

import gc
import struct
import unittest

import _abi as abi
import millrace

library = millrace.open()


def floats(*values):
    return struct.pack(f"{len(values)}f", *values)


class Binding(unittest.TestCase):
    def setUp(self):
        self.context = library.context(backend=abi.MR_BACKEND_HOST)
        self.stream = self.context.stream()

    def test_b06_layout(self):
        ours = []
        for kind in abi.STRUCTS:
            ours.append((kind.__name__, "", 0, abi.ctypes.sizeof(kind)))
            for name, _ in kind._fields_:
                place = getattr(kind, name)
                ours.append((kind.__name__, name, place.offset, place.size))
        self.assertEqual(ours, library.layout())

    def test_operator(self):
        x = self.stream.buffer(32)
        self.stream.upload(x.data, floats(3, -3, 3, -3, 1, 1, 1, 1))
        t = millrace.tensor(x.data, "f32", (2, 4))
        self.stream.op("rmsnorm", input=t, output=t)
        result = struct.unpack("8f", self.stream.download(x.data, 32))
        for value, want in zip(result, (1, -1, 1, -1, 1, 1, 1, 1)):
            self.assertAlmostEqual(value, want, places=5)
        self.assertNotEqual(self.stream.kernel("rmsnorm", input=t, output=t).name, b"")
        self.assertGreaterEqual(self.stream.workspace("rmsnorm", input=t, output=t), 0)

    def test_strides(self):
        x = self.stream.buffer(24)
        self.stream.upload(x.data, floats(1, 2, 3, 4, 5, 6))
        y = self.stream.buffer(24)
        across = millrace.tensor(x.data, "f32", (3, 2), (1, 3))
        out = millrace.tensor(y.data, "f32", (3, 2))
        self.stream.op("add", a=across, b=across, output=out)
        self.assertEqual(self.stream.download(y.data, 24), floats(2, 8, 4, 10, 6, 12))

    def test_initial_values(self):
        self.assertEqual(self.stream.arguments("matmul").alpha, 1.0)
        self.assertEqual(self.stream.arguments("rope").rope.theta, 10000.0)
        self.assertEqual(self.stream.arguments("add").struct_size,
                         abi.ctypes.sizeof(abi.mr_add_args))
        with self.assertRaises(TypeError):
            self.stream.arguments("add", c=1)

    def test_errors(self):
        with self.assertRaises(millrace.Error) as raised:
            self.stream.op("rmsnorm")
        self.assertEqual(raised.exception.code, abi.MR_INVALID_ARGUMENT)
        self.assertIn("MR_INVALID_ARGUMENT", str(raised.exception))
        self.assertTrue(raised.exception.text)

    def test_lifetimes(self):
        buffer = self.stream.buffer(4096)
        before = self.context.memory_stats().requested.current
        with self.stream.buffer(4096):
            self.assertEqual(self.context.memory_stats().requested.current, before + 4096)
        self.assertEqual(self.context.memory_stats().requested.current, before)
        wrapped = self.context.wrap(self.stream.library.stream_native(self.stream.handle))
        self.context.close()
        self.stream.close()
        gc.collect()
        self.assertEqual(buffer.bytes, 4096)
        wrapped.close()
        buffer.close()
        buffer.close()


if __name__ == "__main__":
    unittest.main()
