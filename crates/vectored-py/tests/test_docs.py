"""The stubs, the docs of the running module and the examples agree."""

import ast
import importlib.resources
import inspect
import os
import subprocess
import sys
import unittest

import vectored

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


class Examples(unittest.TestCase):
    def test_every_example_runs(self):
        folder = os.path.join(FOLDER, "examples")
        names = sorted(os.listdir(folder))
        self.assertGreater(len(names), 0)
        for name in names:
            with self.subTest(name=name):
                path = os.path.join(folder, name)
                command = [sys.executable, "-X", "dev", "-W", "error", path]
                ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
