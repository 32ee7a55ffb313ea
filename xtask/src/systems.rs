//! `cargo xtask systems`: builds the project for other systems, and runs there what can be run here.
//!
//! Each system is a step. What could not be done for a system is a skip with its reason. An error of the compiler or the
//! linker, or a test that fails, is a failure.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::commands::{answer, cargo, is_on_path, run as run_command, script, works};
use crate::root;
use crate::skips::{missing, skip};
use crate::steps::Report;

/// The systems, by their names for rustc, in the order in which they are built.
const SYSTEMS: [&str; 8] = [
    WINDOWS,
    NOT_TESTED,
    "aarch64-apple-darwin",
    "x86_64-unknown-freebsd",
    "aarch64-unknown-linux-gnu",
    "s390x-unknown-linux-gnu",
    "i686-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
];

/// The system that is left to `cargo xtask systems --all`.
const NOT_TESTED: &str = "x86_64-apple-darwin";

/// Wine shows that the calls of Windows and their results are right. It shows nothing about speed: its `WriteFileGather` makes
/// one `pwrite` a page.
pub const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// The build folder of all systems. The systems share its procedural macros.
const FOLDER: &str = "target/systems";

const LIBRARY: &str = "--package=vectored --package=vectored-conformance --all-features";

/// The library as a shared library, in which all its public functions are linked.
const SHARED_LIBRARY: &str = "rustc --package=vectored --lib --all-features --crate-type=dylib";

const TOOL: &str = "--package=vectored-cli --bin=vectored";

/// Options for faster builds. The programs run for seconds, and the speed of the measuring code does not matter. The profile of
/// the workspace slightly optimises the other code that tests run most, because an emulator is slow.
const PROFILE: &str = "--config=profile.dev.package.vectored-measure.opt-level=0 \
    --config=profile.dev.package.vectored-results.opt-level=0";

/// Parts of the names of tests of the conformance suite, for writes and for reads, that take minutes in an emulator. These
/// tests cut a list at the limits of a call. The byte order does not matter to these tests. The step for i686 runs them with
/// another width of pointers.
const SLOW_IN_AN_EMULATOR: [&str; 3] = [
    "everywhere::lists_around_iov_max",
    "lists::pieces_of_one_buffer_arrive_everywhere",
    "lists::segments_that_share_memory_arrive",
];

/// The systems of `cargo xtask test`.
pub fn tested() -> impl Iterator<Item = &'static str> {
    SYSTEMS.into_iter().filter(|name| *name != NOT_TESTED)
}

/// Runs the systems of `cargo xtask test`, all of them, or one; fails if one failed.
pub fn run(only: Option<&str>, all: bool) -> Result<()> {
    let wanted = |name: &&str| only.map_or(all || *name != NOT_TESTED, |only| only == *name);
    let systems: Vec<_> = SYSTEMS.into_iter().filter(wanted).collect();
    let known = SYSTEMS.join("\n  ");
    ensure!(
        !systems.is_empty(),
        "there is no such system; the systems are:\n  {known}"
    );
    let mut report = Report::start("cargo xtask systems")?;
    for system in systems {
        report.run(system, || build(system, all));
    }
    report.end()
}

/// Does for a system all that can be done or, without `all`, what takes a few minutes. The error is of a compiler, a
/// linker or a test.
pub fn build(name: &'static str, all: bool) -> Result<()> {
    let system = System { name, all };
    if let Err(why) = system.add_to_toolchain() {
        return missing(&format!("{name}: nothing was checked"), &format!("{why:#}"));
    }
    match name.rsplit('-').next() {
        Some("darwin" | "freebsd") => system.link_by_zig(),
        Some("musl") => system.static_tool(),
        _ if name == WINDOWS => system.under_wine(),
        _ => system.test(),
    }
}

struct System {
    name: &'static str,
    all: bool,
}

