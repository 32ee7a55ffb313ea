//! One system: what is checked, linked and run.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::commands::{answer, cargo, is_on_path, run};
use crate::root;
use crate::skips::skip;
use crate::systems::table::{Linker, Runner, System};
use crate::systems::toolchain::{self, Std};
use crate::systems::zig;
use crate::wine;

/// The build folder of all systems, which share the procedural macros in it.
pub const FOLDER: &str = "target/systems";

/// The library, and the suite that tests it.
const LIBRARY: [&str; 4] = [
    "--package=vectored",
    "--package=vectored-conformance",
    "--all-features",
    "--tests",
];

const TESTS: &str = "the tests of the library and its conformance suite";

/// The library as a shared one, in which all of its public functions are linked.
const SHARED_LIBRARY: [&str; 5] = [
    "rustc",
    "--package=vectored",
    "--lib",
    "--all-features",
    "--crate-type=dylib",
];

/// The command line tool.
const TOOL: [&str; 2] = ["--package=vectored-cli", "--bin=vectored"];

/// Faster builds: the programs run for seconds, and the code that measures is not measured. What else the tests run most is
/// optimised a little by the profile of the workspace, as an emulator is slow.
pub const PROFILE: [&str; 3] = [
    "--config=profile.dev.package.vectored-advise.opt-level=0",
    "--config=profile.dev.package.vectored-measure.opt-level=0",
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
pub fn build(system: &System, scope: Scope) -> Result<()> {
    let work = Work { system, scope };
    match toolchain::provide(system) {
        Ok(std) => work.with_std(&std),
        Err(why) => work.skip("nothing was checked", &format!("{why:#}")),
    }
}

struct Work<'a> {
    system: &'a System,
    scope: Scope,
}

impl Work<'_> {
    fn with_std(&self, std: &Std) -> Result<()> {
        let Std::Installed = std else {
            return self.check_and_skip(std, "there is no compiled standard library");
        };
        match self.system.linker {
            Linker::Zig => match zig::provide() {
                Ok(zig) => self.link_by(&zig),
                Err(why) => self.check_and_skip(std, &format!("{why:#}")),
            },
            Linker::Gcc { name, .. } if !is_on_path(name) => {
                self.check_and_skip(std, &format!("there is no {name}: cargo xtask setup"))
            }
            Linker::Gcc { .. } if self.system.runner == Runner::Wine => self.under_wine(std),
            Linker::Gcc { .. } => self.test(),
            Linker::Native => self.static_tool(),
        }
    }

    fn check_and_skip(&self, std: &Std, why: &str) -> Result<()> {
        self.check(std)?;
        self.skip("nothing was linked", why)
    }

    /// Type-checks the library and the tool.
    fn check(&self, std: &Std) -> Result<()> {
        let (words, what) = (&TOOL[..], "the library and the tool");
        let mut command = std.cargo();
        command.arg("check").args(std.words()).args(words);
        run(self.for_system(&mut command))?;
        self.did("type-checked", what);
        Ok(())
    }

    /// Links the tool and the library, and if everything is wanted the tests of the library.
    fn link_by(&self, zig: &Path) -> Result<()> {
        let tool = [&["zigbuild"][..], &TOOL, &PROFILE].concat();
        let tests = [&["zigbuild"][..], &LIBRARY, &PROFILE].concat();
        let mut links = vec![(tool, "the tool"), (SHARED_LIBRARY.to_vec(), "the library")];
        if self.scope == Scope::All {
            links.push((tests, TESTS));
        }
        for (words, what) in links {
            let mut command = Command::new(zig);
            command.args(words);
            zig::keep_cache(&mut command);
            run(self.for_system(&mut command))?;
            self.did("linked", what);
        }
        self.skip(
            "nothing was run",
            "nothing here runs programs of this system",
        )
    }

    /// Runs the tests of the library.
    fn test(&self) -> Result<()> {
        let mut command = cargo();
        let how = match self.system.runner {
            Runner::Qemu(qemu) if !is_on_path(qemu) => {
                let why = format!("there is no {qemu}: cargo xtask setup");
                self.skip("nothing was run", &why)?;
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
        run(&mut command)?;
        self.did(how.unwrap_or("linked"), TESTS);
        if self.scope == Scope::Minutes && is_emulated && how.is_some() {
            let tests = SLOW_IN_AN_EMULATOR.join(", ");
            self.skip(&tests, "left to cargo xtask systems --all")?;
        }
        if self.scope == Scope::All {
            self.check(&Std::Installed)?;
        }
        Ok(())
    }

    /// Runs the tests for Windows and the tool.
    fn under_wine(&self, std: &Std) -> Result<()> {
        if !is_on_path("wine") {
            self.check(std)?;
            return self.skip("nothing was run", "there is no wine: cargo xtask setup");
        }
        wine::run()?;
        self.did("ran under Wine", "the tests and the tool");
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
    fn static_tool(&self) -> Result<()> {
        let mut command = cargo();
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
        run(self.for_system(&mut command))?;
        let folder = root().join(FOLDER).join(self.system.name).join(folder);
        let tool = folder.join("vectored");
        let headers = answer(Command::new("readelf").arg("--program-headers").arg(&tool))?;
        let shown = tool.display();
        // The entry that names the loader.
        let is_static = headers.contains("LOAD") && !headers.contains("INTERP");
        ensure!(is_static, "'{shown}' is not static: {headers}");
        let measure = "measure --target pipe --segments 4 --sizes 64 --budget 1s --no-save";
        for line in ["--version", "host", measure] {
            run(Command::new(&tool).args(line.split(' ')))?;
        }
        self.did("linked", &format!("the tool, static: {shown}"));
        self.did("ran", "the tool: --version, host, measure");
        Ok(())
    }

    /// A cargo command for this system, in its folder.
    fn for_system<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.args(["--locked", "--target", self.system.name]);
        in_folder(command)
    }

    fn did(&self, how: &str, what: &str) {
        println!("   {}: {how}: {what}", self.system.name);
    }

    fn skip(&self, what: &str, why: &str) -> Result<()> {
        skip(&format!("{}: {what}", self.system.name), why)
    }
}

/// Has cargo build in the folder of all systems.
pub fn in_folder(command: &mut Command) -> &mut Command {
    command.env("CARGO_TARGET_DIR", root().join(FOLDER));
    // Less to write: nothing here is debugged, and nothing is built twice.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    command.env("CARGO_INCREMENTAL", "0")
}
