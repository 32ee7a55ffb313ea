//! `cargo xtask install-c`: the header, the static and the shared library, and what pkg-config and CMake need.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::options::Place;
use crate::commands::answer;
use crate::packages::metadata;
use crate::programs::files_of;
use crate::root;

const CRATE: &str = "crates/vectored-capi";

/// The number in the soname. It grows with each release in which a program that was linked with an older one may fail.
const ABI: &str = "1";

/// The version of the file: of the ABI, and what was added and mended since.
const FILE_VERSION: &str = "1.0.0";

/// The libraries that the static library needs: what `rustc --print native-static-libs` prints, but for libc, and for
/// `-lgcc_s`. Compilers of C link that themselves, and its static twin with `-static`.
const SYSTEM_LIBRARIES: [&str; 5] = ["-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

/// Builds the library and installs it.
pub fn install(place: &Place) -> Result<()> {
    let archive = build()?;
    let root = place.root();
    let lib = root.join(&place.libdir);
    let include = root.join("include");
    for folder in [
        &include,
        &lib.join("pkgconfig"),
        &lib.join("cmake/vectored"),
    ] {
        let cannot = || format!("cannot make the folder '{}'", folder.display());
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    let header = crate::root().join(CRATE).join("include/vectored.h");
    copy(&header, &include.join("vectored.h"))?;
    copy(&archive, &lib.join("libvectored.a"))?;

    let file = format!("libvectored.so.{FILE_VERSION}");
    link(&archive, &lib.join(&file))?;
    let soname = format!("libvectored.so.{ABI}");
    link_to(&file, &lib.join(&soname))?;
    link_to(&soname, &lib.join("libvectored.so"))?;

    let fill = Fill::of(place)?;
    for (template, to) in [
        ("vectored.pc", "pkgconfig/vectored.pc"),
        (
            "vectored-config.cmake",
            "cmake/vectored/vectored-config.cmake",
        ),
        (
            "vectored-config-version.cmake",
            "cmake/vectored/vectored-config-version.cmake",
        ),
    ] {
        fill.write(template, &lib.join(to))?;
    }
    println!("   installed the C library in '{}'", root.display());
    Ok(())
}

/// The static library, optimised.
fn build() -> Result<PathBuf> {
    let words = "build --release --package vectored-capi --lib --locked";
    let files = files_of("vectored_capi", words)?;
    let mut archives = files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "a"));
    archives
        .next()
        .context("cargo built no static library of vectored-capi")
}

/// Links the shared library from the static one: cargo makes none with a soname and versions of symbols.
fn link(archive: &Path, to: &Path) -> Result<()> {
    let script = root().join(CRATE).join("packaging/vectored.map");
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler
        .args([
            "-shared",
            "-Wl,--gc-sections",
            "-Wl,-z,relro,-z,now,-z,defs",
        ])
        .arg(format!("-Wl,-soname,libvectored.so.{ABI}"))
        .arg(format!("-Wl,--version-script={}", script.display()))
        .args(["-Wl,--whole-archive".as_ref(), archive.as_os_str()])
        .args(["-Wl,--no-whole-archive", "-Wl,--strip-all"])
        .args(SYSTEM_LIBRARIES)
        .arg("-o")
        .arg(to);
    answer(&mut compiler)?;
    set_mode(to, 0o644)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let cannot = || format!("cannot copy '{}' to '{}'", from.display(), to.display());
    fs::copy(from, to).with_context(cannot)?;
    set_mode(to, 0o644)
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    let mode = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, mode)
        .with_context(|| format!("cannot set the mode of '{}'", path.display()))
}

/// Makes or replaces a link to a name in the same folder.
fn link_to(name: &str, link: &Path) -> Result<()> {
    let cannot = || format!("cannot make the link '{}'", link.display());
    if link.symlink_metadata().is_ok() {
        fs::remove_file(link).with_context(cannot)?;
    }
    symlink(name, link).with_context(cannot)
}

/// The values of templates.
struct Fill(Vec<(&'static str, String)>);

impl Fill {
    fn of(place: &Place) -> Result<Fill> {
        let version = version(&metadata()?)?;
        let mut numbers = version.split('.');
        let mut number = || numbers.next().unwrap_or_default().to_owned();
        let (major, minor) = (number(), number());
        let path = |path: &Path| path.display().to_string();
        let up = place.libdir.components().map(|_| "..");
        let include = up.chain(["include"]).collect::<PathBuf>();
        Ok(Fill(vec![
            ("PREFIX", path(&place.prefix)),
            ("LIBDIR", path(&place.libdir)),
            ("INCLUDE_FROM_LIBDIR", path(&include)),
            ("ABI", ABI.to_owned()),
            ("FILE_VERSION", FILE_VERSION.to_owned()),
            ("VERSION", version.clone()),
            ("MAJOR", major),
            ("MINOR", minor),
        ]))
    }

    fn write(&self, template: &str, to: &Path) -> Result<()> {
        let from = root().join(CRATE).join(format!("packaging/{template}.in"));
        let text = fs::read_to_string(&from)
            .with_context(|| format!("cannot read '{}'", from.display()))?;
        let text = self.fill(&text);
        if let Some(rest) = text.split('@').nth(1) {
            bail!("'{}' has a name without a value: @{rest}@", from.display());
        }
        fs::write(to, text).with_context(|| format!("cannot write '{}'", to.display()))
    }

    fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.0 {
            text = text.replace(&format!("@{name}@"), value);
        }
        text
    }
}

fn version(metadata: &Value) -> Result<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut versions = packages
        .filter(|package| package["name"] == "vectored-capi")
        .filter_map(|package| package["version"].as_str());
    let version = versions.next();
    Ok(version
        .context("cargo metadata names no vectored-capi")?
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_gets_its_values() {
        let mut place = Place::in_folder(Path::new("/usr"));
        place.libdir = "lib/x86_64-linux-gnu".into();
        let fill = Fill::of(&place).unwrap();
        let text = fill.fill("@PREFIX@ @LIBDIR@ @INCLUDE_FROM_LIBDIR@ @ABI@ @FILE_VERSION@");
        assert_eq!(text, "/usr lib/x86_64-linux-gnu ../../include 1 1.0.0");
    }
}
