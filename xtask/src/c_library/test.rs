//! `cargo xtask test-c`: installs the library to a folder and compiles and runs the programs of `crates/vectored-capi` with
//! it, as its users do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::install::install;
use super::options::Place;
use crate::commands::{answer, works};
use crate::root;
use crate::scratch::Scratch;
use crate::skips;

const CRATE: &str = "crates/vectored-capi";

/// The warnings that no program of ours may cause.
const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

/// The exit status of valgrind if it found an error.
const VALGRIND_ERROR: &str = "--error-exitcode=99";

/// Installs, compiles and runs; fails at the first program that fails.
pub fn test() -> Result<()> {
    let mut compilers = Vec::new();
    for compiler in &COMPILERS {
        if is_there(compiler.c) && is_there(compiler.cxx) {
            compilers.push(compiler);
        } else {
            skip(&format!("{} with {} is missing", compiler.c, compiler.cxx))?;
        }
    }
    if compilers.is_empty() || !is_there("pkg-config") {
        return skip("gcc with g++, or pkg-config, is missing");
    }
    let folder = Scratch::new("c-library")?;
    let prefix = folder.0.join("prefix");
    install(&Place::in_folder(&prefix))?;
    let c = Installed { prefix: &prefix };
    c.check_symbols()?;
    let programs = programs()?;
    let mut builds = Vec::new();
    for compiler in &compilers {
        for (how, words) in BUILDS {
            if how == SANITIZED && !compiler.can_link(words, &folder.0)? {
                skip(&format!("the sanitizers of {} are missing", compiler.c))?;
            } else {
                builds.push((compiler, how, words));
            }
        }
    }
    for compiler in &compilers {
        c.check_header(compiler, &folder.0)?;
        c.run_fully_static(compiler, &folder.0)?;
    }
    for source in &programs {
        for &(compiler, how, words) in &builds {
            let program = folder.0.join("program");
            c.compile(compiler, source, &program, how, words)?;
            let mut command = Command::new(&program);
            c.run(&mut command)
                .with_context(|| format!("{} {how}", compiler.c))?;
        }
        c.run_in_valgrind(source, &folder.0.join("program"))?;
    }
    c.run_with_cmake(&folder.0.join("cmake"))
}

/// Installs the library, compiles one program of the crate with the static library, and passes it to `run`.
pub fn with_program(source: &str, run: impl FnOnce(&PathBuf) -> Result<()>) -> Result<()> {
    let folder = Scratch::new("c-library")?;
    let prefix = folder.0.join("prefix");
    install(&Place::in_folder(&prefix))?;
    let program = folder.0.join("program");
    let source = root().join(CRATE).join(source);
    let installed = Installed { prefix: &prefix };
    installed.compile(&COMPILERS[0], &source, &program, "static", &["-O2"])?;
    run(&program)
}

/// A compiler of C and its twin for C++.
struct Compiler {
    c: &'static str,
    cxx: &'static str,
}

const COMPILERS: [Compiler; 2] = [
    Compiler {
        c: "gcc",
        cxx: "g++",
    },
    Compiler {
        c: "clang",
        cxx: "clang++",
    },
];

impl Compiler {
    /// Whether an empty program can be linked in this way. The libraries of the sanitizers, and static ones of the system,
    /// may be a package of their own.
    fn can_link(&self, words: &[&str], folder: &Path) -> Result<bool> {
        let source = folder.join("empty.c");
        fs::write(&source, "int main(void) { return 0; }\n")
            .with_context(|| format!("cannot write '{}'", source.display()))?;
        let mut command = Command::new(self.c);
        command.args(words).arg(&source);
        Ok(works(command.arg("-o").arg(folder.join("empty"))))
    }
}

const SANITIZED: &str = "sanitized";

/// How a program is linked, and the words for the compiler.
const BUILDS: [(&str, &[&str]); 3] = [
    ("shared", &["-O2"]),
    ("static", &["-O2"]),
    (
        SANITIZED,
        &[
            "-O1",
            "-g",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
        ],
    ),
];

