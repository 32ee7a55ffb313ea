//! The input of a log: a file or standard input, plain or compressed.

use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, ErrorKind, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::{Builder, JoinHandle};

use flate2::read::MultiGzDecoder;

/// Bytes at the beginning of a file that tell its format.
const FORMAT_BYTES: u64 = 4096;

/// The byte order mark with which some editors begin text in UTF-8.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Characters that are looked at to recognise UTF-16.
const FIRST_CHARACTERS: usize = 8;

/// Characters of a line that an error quotes.
const QUOTED_CHARACTERS: usize = 80;

/// A file whose first bytes were read and are put back in front.
type Opened = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

/// The input of a log.
pub(crate) enum Input {
    Plain(Opened),
    Gzip {
        input: Box<MultiGzDecoder<BufReader<Opened>>>,
        /// Whether the compressed data ended too early.
        cut: bool,
    },
    Decompressed(Decompressor),
}

impl Input {
    /// Opens a file; `-` is standard input.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut input: Box<dyn Read + Send> = if path == Path::new("-") {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path)?)
        };
        let mut first_bytes = Vec::new();
        input
            .by_ref()
            .take(FORMAT_BYTES)
            .read_to_end(&mut first_bytes)?;
        if let Some(remedy) = utf16(&first_bytes).or_else(|| other_program(&first_bytes)) {
            return Err(io::Error::new(ErrorKind::InvalidData, remedy));
        }
        if first_bytes.starts_with(UTF8_MARK) {
            first_bytes.drain(..UTF8_MARK.len());
        }
        let compressor = Compressor::recognise(&first_bytes);
        // RFC 1952, section 2.3.1.
        let is_gzip = first_bytes.starts_with(&[0x1f, 0x8b]);
        let input = Cursor::new(first_bytes).chain(input);
        Ok(match compressor {
            Some(compressor) => {
                Self::Decompressed(Decompressor::start(compressor, compressor.program, input)?)
            }
            None if is_gzip => Self::Gzip {
                input: Box::new(MultiGzDecoder::new(BufReader::new(input))),
                cut: false,
            },
            None => Self::Plain(input),
        })
    }

    /// Whether the compressed data ended too early.
    pub(crate) fn is_cut(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Gzip { cut, .. } => *cut,
            Self::Decompressed(unpacked) => unpacked.cut,
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
            Self::Decompressed(unpacked) => unpacked.read(buffer),
        }
    }
}

/// A compression format that is read through its own program.
///
/// Too few logs have these formats for three more dependencies, one of them in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Compressor {
    program: &'static str,
    /// The packages of distributions that have the program.
    package: &'static str,
    /// The first bytes of a file.
    magic: &'static [u8],
    /// Part of the program's message about a file that ends too early.
    cut_message: &'static str,
}

const COMPRESSORS: [Compressor; 3] = [
    Compressor {
        program: "xz",
        package: "xz-utils or xz",
        magic: b"\xfd7zXZ\0",
        cut_message: "nexpected end of input",
    },
    Compressor {
        program: "zstd",
        package: "zstd",
        magic: b"\x28\xb5\x2f\xfd",
        cut_message: "premature end",
    },
    Compressor {
        program: "bzip2",
        package: "bzip2",
        magic: b"BZh",
        cut_message: "ends unexpectedly",
    },
];

impl Compressor {
    fn recognise(first_bytes: &[u8]) -> Option<Compressor> {
        COMPRESSORS
            .into_iter()
            .find(|compressor| first_bytes.starts_with(compressor.magic))
    }
}

/// The output of a program that decompresses a file.
pub(crate) struct Decompressor {
    compressor: Compressor,
    process: Child,
    text: ChildStdout,
    /// Writes the file to the program's standard input.
    feeder: Option<JoinHandle<io::Result<()>>>,
    /// Reads the program's standard error.
    messages: Option<JoinHandle<io::Result<String>>>,
    /// Whether the file ended too early.
    cut: bool,
}

