//! What a log is read from: a file or standard input, plain or compressed.

use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, ErrorKind, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};

use flate2::read::MultiGzDecoder;

/// So much of a file tells what it is.
const SEEN_BYTES: u64 = 4096;

/// A file, whose first bytes were looked at.
type Opened = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

/// What a log is read from.
pub(crate) enum Input {
    Plain(Opened),
    Gzip {
        input: Box<MultiGzDecoder<BufReader<Opened>>>,
        cut: bool,
    },
    Unpacked(Unpacked),
}

impl Input {
    /// `-` is standard input.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut input: Box<dyn Read + Send> = if path == Path::new("-") {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path)?)
        };
        let mut begins = Vec::new();
        input.by_ref().take(SEEN_BYTES).read_to_end(&mut begins)?;
        if let Some(remedy) = other_program(&begins) {
            return Err(io::Error::new(ErrorKind::InvalidData, remedy));
        }
        let packer = Packer::of(&begins);
        // RFC 1952.
        let is_gzip = begins.starts_with(&[0x1f, 0x8b]);
        let input = Cursor::new(begins).chain(input);
        Ok(match packer {
            Some(packer) => Self::Unpacked(Unpacked::start(packer, packer.program, input)?),
            None if is_gzip => Self::Gzip {
                input: Box::new(MultiGzDecoder::new(BufReader::new(input))),
                cut: false,
            },
            None => Self::Plain(input),
        })
    }

    /// Whether it ended before it should.
    pub(crate) fn is_cut(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Gzip { cut, .. } => *cut,
            Self::Unpacked(unpacked) => unpacked.cut,
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(buffer),
            Self::Gzip { input, cut } => match input.read(buffer) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    *cut = true;
                    Ok(0)
                }
                read => read,
            },
            Self::Unpacked(unpacked) => unpacked.read(buffer),
        }
    }
}

/// A program that compresses. Its own program reads what it wrote: logs are rarely compressed by one of
/// these, which is no reason for three more dependencies, one of them in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packer {
    program: &'static str,
    /// Where distributions have it.
    package: &'static str,
    /// What a file begins with.
    magic: &'static [u8],
    /// What it says of a file that ends too early.
    says_cut: &'static str,
}

const PACKERS: [Packer; 3] = [
    Packer {
        program: "xz",
        package: "xz-utils or xz",
        magic: b"\xfd7zXZ\0",
        says_cut: "nexpected end of input",
    },
    Packer {
        program: "zstd",
        package: "zstd",
        magic: b"\x28\xb5\x2f\xfd",
        says_cut: "premature end",
    },
    Packer {
        program: "bzip2",
        package: "bzip2",
        magic: b"BZh",
        says_cut: "ends unexpectedly",
    },
];

impl Packer {
    fn of(begins: &[u8]) -> Option<Packer> {
        PACKERS
            .into_iter()
            .find(|packer| begins.starts_with(packer.magic))
    }
}

/// What another program unpacks.
pub(crate) struct Unpacked {
    packer: Packer,
    process: Child,
    text: ChildStdout,
    /// Hands it the file.
    feeder: Option<JoinHandle<io::Result<()>>>,
    /// Takes what it complains of.
    complaints: Option<JoinHandle<io::Result<String>>>,
    cut: bool,
}

impl Unpacked {
    /// `program` is that of the packer, but in tests.
    fn start(packer: Packer, program: &str, mut input: Opened) -> io::Result<Self> {
        let started = Command::new(program)
            .arg("-dc")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut process = started.map_err(|error| match error.kind() {
            ErrorKind::NotFound => io::Error::new(
                ErrorKind::Unsupported,
                format!(
                    "it is compressed by {0}, and there is no {0} here to read it: install {1}, or \
                     unpack it elsewhere",
                    packer.program, packer.package
                ),
            ),
            kind => io::Error::new(kind, format!("cannot run {}: {error}", packer.program)),
        })?;
        let piped = "all three were asked for";
        let mut stdin = process.stdin.take().expect(piped);
        let text = process.stdout.take().expect(piped);
        let mut stderr = process.stderr.take().expect(piped);
        let feeder = thread::spawn(move || match io::copy(&mut input, &mut stdin) {
            // It has what it wanted, or complains elsewhere.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            copied => copied.map(|_| ()),
        });
        let complaints = thread::spawn(move || {
            let mut said = Vec::new();
            stderr.read_to_end(&mut said)?;
            Ok(String::from_utf8_lossy(&said).trim().to_owned())
        });
        Ok(Unpacked {
            packer,
            process,
            text,
            feeder: Some(feeder),
            complaints: Some(complaints),
            cut: false,
        })
    }