/// An installation.
struct Installed<'a> {
    prefix: &'a Path,
}

impl Installed<'_> {
    fn lib(&self) -> PathBuf {
        self.prefix.join("lib")
    }

    /// The shared library exports what the header declares, each with its version, and nothing else.
    fn check_symbols(&self) -> Result<()> {
        let library = self.lib().join("libvectored.so");
        let listed = answer(
            Command::new("nm")
                .args(["-D", "--defined-only"])
                .arg(&library),
        )?;
        let exported: BTreeSet<&str> = listed
            .lines()
            .filter_map(|line| line.split(' ').next_back())
            .filter(|name| *name != "VECTORED_0.1")
            .collect();
        let header = fs::read_to_string(self.prefix.join("include/vectored.h"))?;
        let declared: Vec<String> = declared(&header)
            .map(|name| format!("{name}@@VECTORED_0.1"))
            .collect();
        let declared: BTreeSet<&str> = declared.iter().map(String::as_str).collect();
        ensure!(
            exported == declared,
            "the shared library does not export what the header declares: {:?}",
            exported.symmetric_difference(&declared)
        );
        let dynamic = answer(Command::new("readelf").arg("-d").arg(&library))?;
        ensure!(
            dynamic.contains("[libvectored.so.1]"),
            "the shared library has another soname than libvectored.so.1: {dynamic}"
        );
        println!("   {} functions are exported", exported.len());
        Ok(())
    }

    /// The header alone, included twice, is what it says to be: C99 and C++11.
    fn check_header(&self, compiler: &Compiler, folder: &Path) -> Result<()> {
        for (name, standard, language) in [
            (compiler.c, "-std=c99", "c"),
            (compiler.cxx, "-std=c++11", "c++"),
        ] {
            let source = folder.join("header.txt");
            fs::write(&source, "#include <vectored.h>\n".repeat(2))
                .with_context(|| format!("cannot write '{}'", source.display()))?;
            let mut command = Command::new(name);
            command
                .args(WARNINGS)
                .args([
                    "-pedantic-errors",
                    "-fsyntax-only",
                    standard,
                    "-x",
                    language,
                ])
                .args(
                    self.pkg_config(false)?
                        .iter()
                        .filter(|word| word.starts_with("-I")),
                )
                .arg(&source);
            answer(&mut command)?;
        }
        Ok(())
    }

    /// An example without any shared library, compiled by the words of pkg-config alone.
    fn run_fully_static(&self, compiler: &Compiler, folder: &Path) -> Result<()> {
        if !compiler.can_link(&["-static"], folder)? {
            return skip(&format!(
                "the static libraries for {} are missing",
                compiler.c
            ));
        }
        let program = folder.join("fully-static");
        let mut command = Command::new(compiler.c);
        command
            .arg("-static")
            .arg(root().join(CRATE).join("examples/write_list.c"))
            .arg("-o")
            .arg(&program)
            .args(self.pkg_config(true)?);
        answer(&mut command)?;
        self.run(&mut Command::new(&program))
    }

    fn pkg_config(&self, is_static: bool) -> Result<Vec<String>> {
        let mut command = Command::new("pkg-config");
        command.env("PKG_CONFIG_PATH", self.lib().join("pkgconfig"));
        if is_static {
            command.arg("--static");
        }
        let words = answer(command.args(["--cflags", "--libs", "vectored"]))?;
        Ok(words.split_whitespace().map(str::to_owned).collect())
    }

    fn compile(
        &self,
        compiler: &Compiler,
        source: &Path,
        program: &Path,
        how: &str,
        words: &[&str],
    ) -> Result<()> {
        let is_cpp = source.extension().is_some_and(|end| end == "cpp");
        let (name, standard) =
            if is_cpp { (compiler.cxx, "-std=c++17") } else { (compiler.c, "-std=c11") };
        let is_static = how != "shared";
        let mut command = Command::new(name);
        command
            .args(WARNINGS)
            .arg(standard)
            .args(words)
            .arg(source)
            .arg("-o")
            .arg(program);
        for word in self.pkg_config(is_static)? {
            // `-static` would also link the C library statically.
            match (is_static, &*word) {
                (true, "-lvectored") => command.arg("-l:libvectored.a"),
                (_, word) => command.arg(word),
            };
        }
        answer(command.arg("-lpthread"))?;
        Ok(())
    }

    /// Runs a program, which finds the shared library.
    fn run(&self, command: &mut Command) -> Result<()> {
        answer(command.env("LD_LIBRARY_PATH", self.lib())).map(drop)
    }

    /// Runs a program under memcheck, with the shared library.
    fn run_in_valgrind(&self, source: &Path, program: &Path) -> Result<()> {
        let name = source.file_name().unwrap_or_default().to_string_lossy();
        println!("   {name}: compiled and run");
        if !is_there("valgrind") {
            return skip("valgrind is missing");
        }
        self.compile(&COMPILERS[0], source, program, "shared", &["-O1", "-g"])?;
        let mut command = Command::new("valgrind");
        command
            .args(["--quiet", "--leak-check=full", VALGRIND_ERROR])
            .args(["--trace-children=no", "--fair-sched=yes"])
            .arg(program)
            .env("RUNS_UNDER_MEMCHECK", "1");
        self.run(&mut command)
    }

    /// Builds a project that finds the package by CMake, and runs its programs.
    fn run_with_cmake(&self, build: &Path) -> Result<()> {
        if !is_there("cmake") {
            return skip("cmake is missing");
        }
        let program = root().join(CRATE).join("examples/write_list.c");
        let mut configure = Command::new("cmake");
        configure
            .arg("-S")
            .arg(root().join(CRATE).join("tests/cmake"))
            .arg("-B")
            .arg(build)
            .arg(format!("-DCMAKE_PREFIX_PATH={}", self.prefix.display()))
            .arg(format!("-DPROGRAM={}", program.display()));
        answer(&mut configure)?;
        answer(Command::new("cmake").arg("--build").arg(build))?;
        for name in ["with_vectored", "with_vectored_static"] {
            self.run(&mut Command::new(build.join(name)))?;
        }
        println!("   a project of CMake: built and run");
        Ok(())
    }
}

