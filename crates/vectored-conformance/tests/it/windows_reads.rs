//! Lists of every shape, read from the descriptors of Windows.

use std::fs::File;
use std::io::{ErrorKind, IoSliceMut, Read, Seek, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use vectored::bindings::BorrowedDescriptor;
use vectored::files::{read_exact_at, read_up_to_eof_at};
use vectored::limits::iov_max;
use vectored::{
    AsDescriptor, Scatter, SegmentCursor, TransferError, read_exact, read_up_to_eof, resume_read,
};
use vectored_conformance::model::{GuardedList, bytes_lost, mixed_sizes, payload};

type Read1 = fn(BorrowedDescriptor<'_>, &mut [IoSliceMut<'_>]) -> Result<u64, TransferError>;

/// Name, whether an early end of the file is an error, whether it is for files alone.
const READS: [(&str, bool, bool, Read1); 7] = [
    ("read_exact", true, false, |fd, list| read_exact(fd, list)),
    ("resume_read", true, false, |fd, list| {
        resume_read(fd, list, &mut SegmentCursor::new())
    }),
    ("read_up_to_eof", false, false, |fd, list| {
        read_up_to_eof(fd, list)
    }),
    ("Scatter::read_exact", true, false, |fd, list| {
        Scatter::default().read_exact(fd, list)
    }),
    ("Scatter::read_up_to_eof", false, false, |fd, list| {
        Scatter::default().read_up_to_eof(fd, list)
    }),
    ("read_exact_at", true, true, |fd, list| {
        read_exact_at(fd, list, 0)
    }),
    ("read_up_to_eof_at", false, true, |fd, list| {
        read_up_to_eof_at(fd, list, 0)
    }),
];

/// A source of bytes, with a thread that writes them in pieces.
enum Source {
    File(File, PathBuf),
    Pipe(std::io::PipeReader, JoinHandle<()>),
    Tcp(TcpStream, JoinHandle<()>),
}

/// Sizes of the pieces, again and again.
const PIECES: [usize; 4] = [1, 700, 5000, 65_536];

fn feed(mut to: impl Write + Send + 'static, content: Vec<u8>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let (mut rest, mut pieces) = (&content[..], PIECES.iter().cycle());
        while !rest.is_empty() {
            let size = pieces.next().map_or(1, |&size| size.min(rest.len()));
            let (piece, after) = rest.split_at(size);
            to.write_all(piece).unwrap();
            rest = after;
        }
    })
}

fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (reader, _) = listener.accept().unwrap();
    (writer, reader)
}

impl Source {
    fn file(content: &[u8]) -> Source {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let path = folder.join(format!("reads-{}-{number}", std::process::id()));
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(true);
        let mut file = options.open(&path).unwrap();
        file.write_all(content).unwrap();
        file.rewind().unwrap();
        Source::File(file, path)
    }

    fn pipe(content: &[u8]) -> Source {
        let (reader, writer) = std::io::pipe().unwrap();
        Source::Pipe(reader, feed(writer, content.to_vec()))
    }

    fn tcp(content: &[u8]) -> Source {
        let (writer, reader) = tcp_pair();
        Source::Tcp(reader, feed(writer, content.to_vec()))
    }

    fn descriptor(&self) -> BorrowedDescriptor<'_> {
        match self {
            Source::File(file, _) => file.as_descriptor(),
            Source::Pipe(reader, _) => reader.as_descriptor(),
            Source::Tcp(reader, _) => reader.as_descriptor(),
        }
    }

    /// All bytes that are left, and the end.
    fn end(self) -> Vec<u8> {
        let mut rest = Vec::new();
        match self {
            Source::File(mut file, path) => {
                file.read_to_end(&mut rest).unwrap();
                drop(file);
                std::fs::remove_file(path).unwrap();
            }
            Source::Pipe(mut reader, thread) => {
                reader.read_to_end(&mut rest).unwrap();
                thread.join().unwrap();
            }
            Source::Tcp(mut reader, thread) => {
                reader.read_to_end(&mut rest).unwrap();
                thread.join().unwrap();
            }
        }
        rest
    }
}