    /// After the end of its text: whether that was all.
    fn finish(&mut self) -> io::Result<()> {
        let (Some(feeder), Some(complaints)) = (self.feeder.take(), self.complaints.take()) else {
            return Ok(());
        };
        let status = self.process.wait()?;
        let panicked = "these threads cannot panic";
        let said = complaints.join().expect(panicked)?;
        feeder.join().expect(panicked)?;
        if status.success() {
            return Ok(());
        }
        self.cut = said.contains(self.packer.says_cut);
        match self.cut {
            true => Ok(()),
            false => {
                let program = self.packer.program;
                Err(io::Error::other(format!(
                    "{program} cannot unpack it: {said}"
                )))
            }
        }
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.text.read(buffer)? {
            0 if !buffer.is_empty() => self.finish().map(|()| 0),
            bytes => Ok(bytes),
        }
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        if self.feeder.is_some() {
            // Nobody reads on. It may have ended by itself.
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

/// What to do about the output of another program, if it is one that is known.
fn other_program(begins: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(begins);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.find(|line| !line.to_lowercase().starts_with("warning"))?;
    let wrote = if first.starts_with("% time") && first.ends_with("syscall") {
        "it is the summary of `strace -c`, which has no single calls"
    } else if first == "Summary of events:" {
        "it is the summary of `perf trace -s`, which has no single calls"
    } else if is_perf_trace(first) {
        "it is the output of `perf trace`, which does not show how much calls move"
    } else {
        return None;
    };
    Some(format!(
        "{wrote}: trace with `strace -f -s1 -v -yy -ttt -T -o FILE COMMAND`"
    ))
}

/// `0.012 ( 0.003 ms): ls/1234 write(fd: 1, …`, or without durations `0.012 ls/1234 write(fd: 1, …`; `?`
/// where the time is not known.
fn is_perf_trace(line: &str) -> bool {
    let is_time = |word: &str| word == "?" || word.parse::<f64>().is_ok();
    let Some((began, rest)) = line.split_once(char::is_whitespace) else {
        return false;
    };
    let rest = rest.trim_start();
    let Some((took, call)) = rest
        .strip_prefix('(')
        .and_then(|rest| rest.split_once("):"))
    else {
        let (thread, call) = rest.split_once(' ').unwrap_or_default();
        let is_thread = thread.contains('/') && !thread.contains('(');
        return is_time(began) && is_thread && call.contains("(fd: ");
    };
    let took = took.trim();
    let is_duration =
        took.is_empty() || took.strip_suffix("ms").is_some_and(|ms| is_time(ms.trim()));
    is_time(began) && is_duration && call.contains('(')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(bytes: &[u8]) -> Opened {
        Cursor::new(bytes.to_vec()).chain(Box::new(io::empty()))
    }

    #[test]
    fn a_missing_program_is_named_with_a_remedy() {
        for packer in PACKERS {
            assert_eq!(Packer::of(packer.magic), Some(packer));
            let Err(error) = Unpacked::start(packer, "/no/such/program", opened(packer.magic))
            else {
                panic!("there is none");
            };
            let expected = format!(
                "no {} here to read it: install {}",
                packer.program, packer.package
            );
            assert!(error.to_string().contains(&expected), "{error}");
        }
        assert_eq!(Packer::of(b"7 write(1"), None);
    }

    #[test]
    fn a_program_that_unpacks_is_not_left_behind() {
        // It writes for ever, whatever it is asked for.
        let file = std::env::temp_dir().join(format!("vectored-packer-{}", std::process::id()));
        std::fs::write(&file, "#!/bin/sh\necho $$\nexec yes\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&file, mode).unwrap();
        let program = file.to_str().unwrap();
        let mut unpacked = Unpacked::start(PACKERS[0], program, opened(b"")).unwrap();
        let process = unpacked.process.id();
        assert_eq!(unpacked.read(&mut [0]).unwrap(), 1);
        drop(unpacked);
        std::fs::remove_file(&file).unwrap();
        assert!(!Path::new(&format!("/proc/{process}")).exists());
    }

    #[test]
    fn the_output_of_other_programs_is_known() {
        let said = |text: &str| other_program(text.as_bytes()).unwrap_or_default();
        let summary = "% time     seconds  usecs/call     calls    errors syscall\n------ --\n";
        assert!(said(summary).contains("`strace -c`"));
        assert!(said("\n Summary of events:\n\n ls (1), 290 events\n").contains("`perf trace -s`"));
        for line in [
            "         ? (         ): ls/14521  ... [continued]: execve())      = 0\n",
            "     1.791 ( 0.023 ms): ls/14521 brk()                = 0x558e5ef8d000\n",
            "     1.791 ls/14521 write(fd: 1, buf: 0x7ff, count: 8)                 = ...\n",
        ] {
            assert!(said(line).contains("`perf trace`,"), "{line}");
            assert!(said(line).contains("strace -f -s1"), "{line}");
        }
        for line in [
            "7 1795315726.000000 write(1, \"x\"..., 8) = 8 <0.000010>\n",
            "1795315726.000000 write(1</dev/null>, \"(fd: \"..., 8) = 8\n",
            "     0.000010 read(3, \"\"..., 8) = 0\n",
            "write(1, \"x\", 1) = 1\n",
            "7 write(1, \"% time\", 6) = 6\n",
            "",
        ] {
            assert_eq!(said(line), "", "{line}");
        }
    }
}
