//! The making of one Debian package, with dpkg's own programs.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::commands::answer;
use crate::root;

/// The revision of the packages of one version.
const REVISION: &str = "1";

/// What `control` says of a package.
pub struct Control {
    pub name: &'static str,
    pub section: &'static str,
    pub recommends: Option<&'static str>,
    /// One line.
    pub summary: &'static str,
    /// Lines of up to 79 characters.
    pub description: &'static str,
}

/// The files of a package, in a folder that is its root.
pub struct Staging {
    pub folder: PathBuf,
}

impl Staging {
    /// An empty folder.
    pub fn new(name: &str) -> Result<Staging> {
        let folder = root().join("target/deb").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        make_folder(&folder)?;
        Ok(Staging { folder })
    }

    /// Adds a file.
    pub fn add(&self, path: &str, mode: u32, contents: &[u8]) -> Result<()> {
        let path = self.folder.join(path);
        make_folder(path.parent().expect("a file lies in a folder"))?;
        fs::write(&path, contents).with_context(|| format!("cannot write '{}'", path.display()))?;
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
        Ok(())
    }

    /// Adds a symbolic link.
    pub fn add_link(&self, path: &str, target: &Path) -> Result<()> {
        let path = self.folder.join(path);
        make_folder(path.parent().expect("a link lies in a folder"))?;
        symlink(target, &path).with_context(|| format!("cannot make '{}'", path.display()))
    }

    /// Adds a compressed file, whose name ends with `.gz`.
    pub fn add_compressed(&self, path: &str, contents: &[u8]) -> Result<()> {
        let plain = path.strip_suffix(".gz").context("the name ends with .gz")?;
        self.add(plain, 0o644, contents)?;
        // Without a name and a time, so that the same contents give the same file.
        answer(
            Command::new("gzip")
                .args(["-9n", "--force"])
                .arg(self.folder.join(plain)),
        )?;
        Ok(())
    }

    /// Adds the licences and the changelogs, which each package has.
    pub fn add_documents(&self, control: &Control) -> Result<()> {
        let read = |name: &str| fs::read_to_string(root().join(name));
        let documents = format!("usr/share/doc/{}", control.name);
        let copyright = copyright(&read("LICENSE-MIT")?, &read("LICENSE-APACHE")?);
        self.add(
            &format!("{documents}/copyright"),
            0o644,
            copyright.as_bytes(),
        )?;
        self.add_compressed(
            &format!("{documents}/changelog.gz"),
            read("CHANGELOG.md")?.as_bytes(),
        )?;
        let debian = format!(
            "vectored ({}) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- {}  {}\n",
            version(),
            maintainer(),
            date()?
        );
        self.add_compressed(
            &format!("{documents}/changelog.Debian.gz"),
            debian.as_bytes(),
        )
    }

    /// Makes the package, and returns its path. `programs` are the files whose shared libraries it depends on.
    pub fn build(&self, control: &Control, programs: &[&str], output: &Path) -> Result<PathBuf> {
        self.build_with(control, &self.shared_libraries(programs)?, output)
    }

    /// Makes the package with these dependencies.
    pub fn build_with(&self, control: &Control, depends: &str, output: &Path) -> Result<PathBuf> {
        let architecture = answer(Command::new("dpkg").arg("--print-architecture"))?;
        let architecture = architecture.trim();
        let mut sums = String::new();
        let mut bytes = 0;
        let is_content = |file: &PathBuf| !file.starts_with(self.folder.join("DEBIAN"));
        for file in files(&self.folder)?.into_iter().filter(is_content) {
            bytes += fs::symlink_metadata(&file)?.len().div_ceil(1024);
            if file.is_symlink() {
                continue;
            }
            let name = file.strip_prefix(&self.folder)?.display().to_string();
            let sum = answer(Command::new("md5sum").arg(&file))?;
            let (sum, _) = sum.split_once(' ').context("md5sum printed no sum")?;
            writeln!(sums, "{sum}  {name}")?;
        }
        let mut text = format!(
            "Package: {}\nSource: vectored\nVersion: {}\nArchitecture: {architecture}\nMaintainer: {}\n\
             Installed-Size: {bytes}\nSection: {}\nPriority: optional\n",
            control.name,
            version(),
            maintainer(),
            control.section
        );
        if !depends.is_empty() {
            writeln!(text, "Depends: {depends}")?;
        }
        if let Some(recommends) = control.recommends {
            writeln!(text, "Recommends: {recommends}")?;
        }
        writeln!(text, "Description: {}", control.summary)?;
        for line in control.description.lines() {
            writeln!(text, " {}", if line.is_empty() { "." } else { line })?;
        }
        self.add("DEBIAN/control", 0o644, text.as_bytes())?;
        self.add("DEBIAN/md5sums", 0o644, sums.as_bytes())?;
        let path = output.join(format!("{}_{}_{architecture}.deb", control.name, version()));
        answer(
            Command::new("dpkg-deb")
                .args(["--root-owner-group", "-Zxz", "--build"])
                .arg(&self.folder)
                .arg(&path),
        )?;
        Ok(path)
    }

