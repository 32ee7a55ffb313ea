//! `cargo xtask deb`: packages for Debian, and their installation in a clean root.

mod clean_root;
mod library;
mod package;
mod program;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::commands::is_on_path;
use crate::root;
use crate::skips::skip;

#[derive(clap::Args)]
pub struct Options {
    /// Where the packages go
    #[arg(long, default_value = "target/debian")]
    pub output: PathBuf,
    /// Installs, uses and removes them in a clean Debian, which needs root, debootstrap and a mirror: a minute
    #[arg(long)]
    pub try_out: bool,
}

/// Builds the packages and prints their paths; false if one of them is not as it should be.
pub fn run(options: &Options) -> Result<bool> {
    for (program, package) in [("dpkg-deb", "dpkg"), ("dpkg-shlibdeps", "dpkg-dev")] {
        if !is_on_path(program) {
            skip(
                "deb",
                &format!("{program} is missing; on Debian: apt-get install {package}"),
            )?;
            return Ok(true);
        }
    }
    let output = root().join(&options.output);
    fs::create_dir_all(&output)
        .with_context(|| format!("cannot make the directory '{}'", output.display()))?;
    let [runtime, development] = library::build(&output)?;
    let packages = [program::build(&output)?, runtime, development];
    let mut is_well = true;
    for package in &packages {
        println!("{}", package.display());
        is_well &= package::check(package)?;
    }
    if options.try_out {
        is_well &= clean_root::try_out(&packages)?;
    }
    Ok(is_well)
}