impl System {
    fn add_to_toolchain(&self) -> Result<()> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut command = Command::new(rustc);
        command.args(["--print", "target-libdir", "--target", self.name]);
        if PathBuf::from(answer(&mut command)?.trim_end()).exists() {
            return Ok(());
        }
        run_command(Command::new("rustup").args(["target", "add", self.name]))
    }

    /// A program with these words for this system. The output goes to the folder of all systems. Debug information and
    /// incremental builds are off: nothing is debugged, and nothing is built twice.
    fn command(&self, mut program: Command, words: &str) -> Command {
        program.args(words.split_whitespace());
        program.args(["--locked", "--target", self.name]);
        program.env("CARGO_TARGET_DIR", root().join(FOLDER));
        program.env("CARGO_PROFILE_DEV_DEBUG", "0");
        program.env("CARGO_INCREMENTAL", "0");
        program
    }

    fn built(&self, path: &str) -> PathBuf {
        root().join(FOLDER).join(self.name).join(path)
    }

    /// The variable `CARGO_TARGET_…_{KEY}` of cargo.
    fn variable(&self, key: &str) -> String {
        let name = self.name.replace('-', "_").to_uppercase();
        format!("CARGO_TARGET_{name}_{key}")
    }

    /// Type-checks the tool, and with it the library.
    fn check(&self) -> Result<()> {
        run_command(&mut self.command(cargo(), &format!("check {TOOL}")))?;
        Ok(())
    }

    fn check_and_skip(&self, what: &str, why: &str) -> Result<()> {
        self.check()?;
        missing(&format!("{}: {what}", self.name), why)
    }

    /// Links the tool and the library. With `all`, it also links the tests of the library.
    fn link_by_zig(&self) -> Result<()> {
        let zig = match provide_zig() {
            Ok(zig) => zig,
            Err(why) => return self.check_and_skip("nothing was linked", &format!("{why:#}")),
        };
        let tool = format!("zigbuild {TOOL} {PROFILE}");
        let tests = format!("zigbuild {LIBRARY} --tests {PROFILE}");
        let links = [&*tool, SHARED_LIBRARY, &tests];
        for words in &links[..if self.all { 3 } else { 2 }] {
            let mut command = self.command(Command::new(zig.join("bin/cargo-zigbuild")), words);
            // The caches stay beside zig, not in the home folder.
            command.env("ZIG_GLOBAL_CACHE_DIR", zig.join("cache"));
            command.env("CARGO_ZIGBUILD_CACHE_DIR", zig.join("wrappers"));
            // cargo-zigbuild finds `zig` through the Python of its environment.
            run_command(command.env("CARGO_ZIGBUILD_PYTHON_PATH", zig.join("bin/python3")))?;
        }
        let why = "nothing here runs programs of this system";
        skip(&format!("{}: nothing was run", self.name), why)
    }

    /// Runs the tests of the library. Debian's C compiler for the processor links the tests, and qemu runs the tests: qemu
    /// passes the system calls on to the kernel of this machine. This machine itself runs the tests for i686.
    fn test(&self) -> Result<()> {
        let processor = self.name.split('-').next().unwrap_or_default();
        let gcc = format!("{processor}-linux-gnu-gcc");
        let libraries = format!("/usr/{processor}-linux-gnu");
        let qemu = format!("qemu-{processor}");
        let is_emulated = processor != "i686";
        for program in [&gcc, &qemu] {
            if !is_on_path(program) && (is_emulated || *program == gcc) {
                let why = format!("there is no {program}: cargo xtask setup");
                return self.check_and_skip("nothing was run", &why);
            }
        }
        // All tests run, also if one fails.
        let words = format!("test --no-fail-fast {LIBRARY} --tests {PROFILE}");
        let mut command = self.command(cargo(), &words);
        command.env(self.variable("LINKER"), gcc);
        if is_emulated {
            command.env(self.variable("RUNNER"), &qemu);
            command.env("QEMU_LD_PREFIX", libraries);
            // Used by the tests that start a program of the system.
            command.env("VECTORED_RUNNER", qemu);
            // qemu allocates with GLib, whose own allocator keeps its locks across fork: a child hangs in g_slice_alloc if
            // another thread allocated at that moment (https://gitlab.com/qemu-project/qemu/-/issues/285).
            command.env("G_SLICE", "always-malloc");
        } else {
            // The loader lies beside the libraries, not where programs expect it.
            let flags = format!(
                "-Clink-arg=-Wl,--dynamic-linker={libraries}/lib/ld-linux.so.2 \
                 -Clink-arg=-Wl,-rpath,{libraries}/lib"
            );
            command.env(self.variable("RUSTFLAGS"), flags);
        }
        if !self.all {
            command.env("PROPTEST_CASES", "16");
            if is_emulated {
                command.arg("--");
                command.args(SLOW_IN_AN_EMULATOR.iter().flat_map(|name| ["--skip", name]));
            }
        }
        run_command(&mut command)?;
        if self.all {
            return self.check();
        }
        if !is_emulated {
            return Ok(());
        }
        let tests = format!("{}: {}", self.name, SLOW_IN_AN_EMULATOR.join(", "));
        skip(&tests, "left to cargo xtask systems --all")
    }

    /// Runs the library's tests, a part of the conformance suite, and the tool, also if a test fails.
    fn under_wine(&self) -> Result<()> {
        let linker = "x86_64-w64-mingw32-gcc";
        for program in [linker, "wine"] {
            if !is_on_path(program) {
                let why = format!("there is no {program}: cargo xtask setup");
                return self.check_and_skip("nothing was run", &why);
            }
        }
        let wine = Wine(root().join(FOLDER).join("wine"));
        let cargo_for_wine = |words: &str| {
            let mut command = self.command(cargo(), words);
            command.env(self.variable("LINKER"), linker);
            command.env(self.variable("RUNNER"), wine.command().get_program());
            command.env(WINE_FOLDER, &wine.0);
            command
        };
        // The tests that do not need Unix. One command, because two commands would build twice what both packages need.
        let tests = format!("test --no-fail-fast {LIBRARY} --lib --test it {PROFILE}");
        run_command(&mut cargo_for_wine(&format!("{tests} --no-run")))?;
        run_command(&mut cargo_for_wine(&format!("build {TOOL} {PROFILE}")))?;
        wine.begin(linker)?;
        let tests = run_command(&mut cargo_for_wine(&tests));
        let program = self.built("debug/vectored.exe");
        run_command(script("wine/tool.py").arg(program).arg(&wine.0))?;
        tests
    }

    /// Builds the tool as one file that needs no other, and runs it. Without the optimiser this takes minutes.
    fn static_tool(&self) -> Result<()> {
        let (words, profile) = if self.all { ("--release", "release") } else { (PROFILE, "debug") };
        run_command(&mut self.command(cargo(), &format!("build {TOOL} {words}")))?;
        let tool = self.built(&format!("{profile}/vectored"));
        let headers = answer(Command::new("readelf").arg("--program-headers").arg(&tool))?;
        // `INTERP` is the entry that names the loader.
        let is_static = headers.contains("LOAD") && !headers.contains("INTERP");
        ensure!(is_static, "'{}' is not static: {headers}", tool.display());
        let measure = "measure --target pipe --segments 4 --sizes 64 --budget 1s --no-save";
        for line in ["--version", "host", measure] {
            run_command(Command::new(&tool).args(line.split(' ')))?;
        }
        Ok(())
    }
}