impl Decompressor {
    /// Starts a program; `program` differs from the compressor's own only in tests.
    fn start(compressor: Compressor, program: &str, mut input: Opened) -> io::Result<Self> {
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
                    "it is compressed by {0}, which is not installed: install {1}, or decompress \
                     the file elsewhere",
                    compressor.program, compressor.package
                ),
            ),
            kind => io::Error::new(kind, format!("cannot run {}: {error}", compressor.program)),
        })?;
        let piped = "all three streams are piped";
        let mut stdin = process.stdin.take().expect(piped);
        let text = process.stdout.take().expect(piped);
        let mut stderr = process.stderr.take().expect(piped);
        let feeder = Builder::new().spawn(move || match io::copy(&mut input, &mut stdin) {
            // The program ended early. Its exit status decides whether that is an error.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            copied => copied.map(|_| ()),
        });
        let messages = Builder::new().spawn(move || {
            let mut said = Vec::new();
            stderr.read_to_end(&mut said)?;
            Ok(String::from_utf8_lossy(&said).trim().to_owned())
        });
        // Without a thread its pipe is closed, which ends the program.
        let (feeder, messages) = match (feeder, messages) {
            (Ok(feeder), Ok(messages)) => (feeder, messages),
            (Err(error), _) | (_, Err(error)) => {
                drop(text);
                process.wait()?;
                return Err(error);
            }
        };
        Ok(Decompressor {
            compressor,
            process,
            text,
            feeder: Some(feeder),
            messages: Some(messages),
            cut: false,
        })
    }

    /// Waits for the program after the end of its output.
    ///
    /// # Errors
    ///
    /// The program failed for another reason than a file that ends too early.
    fn finish(&mut self) -> io::Result<()> {
        let (Some(feeder), Some(messages)) = (self.feeder.take(), self.messages.take()) else {
            return Ok(());
        };
        let status = self.process.wait()?;
        let panicked = "these threads cannot panic";
        let said = messages.join().expect(panicked)?;
        feeder.join().expect(panicked)?;
        if status.success() {
            return Ok(());
        }
        self.cut = said.contains(self.compressor.cut_message);
        if self.cut {
            Ok(())
        } else {
            let program = self.compressor.program;
            Err(io::Error::other(format!(
                "{program} cannot decompress it: {said}"
            )))
        }
    }
}

