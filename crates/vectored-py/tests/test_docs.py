"""The stubs, the docs of the running module and the examples agree."""

import ast
import contextlib
import importlib.resources
import inspect
import io
import logging
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

import vectored
from support import Reader

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def stub():
    return ast.parse(importlib.resources.files(vectored).joinpath("__init__.pyi").read_text())


class Stubs(unittest.TestCase):
    def check(self, node, runtime, name):
        documented = ast.get_docstring(node)
        with self.subTest(name=name):
            if documented is not None and not name.endswith("__init__"):
                self.assertEqual(inspect.getdoc(runtime), documented)
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, (ast.FunctionDef, ast.ClassDef)):
                        self.check(inner, getattr(runtime, inner.name), f"{name}.{inner.name}")
            elif isinstance(runtime, property) or inspect.isgetsetdescriptor(runtime):
                return
            elif not name.rpartition(".")[2].startswith("__"):
                arguments = [one.arg for one in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
                self.assertEqual(list(inspect.signature(runtime).parameters), arguments)

    def test_the_stubs_have_what_the_module_has_with_the_same_docs(self):
        names = set()
        for node in stub().body:
            if isinstance(node, ast.AnnAssign):
                names.add(node.target.id)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                names.add(node.name)
                self.check(node, getattr(vectored, node.name), node.name)
        self.assertEqual(names, set(vectored.__all__))
        self.assertEqual(ast.get_docstring(stub()), inspect.getdoc(vectored))
        for name in ("Cursor", "Gather", "CostModel", "GatherWriter"):
            public = {one for one in vars(getattr(vectored, name)) if not one.startswith("_")}
            stubbed = next(node for node in stub().body if getattr(node, "name", None) == name)
            self.assertEqual(public, {one.name for one in stubbed.body if hasattr(one, "name") and one.name[0] != "_"})

    def test_the_package_says_that_it_is_typed(self):
        self.assertTrue(importlib.resources.files(vectored).joinpath("py.typed").is_file())


class Claims(unittest.TestCase):
    def test_the_page_of_the_package_is_true(self):
        with open(os.path.join(FOLDER, "../../docs/python.md")) as file:
            blocks = re.findall(r"```(python|pycon)\n(.*?)```", file.read(), re.DOTALL)
        self.assertEqual(len(blocks), 7)
        names = {}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for language, block in blocks:
                if language == "pycon":
                    for command, expected in re.findall(r">>> (.*)\n((?:(?!>>>).*\n)*)", block):
                        self.assertEqual(self.said(command, names), expected, command)
                elif "dictConfig" in block:
                    sys.modules["collecting"] = types.SimpleNamespace(**names)
                    exec(block, names)
                elif "select" in block:
                    reader = Reader(names["source"])
                    exec(block, names)
                    os.close(names["sink"])
                    # The bytes of the session before come first.
                    self.assertEqual(reader.result(), b"x" * (65536 + 500_000))
                else:
                    exec(block, names)
            self.assertEqual(names["body"], b"hello")
            [configured] = logging.getLogger().handlers
            logging.info("a record")
            self.assertEqual(os.path.getsize("app.log"), 0)
            os.rename("app.log", "app.log.1")
            configured.close()
            logging.error("another")
            for name, record in ("app.log.1", "INFO a record\n"), ("app.log", "ERROR another\n"):
                with open(name) as log:
                    self.assertTrue(log.read().endswith(record))
            logging.getLogger().removeHandler(configured)
            configured.close()
            with open("log") as log:
                self.assertEqual(log.read(), "one two three\n")
            log = names["LogFile"]("service.log")
            for level, waits in ((logging.INFO, True), (logging.ERROR, False), (logging.INFO, False)):
                log.handle(logging.makeLogRecord({"levelno": level, "msg": "a record"}))
                self.assertEqual(os.path.getsize("service.log") == 0, waits)
            threading.Thread(target=log.write_regularly, args=[0.01], daemon=True).start()
            log.handle(logging.makeLogRecord({"levelno": logging.INFO, "msg": "a record"}))
            while os.path.getsize("service.log") < 4 * len("a record\n"):
                time.sleep(0.01)
            log.close()
            self.assertEqual(os.path.getsize("service.log"), 4 * len("a record\n"))
            self.check_logs_of_processes(names)
            with contextlib.redirect_stderr(io.StringIO()) as said:
                full = names["LogFile"]("/dev/full")
                full.handle(logging.makeLogRecord({"levelno": logging.ERROR, "msg": "a record"}))
            self.assertIn("No space left on device", said.getvalue())
            with contextlib.suppress(OSError):
                full.close()

    def check_logs_of_processes(self, names):
        """Whatever the processes do, each record is written once, and every call ends at the end of a record."""
        record = lambda text: logging.makeLogRecord({"levelno": logging.INFO, "msg": text})
        for name in ("LogFile", "LogStream"):
            with open("forked.log", "w") as stream:
                log = names[name](stream if name == "LogStream" else "forked.log")
                log.handle(record("one"))
                child = os.fork()
                if child == 0:
                    log.handle(record("child"))
                    os._exit(0)
                os.waitpid(child, 0)
                log.handle(record("two"))
                log.write_out()
                with open("forked.log") as written:
                    self.assertEqual(written.read(), "one\nchild\ntwo\n")
                sizes = set()
                for number in range(2000):
                    log.handle(record(f"{number} {'é' * (number % 97)}"))
                    sizes.add(os.path.getsize("forked.log"))
                log.close()
            with open("forked.log", "rb") as written:
                content = written.read()
            self.assertLess(len(sizes), 100)
            self.assertTrue(all(content[size - 1:size] == b"\n" for size in sizes))

    def said(self, command, names):
        """What an interpreter prints for a line."""
        with contextlib.redirect_stdout(io.StringIO()) as text:
            try:
                exec(compile(command, "docs/python.md", "single"), names)
            except OSError as error:
                print(f"{type(error).__name__}: {error}")
        return text.getvalue()

    def test_the_programs_of_the_readme_run(self):
        with open(os.path.join(FOLDER, "README.md")) as file:
            programs = re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)
        self.assertEqual(len(programs), 3)
        source, sink = os.pipe()
        reader = Reader(source, 10_000)
        programs[1] += f"\nos.set_blocking({sink}, False)"
        programs[1] += f"\nsend({sink}, [memoryview(b'%d,' % i) for i in range(5000)])"
        programs[2] = "import vectored\n" + programs[2]
        with tempfile.TemporaryDirectory() as folder:
            for program in programs:
                command = [sys.executable, "-X", "dev", "-W", "error", "-c", program]
                subprocess.run(command, cwd=folder, pass_fds=[sink], check=True)
            self.assertEqual(os.path.getsize(os.path.join(folder, "answer.txt")), 100_013)
            with open(os.path.join(folder, "log")) as log:
                self.assertEqual(log.read(), "one two three\n")
        os.close(sink)
        self.assertEqual(reader.result(), b"".join(b"%d," % i for i in range(5000)))


class Examples(unittest.TestCase):
    def test_every_example_runs(self):
        folder = os.path.join(FOLDER, "examples")
        names = sorted(os.listdir(folder))
        self.assertGreater(len(names), 0)
        for name in names:
            with self.subTest(name=name):
                path = os.path.join(folder, name)
                command = [sys.executable, "-X", "dev", "-W", "error", path]
                ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
