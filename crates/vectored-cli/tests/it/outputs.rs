//! Tests of where output and results are written, and of files that must not change.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};

use crate::support::{Bench, Tmpfs, entries, json, make_fifo, said_by, skip, stderr_of, stdout_of};

#[test]
fn the_path_of_the_result_is_the_last_line_on_standard_error() {
    let bench = Bench::new();
    let stderr = stderr_of(&mut bench.synthetic(), 0);
    let path = bench.saved().remove(0);
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("measure-20000101T000000Z-") && name.ends_with(".json"));
    // The default grid omits lists that are too long. Only the saved result names these lists.
    assert_eq!(stderr, format!("{}\n", path.display()));
    let stderr = stderr_of(&mut bench.synthetic_with("--sizes 128KiB"), 0);
    let note =
        "note: not measured (more than 64 MiB in one call): 1000 × 128 KiB on file, pipe, unix\n";
    assert!(stderr.starts_with(note), "{stderr}");
    // Both runs may start in the same second.
    assert_eq!(bench.saved().len(), 2);
}

#[test]
fn quiet_leaves_standard_error_to_errors() {
    let bench = Bench::new();
    let (stdout, stderr) = said_by(&mut bench.synthetic_with("--quiet"), 0);
    assert!(stderr.is_empty() && !stdout.is_empty(), "{stderr}");
    assert_eq!(bench.saved().len(), 1);
    let refused = stderr_of(&mut bench.command("measure --quiet --dir nowhere"), 2);
    assert!(refused.starts_with("error: "));
}

#[test]
fn output_replaces_a_file_as_a_whole() {
    let bench = Bench::new();
    let (file, link) = (bench.work().join("old.json"), bench.work().join("link"));
    fs::write(&file, "x".repeat(1 << 22)).unwrap();
    // set_permissions ignores the umask, unlike open(2).
    fs::set_permissions(&file, fs::Permissions::from_mode(0o662)).unwrap();
    // Only root may change the owner of a file.
    let owner = if fs::metadata("/proc/self").unwrap().uid() == 0 {
        chown(&file, Some(65534), Some(65534)).unwrap();
        (65534, 65534)
    } else {
        let metadata = file.metadata().unwrap();
        (metadata.uid(), metadata.gid())
    };
    symlink("old.json", &link).unwrap();
    let old = fs::File::open(&file).unwrap();
    stdout_of(&mut bench.synthetic_with("--format json --output link"));
    // A descriptor that was opened before the replacement still reads the old content.
    assert_eq!(old.metadata().unwrap().len(), 1 << 22);
    json(&fs::read_to_string(&file).unwrap());
    let metadata = file.metadata().unwrap();
    assert_eq!(metadata.mode() & 0o777, 0o662);
    assert_eq!((metadata.uid(), metadata.gid()), owner);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(entries(&bench.work()).len(), 2);
}

#[test]
fn output_to_a_fifo_is_written_not_replaced() {
    let bench = Bench::new();
    let fifo = bench.work().join("fifo");
    make_fifo(&fifo);
    // open(2) of a FIFO for writing blocks until a reader opens the FIFO.
    let refused = stderr_of(&mut bench.synthetic_with("--output fifo"), 2);
    let told = "no process reads it: start the reader first";
    assert!(refused.contains(told), "{refused}");
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let reader = fs::File::from(rustix::fs::open(&fifo, flags, Mode::empty()).unwrap());
    stdout_of(&mut bench.synthetic_with("--output fifo"));
    assert!(fifo.metadata().unwrap().file_type().is_fifo());
    let printed = std::io::read_to_string(reader).unwrap();
    assert!(printed.contains("next best"), "{printed}");
}

#[test]
fn standard_output_that_does_not_block_is_waited_for() {
    let bench = Bench::new();
    let words = "measure --synthetic 200 --seed 7 --quiet --format csv";
    let expected = stdout_of(&mut bench.command(words));
    assert!(expected.len() > 4096);
    let (mut reader, writer) = std::io::pipe().unwrap();
    rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    let mut command = bench.std_vectored();
    command.args(words.split(' '));
    let mut child = command.stdout(writer).spawn().unwrap();
    drop(command);
    while rustix::io::ioctl_fionread(&reader).unwrap() < 4096 && child.try_wait().unwrap().is_none()
    {
        std::thread::yield_now();
    }
    let mut printed = String::new();
    reader.read_to_string(&mut printed).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(printed, expected);
}

#[test]
fn a_file_whose_replacement_the_storage_refuses_stays() {
    // The file system reports more free space than its storage has.
    let storage = match Tmpfs::mount("size=6m") {
        Ok(storage) => storage,
        Err(reason) => return skip(&reason),
    };
    let run = |script: &str| {
        let mut shell = Command::new("sh");
        let output = shell.args(["-ec", script]).current_dir(storage.path());
        output.output().unwrap()
    };
    let made = run(
        "mkdir place; truncate -s 64M image; mkfs.ext4 -q -O ^has_journal image; \
         mount -o loop image place; printf before > place/kept.csv; sync place/kept.csv",
    );
    if !made.status.success() {
        return skip(&format!("{made:?}"));
    }
    let filled = run("cat /dev/zero > filler");
    let kept = storage.path().join("place/kept.csv");
    let bench = Bench::new();
    let mut command = bench.synthetic_with("--format json --output");
    let refused = stderr_of(command.arg(&kept), 1);
    let after = fs::read_to_string(&kept);
    run("umount place");
    assert!(!filled.status.success());
    assert!(refused.contains("cannot write to"), "{refused}");
    assert_eq!(after.unwrap(), "before");
}

#[test]
fn a_closed_pipe_is_no_error() {
    for format in ["table", "json", "csv", "markdown"] {
        let bench = Bench::new();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = bench.std_vectored();
        command.args(["measure", "--synthetic", "200", "--quiet"]);
        command
            .args(["--format", format])
            .stdout(writer)
            .stderr(Stdio::piped());
        let output = command.output().unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{format}"
        );
        assert_eq!(bench.saved().len(), 1);
    }
}

/// clap prints the help by its own code.
#[test]
fn standard_output_that_is_full_or_closed_is_a_failure_of_all_that_print() {
    let bench = Bench::new();
    let words = "--help, -h, help, --version, help copy, measure --help, copy -h, reproduce apue-3.5 --help, man, \
                 completions bash, host, measure --synthetic 200";
    for (words, redirection, why) in words.split(", ").flat_map(|words| {
        let full = (words, "/dev/full", "cannot write to standard output");
        [full, (words, "&-", "standard output is closed")]
    }) {
        let script = format!("\"$0\" {words} >{redirection}");
        let said = stderr_of(&mut bench.script(&script), 1);
        assert!(said.contains(why), "{script}: {said}");
    }
    assert_eq!(bench.saved().len(), 2);
}

#[test]
fn an_output_that_is_read_only_is_refused() {
    let bench = Bench::new();
    bench.synthetic().assert().success();
    let path = bench.work().join("kept");
    fs::write(&path, "to stay").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    for words in [
        "host --output",
        "measure --target pipe --budget 1h --output",
        "reproduce all --output",
        "compare latest --against latest --output",
        "compare latest --machines --html",
        "history --output",
        "report --markdown",
        "report --csv",
        "advise trace --html",
    ] {
        let option = words.rsplit(' ').next().unwrap();
        let message = stderr_of(&mut bench.command(&format!("{words} kept")), 2);
        let told =
            format!("cannot write to 'kept': it is read-only; choose another file with {option}");
        assert!(message.contains(&told), "{words}: {message}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "to stay");
}