/// Reads a list from every source by every function. There are `surplus` bytes behind it, or too few if that is negative.
fn from_every_source(sizes: &[usize], surplus: isize) {
    let wanted: usize = sizes.iter().sum();
    let bytes = wanted.saturating_add_signed(surplus);
    let content = payload(&[bytes]).concat();
    let sources: [fn(&[u8]) -> Source; 3] = [Source::file, Source::pipe, Source::tcp];
    for (name, fails_at_eof, is_positional, read) in READS {
        for open in sources {
            let source = open(&content);
            if is_positional && !matches!(source, Source::File(..)) {
                source.end();
                continue;
            }
            let what = format!("{name}, {} segments, {surplus} bytes more", sizes.len());
            let mut memory = GuardedList::new(sizes);
            let outcome = read(source.descriptor(), &mut memory.segments());
            let filled = wanted.min(bytes);
            match outcome {
                Ok(count) => {
                    assert!(!fails_at_eof || bytes >= wanted, "{what}: no error");
                    assert_eq!(count, filled as u64, "{what}");
                }
                Err(error) => {
                    assert!(fails_at_eof && bytes < wanted, "{what}: {error}");
                    assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{what}");
                    assert_eq!(error.transferred(), filled as u64, "{what}");
                }
            }
            let received = memory.received();
            assert_eq!(
                bytes_lost(&content[..filled], &received[..filled]),
                0,
                "{what}"
            );
            assert_eq!(memory.stray_writes(), 0, "{what}");
            let left = source.end();
            // On a handle that is not overlapped, a read at an offset moves the position, as `ReadFile` documents.
            if !is_positional {
                assert_eq!(
                    bytes_lost(&content[filled..], &left),
                    0,
                    "{what}: what is left"
                );
            }
        }
    }
}

#[test]
fn mixed_lists_are_filled_in_order_from_everywhere() {
    for count in [1, 2, 17, 300] {
        from_every_source(&mixed_sizes(count), 0);
        from_every_source(&mixed_sizes(count), 1000);
    }
}

#[test]
fn counts_around_iov_max_and_empty_segments_are_filled_from_everywhere() {
    let max = iov_max();
    for count in [max, max + 1] {
        from_every_source(&vec![70; count], 5);
    }
    let mut surrounded = vec![0; 3];
    surrounded.extend([5, 0, 0, 90_000, 0, 65_536, 1]);
    from_every_source(&surrounded, 7);
    from_every_source(&[0, 0], 7);
}

#[test]
fn an_early_end_is_an_error_or_stops_and_the_bytes_before_it_are_counted() {
    for sizes in [vec![100; 20], vec![70_000, 10, 70_000]] {
        from_every_source(&sizes, -1);
        from_every_source(&sizes, -1500);
    }
}

#[test]
fn a_socket_that_would_block_is_resumed_where_it_stopped() {
    let sizes = mixed_sizes(50);
    let content = payload(&sizes).concat();
    let (mut writer, reader) = tcp_pair();
    reader.set_nonblocking(true).unwrap();
    let mut memory = GuardedList::new(&sizes);
    let mut segments = memory.segments();
    let mut cursor = SegmentCursor::new();
    let (mut reported, mut resumptions) = (0, 0);
    let mut pieces = content.chunks(3000);
    loop {
        match resume_read(&reader, &mut segments, &mut cursor) {
            Ok(count) => {
                reported += count;
                break;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                reported += error.transferred();
                resumptions += 1;
                match pieces.next() {
                    Some(piece) => writer.write_all(piece).unwrap(),
                    // The last piece is on its way.
                    None => std::thread::yield_now(),
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
    drop(segments);
    assert!(resumptions > 0);
    assert_eq!(reported, content.len() as u64);
    assert_eq!(bytes_lost(&content, &memory.received()), 0);
    assert_eq!(memory.stray_writes(), 0);
}