/// The functions of the header.
fn declared(header: &str) -> impl Iterator<Item = &str> {
    let lines = header
        .lines()
        .filter(|line| !line.starts_with([' ', '#', '/']) && !line.starts_with("typedef"));
    lines.filter_map(|line| {
        let before = line.split('(').next()?;
        let name = before.rsplit([' ', '*']).next()?;
        (line.contains('(') && name.starts_with("vectored_")).then_some(name)
    })
}

/// The programs of C and C++: the examples and the tests.
fn programs() -> Result<Vec<PathBuf>> {
    let mut programs = Vec::new();
    for folder in ["examples", "tests/c"] {
        let folder = root().join(CRATE).join(folder);
        let cannot = || format!("cannot list '{}'", folder.display());
        for entry in fs::read_dir(&folder).with_context(cannot)? {
            let path = entry.with_context(cannot)?.path();
            if path
                .extension()
                .is_some_and(|end| end == "c" || end == "cpp")
            {
                programs.push(path);
            }
        }
    }
    programs.sort();
    Ok(programs)
}

fn is_there(program: &str) -> bool {
    works(Command::new(program).arg("--version"))
}

fn skip(reason: &str) -> Result<()> {
    skips::skip("test-c", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_of_a_header_are_found() {
        let header = "/**\n * vectored_no(1)\n */\ntypedef void (*vectored_release)(void *context);\n\
             int vectored_one(void);\nstruct vectored_g *vectored_two(int a,\n    int b);\n#define vectored_no(x)";
        let names: Vec<&str> = declared(header).collect();
        assert_eq!(names, ["vectored_one", "vectored_two"]);
    }
}
