//! The input of a log: a file or standard input, plain or compressed.

use std::fs::File;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// The number of bytes at the beginning of a file that are read to tell its format.
const FORMAT_BYTES: u64 = 4096;

/// The byte order mark with which some editors begin a text in UTF-8.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

pub(crate) struct Input {
    input: Box<dyn Read + Send>,
    /// Whether compressed data ended early.
    pub(crate) is_cut: bool,
}

impl Input {
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
        if let Some(remedy) = encoded(&first_bytes).or_else(|| other_program(&first_bytes)) {
            return Err(io::Error::new(ErrorKind::InvalidData, remedy));
        }
        if first_bytes.starts_with(UTF8_MARK) {
            first_bytes.drain(..UTF8_MARK.len());
        }
        // RFC 1952, section 2.3.1.
        let is_gzip = first_bytes.starts_with(&[0x1f, 0x8b]);
        let mut input: Box<dyn Read + Send> = Box::new(Cursor::new(first_bytes).chain(input));
        if is_gzip {
            input = Box::new(MultiGzDecoder::new(BufReader::new(input)));
        }
        let is_cut = false;
        Ok(Self { input, is_cut })
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.input.read(buffer) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                self.is_cut = true;
                Ok(0)
            }
            read => read,
        }
    }
}

/// Compressed formats that are refused: the first bytes, and the command that decompresses the file.
const PACKED: [(&[u8], &str); 3] = [
    (b"\xfd7zXZ\0", "xz -dc"),
    (b"\x28\xb5\x2f\xfd", "zstd -dc"),
    (b"BZh", "bzip2 -dc"),
];

/// The byte order marks of UTF-16, which redirections of PowerShell write.
const UTF16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

fn encoded(first_bytes: &[u8]) -> Option<String> {
    if UTF16_MARKS.iter().any(|mark| first_bytes.starts_with(mark)) {
        let remedy =
            "it is text in UTF-16: convert it with `iconv -f UTF-16 -t UTF-8 FILE > FILE.txt`";
        return Some(remedy.to_owned());
    }
    let packed = PACKED
        .iter()
        .find(|(magic, _)| first_bytes.starts_with(magic));
    packed.map(|(_, program)| {
        format!(
            "it is compressed: use `{program} FILE | vectored advise -`, or compress it with gzip"
        )
    })
}

/// The error message for a table of `strace -c` or `perf trace -s`, which lists no calls; `None` for other files.
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

    #[test]
    fn what_is_no_plain_text_has_a_remedy() {
        for (bytes, remedy) in [
            (&b"\xff\xfe7\0"[..], "iconv -f UTF-16"),
            (b"\xfd7zXZ\0", "`xz -dc FILE | vectored advise -`"),
            (b"\x28\xb5\x2f\xfd", "zstd -dc"),
            (b"BZh9", "bzip2 -dc"),
        ] {
            assert!(encoded(bytes).unwrap().contains(remedy), "{remedy}");
        }
        assert_eq!(encoded(b"7 write(1"), None);
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
