//! One system: what is checked, linked and run.

use std::path::Path;
use std::process::Command;

use crate::packages::NOT_INCREMENTAL;
use crate::root;
use crate::setup::is_on_path;
use crate::skips::SKIPS;
use crate::steps::Output;
use crate::systems::elf;
use crate::systems::table::{Linker, Runner, System};
use crate::systems::toolchain::{self, Std};
use crate::systems::{Fact, zig};

/// The library, and the suite that tests it.
const LIBRARY: [&str; 4] = [
    "--package=vectored",
    "--package=vectored-conformance",
    "--all-features",
    "--tests",
];

const TESTS: &str = "the tests of the library and its conformance suite";

/// The command line tool.
const TOOL: [&str; 2] = ["--package=vectored-cli", "--bin=vectored"];

/// Faster builds: the programs run for seconds, and the code of the lab is not measured. What else the tests run most is
/// optimised a little by the profile of the workspace, as an emulator is slow.
pub const PROFILE: [&str; 2] = [
    "--config=profile.dev.package.vectored-lab.opt-level=0",
    "--config=profile.dev.package.vectored-strace.opt-level=0",
];

/// Parts of the names of tests of the conformance suite, of writes and of reads, that an emulator needs minutes for. They
/// test where a list is cut at the limits of a call. The order of bytes does not matter there, and i686 runs them with
/// another width of pointers.
const SLOW_IN_AN_EMULATOR: [&str; 4] = [
    "lists::counts_around_iov_max",
    "lists::empties_leading_trailing_between_and_alone",
    "lists::pieces_of_one_buffer_arrive_everywhere",
    "lists::segments_that_share_memory_arrive",
];

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// What takes a few minutes: few cases of each property.
    Minutes,
    /// Everything.
    All,
}

/// Does all that can be done for a system. The error is that of a compiler, a linker or a test.
pub fn build(
    system: &System,
    scope: Scope,
    output: &Output,
    skips: &Path,
) -> Result<Vec<Fact>, String> {
    let mut work = Work {
        system,
        scope,
        output,
        skips,
        facts: Vec::new(),
    };
    match toolchain::provide(system, output) {
        Ok(std) => work.with_std(&std)?,
        Err(why) => work.skip("nothing was checked", &why),
    }
    Ok(work.facts)
}

struct Work<'a> {
    system: &'a System,
    scope: Scope,
    output: &'a Output,
    skips: &'a Path,
    facts: Vec<Fact>,
}

