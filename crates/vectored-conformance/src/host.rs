//! Mounts, child processes and limits for tests, and reports of tests that were skipped.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Reports that a test could not run here: on standard error, and in the file that `VECTORED_SKIPS` names.
pub fn report_skip(test: &str, reason: &str) {
    eprintln!("skipped {test}: {reason}");
    if let Some(list) = env::var_os("VECTORED_SKIPS") {
        let list = fs::File::options().append(true).create(true).open(list);
        let mut list = list.expect("the list of skips can be opened");
        // The line goes in one call, since several processes append to the list.
        let line = format!("{test}: {reason}\n");
        list.write_all(line.as_bytes())
            .expect("the list of skips can be written");
    }
}

/// A mounted file system. Dropping the value unmounts it.
#[derive(Debug)]
pub struct Mount {
    mount_point: PathBuf,
    image: Option<PathBuf>,
}

impl Mount {
    /// Mounts a tmpfs with these options, such as `size=1m`.
    pub fn tmpfs(options: &str) -> Result<Mount, String> {
        let mount = Mount {
            mount_point: fresh_directory()?,
            image: None,
        };
        let words = ["-t", "tmpfs", "-o", options, "vectored-test"];
        run(Command::new("mount").args(words).arg(&mount.mount_point))?;
        Ok(mount)
    }

    /// Makes a file system of this kind (`ext4`, `xfs`, `btrfs`) in an image file in `directory`, and mounts it.
    pub fn of_image(kind: &str, directory: &Path) -> Result<Mount, String> {
        // xfs needs at least 300 MB. The image is sparse.
        const IMAGE_BYTES: u64 = 320 << 20;
        let mount_point = fresh_directory()?;
        let name = mount_point.file_name().unwrap_or_default().to_owned();
        let image = directory.join(name).with_extension(kind);
        let mount = Mount {
            mount_point,
            image: Some(image.clone()),
        };
        let made = fs::File::create(&image).and_then(|file| file.set_len(IMAGE_BYTES));
        made.map_err(|error| format!("cannot make an image: {error}"))?;
        run(Command::new(format!("mkfs.{kind}")).arg("-q").arg(&image))?;
        let mut command = Command::new("mount");
        run(command
            .args(["-o", "loop"])
            .arg(&image)
            .arg(&mount.mount_point))?;
        Ok(mount)
    }

    pub fn path(&self) -> &Path {
        &self.mount_point
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = run(Command::new("umount").arg(&self.mount_point));
        let _ = fs::remove_dir(&self.mount_point);
        if let Some(image) = &self.image {
            let _ = fs::remove_file(image);
        }
    }
}

fn fresh_directory() -> Result<PathBuf, String> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("vectored-mount-{}-{number}", std::process::id());
        let path = env::temp_dir().join(name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            // A killed run whose process had this number made the directory.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("cannot make a directory to mount on: {error}")),
        }
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

const ROLE: &str = "VECTORED_CONFORMANCE_ROLE";

/// The role of this process if [`in_child`] started it.
pub fn role() -> Option<String> {
    env::var(ROLE).ok()
}

/// The emulator that runs this program, if the variable `VECTORED_RUNNER` names one.
pub fn emulator() -> Option<String> {
    env::var("VECTORED_RUNNER").ok()
}

/// The command that runs a program for the same system as this program, under the same [`emulator`].
pub fn program_of_this_system(program: impl AsRef<std::ffi::OsStr>) -> Command {
    match emulator() {
        None => Command::new(program),
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.arg(program);
            command
        }
    }
}

/// Runs the test of this name in another process, with a [`role`]. `prefix` is a tracer with its
/// options, or empty.
pub fn in_child(test: &str, role: &str, prefix: &[&str]) {
    let exe = env::current_exe().expect("a test knows its own program");
    let mut command = match prefix {
        [] => program_of_this_system(exe),
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

/// Runs a test once for each injection into these system calls. The injection is the role of the test.
/// See `-e inject=` in strace(1).
///
/// The kernel does not see a call that strace answers, so the call has no effect.
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

/// Why strace(1) cannot be used here; `None` if it can.
pub fn strace_unavailable() -> Option<String> {
    if let Some(emulator) = emulator() {
        return Some(format!(
            "strace would inject into the calls of {emulator} itself"
        ));
    }
    run(Command::new("strace").args(["-o", "/dev/null", "-e", "trace=none", "true"])).err()
}

pub(crate) fn set_nonblocking(fd: impl AsFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, true)?)
}

/// Reduces a pipe to one page, where this system lets a program do so: on Linux.
pub fn shrink_pipe(writer: impl AsFd) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::pipe::fcntl_setpipe_size(writer, 4096)?;
    #[cfg(not(target_os = "linux"))]
    let _ = writer;
    Ok(())
}

/// A file in memory, of memfd_create(2). On systems other than Linux, a file without a name in the folder for
/// temporary files.
pub fn file_in_memory() -> io::Result<fs::File> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::MemfdFlags;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        Ok(rustix::fs::memfd_create("vectored", flags)?.into())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let path = fresh_directory().map_err(io::Error::other)?;
        let mut options = fs::File::options();
        let options = options.read(true).write(true).create_new(true);
        let file = options.open(path.join("file"))?;
        fs::remove_dir_all(&path)?;
        Ok(file)
    }
}

/// Makes writes past the end of a [file in memory](file_in_memory) fail.
pub fn seal_length(file: &fs::File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return Ok(rustix::fs::fcntl_add_seals(
        file,
        rustix::fs::SealFlags::GROW,
    )?);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Sets the largest size of a file that this process may write to; `None` lifts the limit.
///
/// First ignore the signal of this limit: [`ignore_file_size_signal`](crate::signals::ignore_file_size_signal).
pub fn limit_file_size(bytes: Option<u64>) -> io::Result<()> {
    let maximum = getrlimit(Resource::Fsize).maximum;
    let limit = Rlimit {
        current: bytes.or(maximum),
        maximum,
    };
    Ok(setrlimit(Resource::Fsize, limit)?)
}