    /// The packages of the shared libraries that these files load, with their versions.
    fn shared_libraries(&self, programs: &[&str]) -> Result<String> {
        // It looks for `debian/control` in its folder.
        let folder = root().join("target/deb/shlibdeps");
        make_folder(&folder.join("debian"))?;
        fs::write(folder.join("debian/control"), "Source: vectored\n")?;
        let mut command = Command::new("dpkg-shlibdeps");
        command.arg("-O").current_dir(&folder);
        command.args(programs.iter().map(|program| self.folder.join(program)));
        let output = command
            .output()
            .context("cannot run dpkg-shlibdeps: apt-get install dpkg-dev")?;
        ensure!(
            output.status.success(),
            "dpkg-shlibdeps failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8(output.stdout)?;
        let depends = text
            .lines()
            .find_map(|line| line.strip_prefix("shlibs:Depends="));
        depends
            .map(str::to_owned)
            .context("dpkg-shlibdeps named no library")
    }
}

/// A folder that everybody may read, whatever the umask.
fn make_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        make_folder(parent)?;
    }
    fs::create_dir(folder).with_context(|| format!("cannot make '{}'", folder.display()))?;
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    Ok(())
}

/// All files below a folder, in the order of their names.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        if entry.is_dir() && !entry.is_symlink() {
            found.extend(files(&entry)?);
        } else {
            found.push(entry);
        }
    }
    Ok(found)
}

pub fn version() -> String {
    // All packages of the workspace that are published have this version.
    let manifest = include_str!("../../../Cargo.toml");
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("version = \""))
        .and_then(|rest| rest.strip_suffix('"'));
    format!(
        "{}-{REVISION}",
        version.expect("the workspace has a version")
    )
}

/// Who made the package: the variables are those of dch(1).
fn maintainer() -> String {
    let variable = |name, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    format!(
        "{} <{}>",
        variable("DEBFULLNAME", "the vectored authors"),
        variable("DEBEMAIL", "root@localhost")
    )
}

/// That of the last commit, so that the same source gives the same package.
fn date() -> Result<String> {
    let seconds = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => seconds,
        Err(_) => answer(Command::new("git").args(["log", "-1", "--format=%ct"]))?,
    };
    let date = answer(Command::new("date").args([
        "--utc",
        "--rfc-email",
        &format!("--date=@{}", seconds.trim()),
    ]))?;
    Ok(date.trim().to_owned())
}

/// In the form of <https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/>.
fn copyright(mit: &str, apache: &str) -> String {
    let indent = |text: &str| {
        let lines = text.trim().lines().map(|line| match line.trim() {
            "" => " .".to_owned(),
            _ => format!(" {line}"),
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let holder = mit
        .lines()
        .find_map(|line| line.strip_prefix("Copyright (c) "))
        .unwrap_or("the vectored authors");
    // Debian has the text of the Apache licence.
    let apache = if Path::new("/usr/share/common-licenses/Apache-2.0").exists() {
        " On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.".to_owned()
    } else {
        indent(apache)
    };
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: vectored\n\nFiles: *\nCopyright: {holder}\nLicense: MIT or Apache-2.0\n\n\
         License: MIT\n{}\n\nLicense: Apache-2.0\n{apache}\n",
        indent(mit)
    )
}

/// Has lintian look at a package, if it is installed; false if it finds an error.
pub fn check(package: &Path) -> Result<bool> {
    let mut command = Command::new("lintian");
    // The package has no bug number of Debian, and its maintainer may be nobody yet.
    let allowed = "initial-upload-closes-no-bugs,root-in-contact,bogus-mail-host,\
                   bogus-mail-host-in-debian-changelog";
    command.args([
        "--fail-on",
        "error,warning",
        "--suppress-tags",
        allowed,
        "--allow-root",
    ]);
    match command.arg(package).status() {
        Ok(status) => Ok(status.success()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("   not checked by lintian, which is not installed");
            Ok(true)
        }
        Err(error) => bail!("cannot run lintian: {error}"),
    }
}