impl Read for Decompressor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.text.read(buffer)? {
            0 if !buffer.is_empty() => self.finish().map(|()| 0),
            bytes => Ok(bytes),
        }
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        if self.feeder.is_some() {
            // The output is not read to its end. Both fail only if the program has ended already.
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

/// The remedy for text in UTF-16, which redirections of PowerShell write; `None` for other bytes.
///
/// A log begins with ASCII, so every second byte of its first characters is 0, with a byte order mark or without.
fn utf16(first_bytes: &[u8]) -> Option<String> {
    let (begin, zero) = match first_bytes {
        [0xff, 0xfe, ..] => (2, 1),
        [0xfe, 0xff, ..] => (2, 0),
        [0, 1..=255, ..] => (0, 0),
        [1..=255, 0, ..] => (0, 1),
        _ => return None,
    };
    let pairs = first_bytes[begin..].chunks_exact(2);
    let mut first = pairs.clone().take(FIRST_CHARACTERS);
    if !first.all(|pair| pair[zero] == 0 && pair[1 - zero] != 0) {
        return None;
    }
    let units = pairs.map(|pair| match zero {
        0 => u16::from_be_bytes([pair[0], pair[1]]),
        _ => u16::from_le_bytes([pair[0], pair[1]]),
    });
    let text = char::decode_utf16(units).map(|read| read.unwrap_or(char::REPLACEMENT_CHARACTER));
    let first: String = text
        .take_while(|char| !char.is_control())
        .take(QUOTED_CHARACTERS)
        .collect();
    let (name, mark) = match (begin, zero) {
        (2, _) => ("UTF-16", ""),
        (_, 0) => ("UTF-16BE", " without a byte order mark"),
        _ => ("UTF-16LE", " without a byte order mark"),
    };
    Some(format!(
        "it is text in UTF-16{mark}, and begins with '{first}': convert it with `iconv -f {name} -t UTF-8 FILE > FILE.txt`"
    ))
}

/// The error message for the output of another program; `None` if the file is not recognised as such.
fn other_program(first_bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(first_bytes);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.find(|line| !line.to_lowercase().starts_with("warning"))?;
    let wrote = if first.starts_with("% time") && first.ends_with("syscall") {
        "it is the summary of `strace -c`, which does not list calls"
    } else if first == "Summary of events:" {
        "it is the summary of `perf trace -s`, which does not list calls"
    } else {
        return None;
    };
    Some(format!(
        "{wrote}: trace with `strace -f -s1 -v -yy -ttt -T -o FILE COMMAND`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(bytes: &[u8]) -> Opened {
        Cursor::new(bytes.to_vec()).chain(Box::new(io::empty()))
    }

    #[test]
    fn a_missing_program_is_reported_with_its_package() {
        for compressor in COMPRESSORS {
            assert_eq!(Compressor::recognise(compressor.magic), Some(compressor));
            let Err(error) =
                Decompressor::start(compressor, "/no/such/program", opened(compressor.magic))
            else {
                panic!("the program does not exist");
            };
            let expected = format!(
                "compressed by {}, which is not installed: install {}",
                compressor.program, compressor.package
            );
            assert!(error.to_string().contains(&expected), "{error}");
        }
        assert_eq!(Compressor::recognise(b"7 write(1"), None);
    }

    #[test]
    fn dropping_the_input_ends_the_program() {
        // It writes for ever and ignores its arguments.
        let file = std::env::temp_dir().join(format!("vectored-compressor-{}", std::process::id()));
        std::fs::write(&file, "#!/bin/sh\necho $$\nexec yes\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&file, mode).unwrap();
        let program = file.to_str().unwrap();
        let mut unpacked = Decompressor::start(COMPRESSORS[0], program, opened(b"")).unwrap();
        let process = unpacked.process.id();
        assert_eq!(unpacked.read(&mut [0]).unwrap(), 1);
        drop(unpacked);
        std::fs::remove_file(&file).unwrap();
        assert!(!Path::new(&format!("/proc/{process}")).exists());
    }

    #[test]
    fn text_in_utf_16_is_named_with_its_first_line() {
        let line = "7 1795315726.000000 write(1, \"x\"..., 8) = 8\r\n";
        let little: Vec<u8> = line.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = line.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = |mark: &[u8], text: &[u8]| [mark, text].concat();
        for (bytes, name) in [
            (marked(b"\xff\xfe", &little), "UTF-16"),
            (marked(b"\xfe\xff", &big), "UTF-16"),
            (little, "UTF-16LE"),
            (big, "UTF-16BE"),
        ] {
            let said = utf16(&bytes).unwrap();
            assert!(
                said.contains(&format!("iconv -f {name} -t UTF-8")),
                "{said}"
            );
            assert!(
                said.contains("begins with '7 1795315726.000000 write(1, \"x\"..., 8) = 8'"),
                "{said}"
            );
        }
        for other in [
            line.as_bytes(),
            b"",
            b"7",
            b"\0\0\0\0",
            b"a\0bcdef",
            b"\x7fELF\x02\x01\x01\0",
        ] {
            assert_eq!(utf16(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_of_utf_8_is_skipped() {
        let file = std::env::temp_dir().join(format!("vectored-mark-{}", std::process::id()));
        std::fs::write(&file, b"\xef\xbb\xbf7 write(1").unwrap();
        let mut text = String::new();
        Input::open(&file)
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(text, "7 write(1");
    }

    #[test]
    fn the_output_of_other_programs_is_recognised() {
        let said = |text: &str| other_program(text.as_bytes()).unwrap_or_default();
        let summary = "% time     seconds  usecs/call     calls    errors syscall\n------ --\n";
        assert!(said(summary).contains("`strace -c`"));
        assert!(said("\n Summary of events:\n\n ls (1), 290 events\n").contains("`perf trace -s`"));
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