impl Work<'_> {
    fn with_std(&mut self, std: &Std) -> Result<(), String> {
        let Std::Installed = std else {
            self.check(std)?;
            self.skip(
                "nothing was linked",
                "there is no compiled standard library",
            );
            return Ok(());
        };
        match self.system.linker {
            Linker::Zig => match zig::provide(self.output) {
                Ok(zig) => self.link_by(&zig),
                Err(why) => self.check_and_skip(std, &why),
            },
            Linker::Gcc { name, .. } if !is_on_path(name) => {
                self.check_and_skip(std, &format!("there is no {name}: cargo xtask setup"))
            }
            Linker::Gcc { .. } if self.system.runner == Runner::Wine => self.under_wine(std),
            Linker::Gcc { .. } => self.test(),
            Linker::Native => self.static_tool(),
        }
    }

    fn check_and_skip(&mut self, std: &Std, why: &str) -> Result<(), String> {
        self.check(std)?;
        self.skip("nothing was linked", why);
        Ok(())
    }

    /// Type-checks the library and the tool.
    fn check(&mut self, std: &Std) -> Result<(), String> {
        let (words, what) = (&TOOL[..], "the library and the tool");
        let mut command = std.cargo();
        command.arg("check").args(std.words()).args(words);
        self.output.run(self.for_system(&mut command))?;
        self.did("type-checked", what);
        Ok(())
    }

    /// Links the tool and the tests of the library.
    fn link_by(&mut self, zig: &Path) -> Result<(), String> {
        let tests = (&LIBRARY[..], TESTS);
        let tests = (self.scope == Scope::All).then_some(tests);
        for (words, what) in [(&TOOL[..], "the tool")].into_iter().chain(tests) {
            let mut command = Command::new(zig);
            command.arg("zigbuild").args(words).args(PROFILE);
            zig::keep_cache(&mut command);
            self.output.run(self.for_system(&mut command))?;
            self.did("linked", what);
        }
        self.skip(
            "nothing was run",
            "nothing here runs programs of this system",
        );
        Ok(())
    }

    /// Runs the tests of the library.
    fn test(&mut self) -> Result<(), String> {
        let mut command = crate::packages::cargo();
        let how = match self.system.runner {
            Runner::Qemu(qemu) if !is_on_path(qemu) => {
                self.skip(
                    "nothing was run",
                    &format!("there is no {qemu}: cargo xtask setup"),
                );
                None
            }
            Runner::Qemu(_) => Some("ran under qemu"),
            _ => Some("ran"),
        };
        // All of them run, also if one fails.
        command
            .args(["test", "--no-fail-fast"])
            .args(LIBRARY)
            .args(PROFILE);
        self.link_with_gcc(&mut command);
        if how.is_none() {
            command.arg("--no-run");
        }
        self.for_system(&mut command);
        let is_emulated = matches!(self.system.runner, Runner::Qemu(_));
        if self.scope == Scope::Minutes {
            command.env("PROPTEST_CASES", "16");
            if is_emulated {
                let skip = |name| ["--skip", name];
                command
                    .arg("--")
                    .args(SLOW_IN_AN_EMULATOR.into_iter().flat_map(skip));
            }
        }
        self.output.run(command.env(SKIPS, self.skips))?;
        self.did(how.unwrap_or("linked"), TESTS);
        if self.scope == Scope::Minutes && is_emulated && how.is_some() {
            let tests = SLOW_IN_AN_EMULATOR.join(", ");
            self.skip(&tests, "left to cargo xtask systems --all");
        }
        if self.scope == Scope::All {
            self.check(&Std::Installed)?;
        }
        Ok(())
    }

    /// Runs the tests for Windows, by the command of this program for them.
    fn under_wine(&mut self, std: &Std) -> Result<(), String> {
        if !is_on_path("wine") {
            self.check(std)?;
            self.skip("nothing was run", "there is no wine: cargo xtask setup");
            return Ok(());
        }
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut tests = Command::new(this);
        tests.arg("wine-tests").env(SKIPS, self.skips);
        self.output.run(self.in_folder(&mut tests))?;
        self.did("ran under Wine", "what cargo xtask wine-tests runs");
        Ok(())
    }

    /// Has cargo link with the C compiler for the system, and run its programs.
    fn link_with_gcc(&self, command: &mut Command) {
        let Linker::Gcc { name, libraries } = self.system.linker else {
            return;
        };
        command.env(self.system.variable("LINKER"), name);
        if let Runner::Qemu(qemu) = self.system.runner {
            command.env(self.system.variable("RUNNER"), qemu);
            command.env("QEMU_LD_PREFIX", libraries);
            // For the tests that start a program of the system.
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
            command.env(self.system.variable("RUSTFLAGS"), flags);
        }
    }

    /// Builds the tool as one file that needs no other, and runs it: in minutes without the optimiser.
    fn static_tool(&mut self) -> Result<(), String> {
        let mut command = crate::packages::cargo();
        let folder = match self.scope {
            Scope::Minutes => {
                command.arg("build").args(TOOL).args(PROFILE);
                "debug"
            }
            Scope::All => {
                command.args(["build", "--release"]).args(TOOL);
                "release"
            }
        };
        self.output.run(self.for_system(&mut command))?;
        let folder = root()
            .join(self.system.folder())
            .join(self.system.name)
            .join(folder);
        let tool = folder.join("vectored");
        let shown = tool.display();
        let file =
            std::fs::read(&tool).map_err(|error| format!("cannot read '{shown}': {error}"))?;
        match elf::loader(&file) {
            Ok(None) => {}
            Ok(Some(loader)) => return Err(format!("'{shown}' is not static: {loader} loads it")),
            Err(why) => return Err(format!("'{shown}' {why}")),
        }
        let measure = "measure --target pipe --segments 4 --sizes 64 --budget 1s --no-save";
        for line in ["--version", "host", measure] {
            let mut run = Command::new(&tool);
            self.output.run(run.args(line.split(' ')))?;
        }
        self.did(
            "linked",
            &format!("the tool, static, {} bytes: {shown}", file.len()),
        );
        self.did("ran", "the tool: --version, host, measure");
        Ok(())
    }

    /// A cargo command for this system, in its folder.
    fn for_system<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.args(["--locked", "--target", self.system.name]);
        self.in_folder(command)
    }

    /// Has cargo build in the folder of the system.
    fn in_folder<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("CARGO_TARGET_DIR", root().join(self.system.folder()));
        // Less to write: nothing here is debugged, and nothing is built twice.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.envs(NOT_INCREMENTAL)
    }

    fn did(&mut self, how: &str, what: &str) {
        self.facts.push(Fact::Done(format!("{how}: {what}")));
    }

    fn skip(&mut self, what: &str, why: &str) {
        self.facts.push(Fact::Skipped(format!("{what}: {why}")));
    }
}
