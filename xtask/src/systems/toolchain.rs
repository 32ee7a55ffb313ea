//! The standard library of a system: the installed one, or one that can be had.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::commands::{answer, cargo, is_on_path, run};
use crate::setup::install_packages;
use crate::systems::table::System;

/// Where the standard library of a system comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Std {
    /// The toolchain has it, ready to link.
    Installed,
    /// It is checked together with the project, from Debian's copy of its source. Nothing can be linked to it.
    FromSource(Debian),
}

/// Debian's newest compiler, with the source of the standard library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Debian {
    rustc: PathBuf,
    cargo: PathBuf,
}

/// Debian's packages of [`Debian`].
const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// The standard library of this system. The error says why there is none.
pub fn provide(system: &System) -> Result<Std> {
    if is_installed(system) {
        return Ok(Std::Installed);
    }
    let mut why = "there is no rustup".to_owned();
    if is_on_path("rustup") {
        let mut add = Command::new("rustup");
        add.args(["target", "add", system.name]);
        match run(&mut add) {
            Ok(()) if is_installed(system) => return Ok(Std::Installed),
            Ok(()) => why = "rustup added it to another toolchain".to_owned(),
            Err(error) => why = format!("{error:#}"),
        }
    }
    match debian() {
        Ok(debian) => Ok(Std::FromSource(debian)),
        Err(error) => bail!("no standard library: {why}; {error:#}"),
    }
}

/// Whether the toolchain that builds this project has the library.
fn is_installed(system: &System) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["--print", "target-libdir", "--target", system.name]);
    answer(&mut command).is_ok_and(|folder| Path::new(folder.trim_end()).exists())
}

/// Debian's compiler, which is installed if it is missing.
fn debian() -> Result<Debian> {
    let found = Debian {
        rustc: "/usr/bin/rustc".into(),
        cargo: "/usr/bin/cargo".into(),
    };
    let is_there = || found.rustc.exists() && found.cargo.exists() && found.source().is_some();
    if !is_there() {
        install_packages(&DEBIAN_PACKAGES)?;
    }
    ensure!(
        is_there(),
        "Debian's rustc has no source of the standard library"
    );
    Ok(found)
}

impl Debian {
    /// The source of its standard library.
    fn source(&self) -> Option<PathBuf> {
        let sysroot = answer(Command::new(&self.rustc).args(["--print", "sysroot"])).ok()?;
        let source = Path::new(sysroot.trim_end()).join("lib/rustlib/src/rust/library");
        source.join("std/Cargo.toml").exists().then_some(source)
    }
}

impl Std {
    /// The cargo that builds with this standard library.
    pub fn cargo(&self) -> Command {
        match self {
            Std::Installed => cargo(),
            Std::FromSource(debian) => {
                let mut command = Command::new(&debian.cargo);
                command.env("RUSTC", &debian.rustc);
                // `-Zbuild-std` in a stable cargo.
                command.env("RUSTC_BOOTSTRAP", "1");
                // Those of the cargo that runs this program, which name its toolchain.
                command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
                command
            }
        }
    }

    /// The words behind `cargo check`.
    pub fn words(&self) -> &'static [&'static str] {
        match self {
            Std::Installed => &[],
            Std::FromSource(_) => &["-Zbuild-std=std,panic_abort"],
        }
    }
}
