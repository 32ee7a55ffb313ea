//! The programs and scripts of the user that a command ran: an edit changes one of them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use vectored_advise::languages::runtime_of_interpreter;
use vectored_advise::model::Runtime;
use vectored_report::sort;
use vectored_versus::is_script_name;

use super::Ran;

/// Most files that are kept.
const KEPT_MAX: usize = 8;

/// Folders of what is installed.
const SYSTEM: [&str; 13] = [
    "/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/nix", "/opt", "/proc", "/run", "/sbin",
    "/snap", "/usr",
];

/// Folders of packages, and of what a program keeps for itself.
const PACKAGES: [&str; 4] = [
    "__pycache__",
    "dist-packages",
    "node_modules",
    "site-packages",
];

/// Programs that build the one that they run.
const BUILDERS: [&str; 12] = [
    "bazel", "cargo", "cmake", "dotnet", "go", "gmake", "gradle", "make", "meson", "mvn", "ninja",
    "zig",
];

/// The files to keep before an edit, first the files of the programs `found`. Empty if the log shows none or too many, or if the
/// command builds what it runs.
pub fn kept(words: &[&str], ran: &Ran, found: &[&str]) -> Vec<PathBuf> {
    let own = |path: &Path| is_of_user(path, ran) && path.is_file();
    let is_written = |path: &PathBuf| {
        let mut names = ran.files.written.iter().flat_map(|file| &file.names);
        names.any(|name| name == path)
    };
    let executed = ran.programs.iter().filter_map(|program| {
        let name = program.file_name()?.to_str()?;
        Some((name, program.canonicalize().ok()?))
    });
    let executed: Vec<(&str, PathBuf)> = executed.filter(|(_, path)| own(path)).collect();
    let builds = || {
        let mut programs = ran.programs.iter();
        programs.any(|path| BUILDERS.iter().any(|name| path.ends_with(name)))
    };
    let is_built = |path: &PathBuf| !is_script(path) && (is_written(path) || builds());
    if executed.iter().any(|(_, path)| is_built(path)) {
        return Vec::new();
    }
    let read = ran.files.read.iter();
    let read: Vec<(&str, PathBuf)> = read
        .map(|(program, path)| (&**program, source_of(path)))
        .filter(|(_, path)| own(path))
        .collect();
    // The first file that the command names for an interpreter is a script, whatever its name, unless the code is in the command.
    let is_interpreted = |path: &PathBuf| {
        let mut read = read.iter().filter(|(_, known)| known == path);
        read.any(|(program, _)| runtime_of_interpreter(program.as_bytes()).is_some())
    };
    let mut named = words.iter().enumerate();
    let named = named.find_map(|(place, word)| {
        let path = Path::new(word).canonicalize().ok()?;
        (!has_code(&words[..place]) && is_interpreted(&path)).then_some(path)
    });
    let read = read
        .iter()
        .filter(|(_, path)| is_script(path) || named.as_ref() == Some(path));
    let mut all: Vec<(&str, PathBuf)> = executed.iter().chain(read).cloned().collect();
    all.retain(|(_, path)| !is_written(path));
    sort::sort_by_key(&mut all, |(program, _)| !found.contains(program));
    let mut kept: Vec<(&str, PathBuf)> = Vec::new();
    for one in all {
        if !kept.iter().any(|(_, path)| *path == one.1) {
            kept.push(one);
        }
    }
    if kept.len() > KEPT_MAX {
        kept.retain(|(program, _)| found.contains(program));
    }
    if kept.len() > KEPT_MAX {
        kept.clear();
    }
    kept.into_iter().map(|(_, path)| path).collect()
}

/// Whether the words before a file have the code of an interpreter, as in `awk CODE FILE`, `perl -ne CODE FILE` and `sh -c CODE`.
fn has_code(before: &[&str]) -> bool {
    let is_awk = |word: &&str| runtime_of_interpreter(word.as_bytes()) == Some(Runtime::Awk);
    let names_file = |word: &&str| word.starts_with("-f") || *word == "--file";
    let is_code = |word: &&str| {
        word.starts_with('-') && !word.starts_with("--") && word.ends_with(['c', 'e', 'E'])
    };
    let awk_has = before.iter().any(is_awk) && !before.iter().any(names_file);
    awk_has || before.iter().any(is_code)
}

/// Whether a file is the user's: not hidden, and not of the system, an installed interpreter or a package.
pub fn is_of_user(path: &Path, ran: &Ran) -> bool {
    let folder = path.strip_prefix(&ran.here).unwrap_or(path).parent();
    let is_package = |part: &str| part.starts_with('.') || PACKAGES.contains(&part);
    let mut parts = folder
        .into_iter()
        .flatten()
        .filter_map(|part| part.to_str());
    let interpreters = ran
        .programs
        .iter()
        .filter(|path| runtime_of_interpreter(path.as_os_str().as_encoded_bytes()).is_some());
    let prefixes = interpreters.filter_map(|path| {
        let program = path.canonicalize().ok()?;
        let folder = program.parent().filter(|folder| folder.ends_with("bin"))?;
        Some(folder.parent()?.to_owned())
    });
    let is_in = |installed: &Path| path.starts_with(installed) && !ran.here.starts_with(installed);
    !parts.any(is_package)
        && !SYSTEM.iter().any(|folder| is_in(Path::new(folder)))
        && !prefixes.into_iter().any(|prefix| is_in(&prefix))
}

/// Whether a file is a program that an interpreter reads, by its name or its first line.
fn is_script(path: &Path) -> bool {
    let mut head = [0; 2];
    is_script_name(&path.to_string_lossy())
        || File::open(path)
            .is_ok_and(|mut file| file.read_exact(&mut head).is_ok() && head == *b"#!")
}

/// The source of a compiled module of Python: `x.py` of `__pycache__/x.cpython-311.pyc`.
fn source_of(path: &Path) -> PathBuf {
    let source = || {
        let folder = path
            .parent()
            .filter(|folder| folder.ends_with("__pycache__"))?;
        let (stem, _) = path.file_name()?.to_str()?.split_once('.')?;
        Some(folder.parent()?.join(format!("{stem}.py")))
    };
    source().unwrap_or_else(|| path.to_owned())
}
