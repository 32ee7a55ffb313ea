//! `cargo xtask python`: builds the wheel of the Python package, and tests it in a clean environment of each CPython.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::commands::{answer, run as run_command, works};
use crate::root;
use crate::skips;

const CRATE: &str = "crates/vectored-py";

/// Where environments and wheels lie.
const FOLDER: &str = "target/python";

/// The versions of CPython on which the package is tested, if they are there.
const VERSIONS: [&str; 4] = ["3.11", "3.12", "3.13", "3.14"];

/// As `build-system.requires` in `pyproject.toml` has it.
const MATURIN: &str = "maturin>=1.9.4,<2";

/// Builds and tests; fails at the first interpreter whose tests fail. Without `interpreters`, those of [`VERSIONS`] are
/// searched for.
pub fn run(interpreters: Vec<PathBuf>) -> Result<()> {
    let interpreters = if interpreters.is_empty() { found() } else { interpreters };
    let Some(first) = interpreters.first() else {
        return skip(&format!("no CPython of {} is there", VERSIONS.join(", ")));
    };
    let folder = root().join(FOLDER);
    let Some(tools) = tools(first, &folder.join("tools"))? else {
        return Ok(());
    };
    let wheel = build(&tools, first, &folder.join("wheels"))?;
    check_sdist(&tools, &folder.join("sdist"), &wheel)?;
    let mut tested = None;
    for interpreter in &interpreters {
        if let Some(environment) = environment(interpreter, &folder)? {
            test(&environment, &wheel)?;
            tested = Some(environment);
        }
    }
    check_types(&tested.context("no environment could be made to test the wheel")?)
}

/// An environment of Python (`venv`).
struct Environment {
    folder: PathBuf,
}

impl Environment {
    fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// `PATH` with the programs of the environment first.
    fn path(&self) -> OsString {
        let mut path = self.folder.join("bin").into_os_string();
        if let Some(others) = std::env::var_os("PATH") {
            path.push(":");
            path.push(others);
        }
        path
    }

    /// Installs packages.
    fn install(&self, words: &[&str]) -> Result<()> {
        let mut pip = Command::new(self.program("python"));
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        pip.args(["--retries", "1", "--timeout", "15"]);
        answer(pip.args(words)).map(drop)
    }
}

/// The environment with maturin, kept between runs; `None` if pip cannot get it.
fn tools(interpreter: &Path, folder: &Path) -> Result<Option<Environment>> {
    let tools = Environment {
        folder: folder.to_owned(),
    };
    if works(Command::new(tools.program("maturin")).arg("--version")) {
        return Ok(Some(tools));
    }
    if let Err(reason) = make(interpreter, folder).and_then(|()| tools.install(&[MATURIN])) {
        skip(&format!("maturin cannot be installed: {reason:#}"))?;
        return Ok(None);
    }
    Ok(Some(tools))
}

/// Builds the wheel, which is the only file in `folder` then.
fn build(tools: &Environment, interpreter: &Path, folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove '{}'", folder.display()))?;
    }
    let mut maturin = Command::new(tools.program("maturin"));
    maturin
        .args(["build", "--release", "--locked", "--quiet"])
        .arg("--manifest-path")
        .arg(root().join(CRATE).join("Cargo.toml"))
        .args(["--interpreter".as_ref(), interpreter.as_os_str()])
        .args(["--out".as_ref(), folder.as_os_str()]);
    answer(&mut maturin)?;
    let wheel = only_file(folder, "whl")?;
    println!("   built '{}'", wheel.display());
    Ok(wheel)
}

/// Makes the source distribution, builds a wheel of it as pip does, in a folder outside of this repository, and compares its
/// files with those of `wheel`.
fn check_sdist(tools: &Environment, folder: &Path, wheel: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove '{}'", folder.display()))?;
    }
    let mut maturin = Command::new(tools.program("maturin"));
    maturin
        .args(["sdist", "--manifest-path"])
        .arg(root().join(CRATE).join("Cargo.toml"))
        .args(["--out".as_ref(), folder.as_os_str()]);
    answer(&mut maturin)?;
    let sdist = only_file(folder, "gz")?;
    let mut pip = Command::new(tools.program("python"));
    pip.args(["-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps"])
        .args(["--disable-pip-version-check", "--no-build-isolation"])
        .args(["--wheel-dir".as_ref(), folder.as_os_str()])
        .arg(&sdist)
        // maturin is there, and what this repository has compiled of other crates.
        .env("PATH", tools.path())
        .env("CARGO_TARGET_DIR", root().join("target"));
    answer(&mut pip)?;
    let files = |wheel: &Path| {
        let mut list = Command::new(tools.program("python"));
        list.args(["-m", "zipfile", "--list"]).arg(wheel);
        let listed = answer(&mut list)?;
        // The first line is a heading. Behind the name are the time and the size.
        let names = listed
            .lines()
            .skip(1)
            .filter_map(|line| line.split(' ').next());
        anyhow::Ok(names.map(str::to_owned).collect::<BTreeSet<String>>())
    };
    let (of_sdist, of_tree) = (files(&only_file(folder, "whl")?)?, files(wheel)?);
    ensure!(
        of_sdist == of_tree,
        "the wheel of the source distribution has other files: {:?}",
        of_sdist.symmetric_difference(&of_tree)
    );
    println!("   built a wheel of '{}'", sdist.display());
    Ok(())
}

