//! What tests need of the machine: file systems, child processes, and a way to say what is missing.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Tells, where somebody collects it, that a test could not run here.
pub fn report_skip(test: &str, reason: &str) {
    eprintln!("skipped {test}: {reason}");
    if let Some(list) = env::var_os("VECTORED_SKIPS") {
        let list = fs::File::options().append(true).create(true).open(list);
        let mut list = list.expect("the list of skips can be opened");
        // One call, since tests of several processes share the list.
        let line = format!("{test}: {reason}\n");
        list.write_all(line.as_bytes())
            .expect("the list of skips can be written");
    }
}

/// A file system that is unmounted with this value.
#[derive(Debug)]
pub struct Mount {
    place: PathBuf,
    image: Option<PathBuf>,
}

impl Mount {
    /// A tmpfs with these options, such as `size=1m`.
    ///
    /// # Errors
    ///
    /// Why it cannot be had, in words.
    pub fn tmpfs(options: &str) -> Result<Mount, String> {
        let mount = Mount {
            place: fresh_directory()?,
            image: None,
        };
        let words = ["-t", "tmpfs", "-o", options, "vectored-test"];
        run(Command::new("mount").args(words).arg(&mount.place))?;
        Ok(mount)
    }

    /// A file system of this kind (`ext4`, `xfs`, `btrfs`) in a file within `directory`.
    ///
    /// # Errors
    ///
    /// Why it cannot be had, in words.
    pub fn of_image(kind: &str, directory: &Path) -> Result<Mount, String> {
        // xfs takes no less than 300 MB; the image is sparse.
        const IMAGE_BYTES: u64 = 320 << 20;
        let place = fresh_directory()?;
        let name = place.file_name().unwrap_or_default().to_owned();
        let image = directory.join(name).with_extension(kind);
        let mount = Mount {
            place,
            image: Some(image.clone()),
        };
        let made = fs::File::create(&image).and_then(|file| file.set_len(IMAGE_BYTES));
        made.map_err(|error| format!("cannot make an image: {error}"))?;
        run(Command::new(format!("mkfs.{kind}")).arg("-q").arg(&image))?;
        let mut command = Command::new("mount");
        run(command.args(["-o", "loop"]).arg(&image).arg(&mount.place))?;
        Ok(mount)
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.place
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = run(Command::new("umount").arg(&self.place));
        let _ = fs::remove_dir(&self.place);
        if let Some(image) = &self.image {
            let _ = fs::remove_file(image);
        }
    }
}

fn fresh_directory() -> Result<PathBuf, String> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("vectored-mount-{}-{number}", std::process::id());
    let path = env::temp_dir().join(name);
    match fs::create_dir(&path) {
        Ok(()) => Ok(path),
        Err(error) => Err(format!("cannot make a directory to mount on: {error}")),
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.output() {
        Err(error) => Err(format!("cannot run {program}: {error}")),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let line = said.lines().next().unwrap_or_default();
            Err(format!("{program} failed: {}", line.trim()))
        }
    }
}

/// Names what a child that runs a test is to do.
const ROLE: &str = "VECTORED_CONFORMANCE_ROLE";

/// What this process is to do, if it is the child of a test.
#[must_use]
pub fn role() -> Option<String> {
    env::var(ROLE).ok()
}

/// Runs the test of this name in a process of its own, with a [`role`], behind `prefix` (a tracer and
/// its options, or nothing).
///
/// # Panics
///
/// If it fails there.
pub fn in_child(test: &str, role: &str, prefix: &[&str]) {
    let exe = env::current_exe().expect("a test knows its own program");
    let mut command = match prefix {
        [] => Command::new(exe),
        [program, options @ ..] => {
            let mut command = Command::new(program);
            command.args(options).arg(exe);
            command
        }
    };
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    let output = command.env(ROLE, role).output();
    let output = output.expect("a child can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("test result: ok. 1 passed"),
        "{test} as {role} ended with {}:\n{said}\n{complained}",
        output.status,
    );
}

/// Runs a test again for each of these injections into these system calls, which is its role then:
/// see `-e inject=` in strace(1).
///
/// The kernel does not see the calls that are answered so, and thus does nothing of them.
///
/// # Panics
///
/// If it fails there.
pub fn under_strace(test: &str, calls: &str, injections: &[&str]) {
    if let Some(reason) = strace_unavailable() {
        let name = test.rsplit("::").next().unwrap_or(test);
        return report_skip(name, &reason);
    }
    let trace = format!("trace={calls}");
    let quiet = ["strace", "-f", "-o", "/dev/null", "-e", &trace, "-e"];
    for injection in injections {
        let rule = format!("inject={calls}:{injection}");
        in_child(test, injection, &[&quiet[..], &[rule.as_str()]].concat());
    }
}

/// Why strace(1) cannot be used here, if it cannot.
pub fn strace_unavailable() -> Option<String> {
    run(Command::new("strace").args(["-o", "/dev/null", "-e", "trace=none", "true"])).err()
}

/// Sets how long files may become in this process, for everything that it writes.
///
/// The signal that goes with it must be ignored:
/// [`ignore_file_size_signal`](crate::signals::ignore_file_size_signal).
///
/// # Errors
///
/// If the limit was lowered for good, from outside.
pub fn limit_file_size(bytes: Option<u64>) -> std::io::Result<()> {
    let maximum = getrlimit(Resource::Fsize).maximum;
    let limit = Rlimit {
        current: bytes.or(maximum),
        maximum,
    };
    Ok(setrlimit(Resource::Fsize, limit)?)
}