/// The variable that tells `wine/run.sh` the folder of [`Wine`].
const WINE_FOLDER: &str = "VECTORED_WINE";

/// A folder with a new prefix of Wine, the DLL that Wine lacks, and one server for all programs. Dropping this value ends the
/// server.
///
/// Debian's server ends with its last program. A program that starts at that moment connects to the old server, which resets
/// the connection: the program ends with status 1 before it has begun.
struct Wine(PathBuf);

impl Wine {
    fn command(&self) -> Command {
        let mut command = script("wine/run.sh");
        command.env(WINE_FOLDER, &self.0);
        command
    }

    fn begin(&self, linker: &str) -> Result<()> {
        self.end();
        if self.0.exists() {
            fs::remove_dir_all(&self.0)?;
        }
        fs::create_dir_all(self.0.join("prefix"))?;
        let mut compile = Command::new(linker);
        let source = "xtask/wine/bcryptprimitives.c";
        compile.args(["-shared", "-O1", source, "-ladvapi32", "-o"]);
        run_command(compile.arg(self.0.join("bcryptprimitives.dll")))?;
        // If this step is killed, the server ends by itself ten minutes after its last program.
        run_command(self.command().args(["server", "--persistent=600"]))?;
        run_command(self.command().args(["wineboot", "--init"]))
            .context("cannot make a prefix of Wine")
    }

    /// Ends the server, also a server that a killed run left behind.
    fn end(&self) {
        if self.0.join("prefix").exists() {
            for option in ["--kill", "--wait"] {
                works(self.command().args(["server", option]));
            }
        }
    }
}

impl Drop for Wine {
    fn drop(&mut self) {
        self.end();
    }
}

/// The virtual environment with Zig's linker. The error says why it cannot be had.
fn provide_zig() -> Result<PathBuf> {
    let folder = root().join("target/tools");
    let mut provide = script("environment.py");
    run_command(provide.arg(&folder).arg("xtask/requirements/build.txt")).context("no Zig")?;
    Ok(folder)
}
