//! Tests of pipes to child processes. The end in this process is open for overlapped calls.

use std::env;
use std::fs;
use std::io::{self, IoSliceMut, Read};
use std::process::{Command, Stdio};
use std::thread;

use vectored::{AsDescriptor, read_up_to_eof};

use crate::support::{TemporaryFile, list, mixed_sizes, payload, writers};

/// The variable has the path of the file to which the child copies its standard input.
const COPY_TO: &str = "VECTORED_TEST_COPY_TO";

/// The child process runs this test to copy its standard input. In other runs, this test does nothing.
#[test]
fn as_a_child() {
    let Some(path) = env::var_os(COPY_TO) else {
        return;
    };
    let mut all = Vec::new();
    io::stdin().read_to_end(&mut all).unwrap();
    fs::write(path, all).unwrap();
}

fn child(path: &TemporaryFile) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "windows::children::as_a_child", "--nocapture"])
        .env(COPY_TO, &path.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

#[test]
fn a_child_gets_everything_and_its_output_is_read_to_the_end() {
    let data = payload(&mixed_sizes(1000));
    for (name, mut write_all) in writers() {
        let path = TemporaryFile::new("child");
        let mut child = child(&path).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let reading = thread::spawn(move || {
            let (mut start, mut rest) = ([0; 7], vec![0; 10_000]);
            let mut segments = [IoSliceMut::new(&mut start), IoSliceMut::new(&mut rest)];
            let read = read_up_to_eof(&stdout, &mut segments).unwrap() as usize;
            let output = [&start[..], &rest].concat();
            String::from_utf8_lossy(&output[..read]).into_owned()
        });
        let bytes = write_all(stdin.as_descriptor(), &list(&data)).unwrap();
        assert_eq!(bytes, data.concat().len() as u64, "{name}");
        drop(stdin);
        let output = reading.join().unwrap();
        assert!(child.wait().unwrap().success(), "{name}");
        assert!(output.contains("1 passed"), "{name}: {output}");
        assert!(fs::read(&path.0).unwrap() == data.concat(), "{name}");
    }
}