/// The file with this ending that a program has made in a folder.
fn only_file(folder: &Path, ending: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut paths = entries.iter().map(fs::DirEntry::path);
    let found = paths.find(|path| path.extension().is_some_and(|end| end == ending));
    found.with_context(|| format!("maturin made no '.{ending}' in '{}'", folder.display()))
}

/// A new environment of an interpreter; `None` if it has no `venv` or `pip`.
fn environment(interpreter: &Path, folder: &Path) -> Result<Option<Environment>> {
    let version = "import sys; print('%d.%d' % sys.version_info[:2])";
    let version = answer(Command::new(interpreter).args(["-c", version]))?;
    let folder = folder.join(format!("venv-{}", version.trim()));
    match make(interpreter, &folder) {
        Ok(()) => Ok(Some(Environment { folder })),
        Err(reason) => {
            skip(&format!("no environment: {reason:#}"))?;
            Ok(None)
        }
    }
}

fn make(interpreter: &Path, folder: &Path) -> Result<()> {
    let mut venv = Command::new(interpreter);
    answer(venv.args(["-m", "venv", "--clear"]).arg(folder)).map(drop)
}

/// Installs the wheel and nothing else, and runs the tests.
fn test(environment: &Environment, wheel: &Path) -> Result<()> {
    let wheel = wheel.display().to_string();
    let words = ["--no-index", "--no-deps", &wheel];
    environment
        .install(&words)
        .context("the wheel cannot be installed")?;
    // Its tests say so if it is not there.
    if let Err(reason) = environment.install(&["--only-binary", ":all:", "numpy"]) {
        println!("   numpy cannot be installed: {reason:#}");
    }
    let mut tests = Command::new(environment.program("python"));
    tests.args(["-X", "dev", "-W", "error", "-m", "unittest", "discover"]);
    tests
        .arg("--start-directory")
        .arg(root().join(CRATE).join("tests"));
    // So that the package is the installed one.
    run_command(tests.current_dir(&environment.folder))
}

/// Checks the stubs against the module, and the examples against the stubs.
fn check_types(environment: &Environment) -> Result<()> {
    if let Err(reason) = environment.install(&["mypy"]) {
        return skip(&format!("mypy cannot be installed: {reason:#}"));
    }
    // The native module has no stubs of its own.
    let config = environment.folder.join("mypy.ini");
    fs::write(&config, "[mypy]\nignore_missing_imports = True\n")
        .with_context(|| format!("cannot write '{}'", config.display()))?;
    let mypy = |words: &[&str]| {
        let mut command = Command::new(environment.program("python"));
        run_command(
            command
                .arg("-m")
                .args(words)
                .current_dir(&environment.folder),
        )
    };
    let config = "--mypy-config-file=mypy.ini";
    mypy(&["mypy.stubtest", config, "vectored"])?;
    let examples = root().join(CRATE).join("examples").display().to_string();
    // `done` is an attribute that Python's own exceptions do not declare.
    let strict = ["mypy", "--strict", "--disable-error-code=attr-defined"];
    mypy(&[&strict[..], &["--config-file=mypy.ini", &examples]].concat())
}

/// The interpreters of [`VERSIONS`]: those of pyenv, and else those on PATH.
fn found() -> Vec<PathBuf> {
    VERSIONS
        .iter()
        .filter_map(|version| of_pyenv(version).or_else(|| on_path(version)))
        .collect()
}

fn of_pyenv(version: &str) -> Option<PathBuf> {
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv"));
    let entries = fs::read_dir(pyenv.or_else(home)?.join("versions")).ok()?;
    let prefix = format!("{version}.");
    let folders = entries.filter_map(Result::ok);
    let folders = folders.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    let mut pythons: Vec<PathBuf> = folders
        .map(|entry| entry.path().join("bin/python"))
        .filter(|python| works(Command::new(python).arg("--version")))
        .collect();
    pythons.sort();
    pythons.pop()
}

fn on_path(version: &str) -> Option<PathBuf> {
    let name = format!("python{version}");
    works(Command::new(&name).args(["-c", "import venv, ensurepip"])).then(|| PathBuf::from(name))
}

fn skip(reason: &str) -> Result<()> {
    skips::skip("python", reason)
}
