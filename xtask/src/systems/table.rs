//! The systems that the project is built for, beside the one it is built on.

/// What links the programs of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linker {
    /// The linker of this machine: rustc brings the C library.
    Native,
    /// A C compiler of Debian that makes programs for another processor or system.
    Gcc {
        /// The name of the compiler.
        name: &'static str,
        /// The folder of the C library that its programs load, as qemu and the loader know it.
        libraries: &'static str,
    },
    /// The C compiler of Zig, which has the C library of the system.
    Zig,
}

/// What runs the programs of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// The kernel of this machine.
    Native,
    /// An emulator of the processor, which passes the system calls on to the kernel of this machine.
    Qemu(&'static str),
    /// An implementation of Windows' functions.
    Wine,
    /// Nothing that could be had here.
    None,
}

/// A system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct System {
    /// Its name, as rustc knows it.
    pub name: &'static str,
    /// The linker of its programs.
    pub linker: Linker,
    /// The program that runs them.
    pub runner: Runner,
    /// Whether `cargo xtask test` has a step for it, and not `cargo xtask systems --all` alone.
    pub is_tested: bool,
}

/// All systems, in the order in which they are built.
pub const SYSTEMS: [System; 8] = [
    System {
        name: "x86_64-pc-windows-gnu",
        linker: Linker::Gcc {
            name: "x86_64-w64-mingw32-gcc",
            libraries: "",
        },
        runner: Runner::Wine,
        is_tested: true,
    },
    System {
        name: "x86_64-apple-darwin",
        linker: Linker::Zig,
        runner: Runner::None,
        is_tested: false,
    },
    System {
        name: "aarch64-apple-darwin",
        linker: Linker::Zig,
        runner: Runner::None,
        is_tested: true,
    },
    System {
        name: "x86_64-unknown-freebsd",
        linker: Linker::Zig,
        runner: Runner::None,
        is_tested: true,
    },
    System {
        name: "aarch64-unknown-linux-gnu",
        linker: Linker::Gcc {
            name: "aarch64-linux-gnu-gcc",
            libraries: "/usr/aarch64-linux-gnu",
        },
        runner: Runner::Qemu("qemu-aarch64"),
        is_tested: true,
    },
    System {
        name: "s390x-unknown-linux-gnu",
        linker: Linker::Gcc {
            name: "s390x-linux-gnu-gcc",
            libraries: "/usr/s390x-linux-gnu",
        },
        runner: Runner::Qemu("qemu-s390x"),
        is_tested: true,
    },
    System {
        name: "i686-unknown-linux-gnu",
        linker: Linker::Gcc {
            name: "i686-linux-gnu-gcc",
            libraries: "/usr/i686-linux-gnu",
        },
        runner: Runner::Native,
        is_tested: true,
    },
    System {
        name: "x86_64-unknown-linux-musl",
        linker: Linker::Native,
        runner: Runner::Native,
        is_tested: true,
    },
];

impl System {
    /// The variable `CARGO_TARGET_…_{KEY}` of cargo.
    pub fn variable(&self, key: &str) -> String {
        let name = self.name.replace('-', "_").to_uppercase();
        format!("CARGO_TARGET_{name}_{key}")
    }
}
